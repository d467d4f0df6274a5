-- What an agent reminds a person of, and which tools a turn of thought called.
create table reminder (
    space_id   text not null references space (id) on delete cascade,
    id         uuid not null,
    agent_id   text not null,
    text       text not null,
    origin     text not null,
    due_at     timestamptz not null,
    created_at timestamptz not null,
    told_at    timestamptz,
    primary key (space_id, id)
);
comment on table reminder is 'what an agent reminds a person of; told when the person is there';
comment on column reminder.origin is 'set by a person, or by a model that a person asked';
comment on column reminder.told_at is 'when the person was told; none while it waits';
create unique index reminder_waiting on reminder (space_id, agent_id, due_at, text) where told_at is null;

alter table agent_cycle add column tools text[] not null default '{}';
comment on column agent_cycle.tools is 'tools that were called, in order';
