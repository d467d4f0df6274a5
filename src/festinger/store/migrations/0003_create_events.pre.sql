-- The outbox with who has been told what, and what our own side keeps about background work. The engine's
-- own tables come with its own migrations. A `space_id` of '*' is an event of the whole installation, which
-- is no row of `space`; therefore `event` has no foreign key to it.

create sequence event_seq;

create table event (
    space_id   text not null,
    id         uuid not null,
    seq        bigint not null default nextval('event_seq'),
    name       text not null,
    version    smallint not null check (version > 0),
    subject    text not null check (length(subject) between 1 and 200),
    agent_id   text,
    session_id text,
    trace_id   text,
    caused_by  uuid,
    payload    jsonb not null,
    at         timestamptz not null,
    primary key (space_id, id)
);
comment on table event is 'what happened; written in the transaction that made it happen';
comment on column event.seq is 'order of writing; taken under the lock of the subject, so it rises in commit order per subject';
comment on column event.version is 'version of the payload''s shape';
comment on column event.subject is 'what it happened to; events of one subject are delivered in order';
comment on column event.caused_by is 'the event that led to this one';
comment on column event.payload is 'ids and numbers; no text beyond 200 characters';
create index event_order on event (space_id, seq);
create index event_age on event (at);
create index event_trace on event (space_id, trace_id, seq) where trace_id is not null;

create table event_delivery (
    space_id   text not null,
    event_id   uuid not null,
    subscriber text not null,
    state      text not null check (state in ('waiting', 'delivered', 'dead', 'dropped')),
    at         timestamptz not null,
    state_at   timestamptz not null,
    note       text not null default '',
    primary key (space_id, event_id, subscriber),
    foreign key (space_id, event_id) references event (space_id, id) on delete cascade
);
comment on table event_delivery is 'who is to be told, written with the event; who was told, written with the subscriber''s own rows';
comment on column event_delivery.at is 'when the event happened';
comment on column event_delivery.state_at is 'when the state was reached';
comment on column event_delivery.note is 'the error of a dead delivery, the reason of a dropped one';
create index event_delivery_waiting on event_delivery (subscriber, at) where state = 'waiting';
create index event_delivery_dead on event_delivery (subscriber, at) where state = 'dead';

create table job_record (
    job_id          bigint primary key,
    name            text not null,
    done            bigint,
    total           bigint,
    note            text not null default '',
    reported_at     timestamptz,
    cancel_asked_at timestamptz,
    forgiven        integer not null default 0,
    worker_deaths   integer not null default 0,
    error           text not null default '',
    error_text      text not null default '',
    first_failed_at timestamptz,
    last_failed_at  timestamptz,
    dead_at         timestamptz,
    dropped_at      timestamptz,
    drop_note       text not null default ''
);
comment on table job_record is 'what the engine does not keep about a job: progress, errors, worker deaths';
comment on column job_record.done is 'steps done; the unit is the job''s own';
comment on column job_record.total is 'steps in all, if that is known';
comment on column job_record.forgiven is 'attempts that do not count: interrupted, postponed, or before a retry by hand';
comment on column job_record.worker_deaths is 'workers that died while they ran it, since the last retry by hand';
comment on column job_record.error is 'name of the last error';
create index job_record_dead on job_record (dead_at) where dead_at is not null and dropped_at is null;

create table periodic (
    name        text primary key,
    line        text not null,
    since       timestamptz not null,
    checked_at  timestamptz not null,
    last_due_at timestamptz,
    last_job_id bigint,
    result      text not null default '',
    result_at   timestamptz
);
comment on table periodic is 'each periodic job with the cron line that was last seen in the settings';
comment on column periodic.since is 'no run is due that was due up to this moment';
comment on column periodic.checked_at is 'the last tick';
comment on column periodic.result is 'how the last run ended';

create table periodic_run (
    name   text not null,
    due_at timestamptz not null,
    job_id bigint,
    primary key (name, due_at)
);
comment on table periodic_run is 'one row for each due run; being unique, it makes many workers start it once';
