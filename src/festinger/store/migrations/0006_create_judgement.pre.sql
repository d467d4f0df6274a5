-- Judgements: what was said of two statements, by whom, how surely and why; those that are not final wait.

create table judgement (
    space_id     text not null references space (id) on delete cascade,
    id           uuid not null,
    old_ref      uuid not null,
    new_ref      uuid not null,
    old_hash     bytea not null check (length(old_hash) = 16),
    new_hash     bytea not null check (length(new_hash) = 16),
    relation     text not null check (relation in ('same', 'update', 'contradicts', 'refines', 'unrelated', 'unsure')),
    current      text not null check (current in ('new', 'old', 'both')),
    confidence   double precision not null check (confidence between 0 and 1),
    judge        text not null check (length(judge) between 1 and 200),
    reasoning    text not null,
    guards       text[] not null default '{}',
    prompt_hash  text,
    final        boolean not null,
    attempts     integer not null default 1 check (attempts >= 0),
    next_try     timestamptz,
    latency_ms   double precision not null check (latency_ms >= 0),
    at           timestamptz not null,
    overruled_by uuid,
    primary key (space_id, id)
);
comment on table judgement is 'what judges said of two statements; a row that is not final waits and is tried again';
comment on column judgement.old_ref is 'the statement that stood, by its id where it is kept';
comment on column judgement.old_hash is 'of the folded text, so that the same words are not judged twice';
comment on column judgement.current is 'which of the two holds now';
comment on column judgement.confidence is 'how sure the judge is, from 0 to 1';
comment on column judgement.judge is 'rules@version, onnx:model, llm:provider:model or person:name';
comment on column judgement.guards is 'what keeps the two from being the same';
comment on column judgement.attempts is 'tries by the judge that is named; a new judge begins anew';
comment on column judgement.next_try is 'when it is tried again; null if only a new judge or a person can tell';
comment on column judgement.latency_ms is 'milliseconds that judging took';
comment on column judgement.overruled_by is 'the judgement of a person that took its place';
create unique index judgement_waiting on judgement (space_id, old_ref, new_ref) where not final;
create index judgement_due on judgement (space_id, next_try) where not final;
create index judgement_texts on judgement (space_id, old_hash, new_hash);
create index judgement_new on judgement (space_id, new_ref);
create index judgement_old on judgement (space_id, old_ref);
create index judgement_asked on judgement (space_id, at) where judge like 'llm:%';
