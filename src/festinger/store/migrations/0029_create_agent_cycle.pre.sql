-- What an agent attended to and how it answered, one row a turn of thought.
create table agent_cycle (
    space_id    text not null references space (id) on delete cascade,
    id          uuid not null,
    agent_id    text not null,
    session_id  text not null,
    n           integer not null check (n >= 1),
    at          timestamptz not null,
    source      text not null check (source in ('user', 'scheduled', 'gut', 'consolidation', 'idle')),
    candidates  jsonb not null default '[]',
    winner      uuid not null,
    reason      text not null,
    injected    text[] not null default '{}',
    tokens      integer not null default 0 check (tokens >= 0),
    corrections uuid[] not null default '{}',
    confidence  double precision check (confidence between 0 and 1),
    retried     boolean not null default false,
    triggers    text[] not null default '{}',
    escalated   boolean not null default false,
    action      text not null check (action in ('said', 'remembered', 'failed')),
    seed        bigint not null,
    degraded    text[] not null default '{}',
    primary key (space_id, id)
);
comment on table agent_cycle is 'turns of thought of agents: ids and numbers, never words';
comment on column agent_cycle.n is 'its number in the life of the agent';
comment on column agent_cycle.source is 'where what it attended to came from';
comment on column agent_cycle.candidates is 'what asked for attention: id, source and salience of each';
comment on column agent_cycle.winner is 'the turn that it attended to';
comment on column agent_cycle.injected is 'notes that stood in the context';
comment on column agent_cycle.tokens is 'tokens of the context';
comment on column agent_cycle.corrections is 'lessons from mistakes that stood in the context';
comment on column agent_cycle.confidence is 'how sure the agent was of its answer; none without a model';
comment on column agent_cycle.triggers is 'why it thought again';
comment on column agent_cycle.escalated is 'whether slow thought was asked';
comment on column agent_cycle.action is 'said by a model, told from memory alone, or failed';
comment on column agent_cycle.seed is 'of the chance by which the context was drawn';
comment on column agent_cycle.degraded is 'what was missing';
create unique index agent_cycle_number on agent_cycle (space_id, agent_id, n);
