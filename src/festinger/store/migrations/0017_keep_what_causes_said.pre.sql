-- What each cause said of a triple, so that an edge can be told again without some of them.
alter table urd_cause
    add column is_isa boolean,
    add column confidence double precision check (confidence between 0 and 1),
    add column source text check (source in ('cloud_llm', 'inferred', 'festinger', 'gutask')),
    add column from_quarantine boolean,
    add column last_at timestamptz;
comment on column urd_cause.is_isa is 'whether it said kind or part; none, like what follows, where that was not kept yet';
comment on column urd_cause.confidence is 'of the statement, from 0 to 1';
comment on column urd_cause.source is 'by which way it was said';
comment on column urd_cause.from_quarantine is 'whether it was let in because enough others had said it';
comment on column urd_cause.last_at is 'when it said so last';
alter table urd_outcome add column weight double precision check (weight between 0 and 1);
comment on column urd_outcome.weight is 'share of a full step that it counted for; none where that was not kept yet';
