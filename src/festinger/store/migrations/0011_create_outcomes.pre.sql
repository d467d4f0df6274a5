-- Outcomes: what was brought to mind and what became of it, reads that wait for an outcome, rhythms, predictions, and
-- the log from which confidence and weight can be computed again.

create table surfacing (
    space_id          text not null references space (id) on delete cascade,
    id                uuid not null,
    memory_id         uuid not null,
    partition         text not null,
    agent_id          text not null,
    session_id        text not null default '',
    turn_id           uuid,
    recall_id         uuid,
    door              text not null default '',
    reason            text not null,
    position          integer not null default 0 check (position >= 0),
    times             integer not null default 1 check (times >= 1),
    first_surfaced_at timestamptz not null,
    surfaced_at       timestamptz not null,
    outcome           text check (outcome in ('acted', 'used', 'dismissed', 'deferred', 'contradicted')),
    how               text check (how in ('explicit', 'self', 'inferred', 'expired')),
    resolved_at       timestamptz,
    primary key (space_id, id),
    check ((outcome is null) = (how is null)),
    check ((outcome is null) = (resolved_at is null))
) with (fillfactor = 80);
comment on table surfacing is 'what was put before a model, and what became of it; no outcome: it waits for one';
comment on column surfacing.memory_id is 'the memory; of a forgotten one only zeros are left, so that totals stay';
comment on column surfacing.door is 'through which door it was put before the model';
comment on column surfacing.position is 'place among what was put before the model together';
comment on column surfacing.times is 'times that it was surfaced while it waited';
create unique index surfacing_pending on surfacing (space_id, partition, memory_id) where outcome is null;
create index surfacing_waiting on surfacing (space_id, surfaced_at) where outcome is null;
create index surfacing_memory on surfacing (space_id, memory_id, surfaced_at);
create index surfacing_recall on surfacing (space_id, recall_id) where recall_id is not null;
create index surfacing_session on surfacing (space_id, session_id, surfaced_at);
create index surfacing_resolved on surfacing (space_id, resolved_at) where outcome is not null;

create table staged_read (
    space_id   text not null references space (id) on delete cascade,
    id         uuid not null,
    memory_id  uuid not null,
    partition  text not null,
    at         timestamptz not null,
    expires_at timestamptz not null,
    primary key (space_id, id)
);
comment on table staged_read is 'reads that count once the memory was used';
create index staged_read_memory on staged_read (space_id, memory_id, partition);
create index staged_read_expiry on staged_read (space_id, expires_at);

create table rhythm (
    space_id             text not null,
    memory_id            uuid not null,
    decay_rate           double precision,
    base_score           double precision not null default 1.0,
    last_touched         timestamptz,
    pressure_rate        double precision not null default 0.0,
    pressure_declared_at timestamptz,
    pressure_resolved_at timestamptz,
    primary key (space_id, memory_id),
    foreign key (space_id, memory_id) references memory (space_id, id) on delete cascade
);
comment on table rhythm is 'how the strength of a memory moves with time; no row: as the settings say, since it was made';
comment on column rhythm.decay_rate is 'none: as the settings say';
comment on column rhythm.base_score is 'what decays, one day after it was touched';
comment on column rhythm.pressure_rate is 'how much more it presses each day that it is left alone';
comment on column rhythm.last_touched is 'when it was last acted on; none: never, so its making counts';

create table cycle (
    space_id           text not null,
    memory_id          uuid not null,
    n                  integer not null check (n >= 0),
    period_s           double precision not null check (period_s > 0),
    amplitude          double precision not null,
    phase_s            double precision not null default 0.0,
    declared_amplitude double precision not null,
    declared_at        timestamptz not null,
    primary key (space_id, memory_id, n),
    foreign key (space_id, memory_id) references memory (space_id, id) on delete cascade
);
comment on table cycle is 'what comes round: a memory is stronger at its time';
comment on column cycle.n is 'place among the cycles of its memory';
comment on column cycle.period_s is 'seconds from one time to the next';
comment on column cycle.declared_amplitude is 'as somebody declared it';
comment on column cycle.amplitude is 'as outcomes have moved it since it was declared';
comment on column cycle.phase_s is 'seconds since the epoch at which it is strongest';

create table prediction (
    space_id         text not null,
    memory_id        uuid not null,
    predicted        jsonb not null,
    actual           jsonb,
    recorded_at      timestamptz not null,
    resolved         boolean not null default false,
    resolution_mode  text check (resolution_mode in ('explicit', 'observed')),
    prediction_error double precision,
    resolved_at      timestamptz,
    primary key (space_id, memory_id),
    foreign key (space_id, memory_id) references memory (space_id, id) on delete cascade
);
comment on table prediction is 'what a memory was expected to lead to, and how far that was wrong';

comment on column prediction.prediction_error is 'from 0, as expected, to 1, wholly wrong';

create table outcome (
    space_id          text not null references space (id) on delete cascade,
    id                uuid not null,
    batch_id          uuid not null,
    memory_id         uuid not null,
    turn_id           uuid,
    recall_id         uuid,
    agent_id          text not null,
    session_id        text not null default '',
    day               date not null,
    origin            text not null check (origin in ('person', 'system', 'model', 'tool', 'document', 'job')),
    outcome           text not null check (outcome in ('acted', 'used', 'dismissed', 'deferred', 'contradicted')),
    how               text not null check (how in ('explicit', 'self', 'inferred', 'expired')),
    reporter          text not null,
    q                 double precision not null,
    w                 double precision not null,
    credit            double precision not null,
    signal            double precision,
    second_signal     double precision,
    evidence_cap      integer not null,
    passive_span      double precision not null,
    confidence_before double precision not null,
    confidence_after  double precision not null,
    alpha_before      double precision not null,
    beta_before       double precision not null,
    alpha_gain        double precision not null,
    beta_gain         double precision not null,
    center_after      double precision not null,
    cycle_factor      double precision not null,
    prediction_error  double precision,
    evidence          jsonb not null default '{}',
    counted           boolean not null,
    uncounted_because text,
    replaced_by       uuid,
    at                timestamptz not null,
    primary key (space_id, id)
);
comment on table outcome is 'what was done with a memory, and all that is needed to compute its effect again';
comment on column outcome.batch_id is 'the report that it came with';
comment on column outcome.q is 'from 0 to 1, how sure whoever told was';
comment on column outcome.w is 'what it weighs: 1 if somebody told it on purpose';
comment on column outcome.credit is 'its share in the gain of one reply';
comment on column outcome.signal is 'from 0, false, to 1, true; none if it says nothing of that';
comment on column outcome.evidence_cap is 'signals after which each further one moves confidence alike';
comment on column outcome.passive_span is 'how far it may move confidence if nobody told it on purpose';
comment on column outcome.confidence_before is 'from 0 to 1';
comment on column outcome.confidence_after is 'from 0 to 1';
comment on column outcome.alpha_before is 'alpha of the weight before';
comment on column outcome.beta_before is 'beta of the weight before';
comment on column outcome.cycle_factor is 'what it multiplied the cycles by';
comment on column outcome.prediction_error is 'from 0 to 1, of the prediction that it ended';
comment on column outcome.second_signal is 'of a prediction that was far off';
comment on column outcome.alpha_gain is 'what spoke for its weight, before that was divided by what was known';
comment on column outcome.beta_gain is 'what spoke against its weight';
comment on column outcome.center_after is 'center of its weight afterwards';
comment on column outcome.counted is 'whether it moved anything';
comment on column outcome.replaced_by is 'the outcome of the same turn that stands in its place';
create index outcome_memory on outcome (space_id, memory_id, at, id);
create index outcome_at on outcome (space_id, at, id);
create index outcome_session on outcome (space_id, session_id);
create index outcome_turn on outcome (space_id, turn_id) where turn_id is not null;

create table outcome_batch (
    space_id  text not null references space (id) on delete cascade,
    id        uuid not null,
    key       text not null check (length(key) between 1 and 400),
    body_hash bytea not null,
    result    jsonb not null,
    at        timestamptz not null,
    primary key (space_id, id),
    unique (space_id, key)
);
comment on table outcome_batch is 'what a report with an idempotency key did, kept for a day';
create index outcome_batch_at on outcome_batch (space_id, at);
