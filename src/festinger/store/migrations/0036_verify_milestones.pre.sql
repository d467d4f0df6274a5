-- What a person confirmed of an agent's life: which milestones they take for reached.
create table milestone (
    space_id    text not null references space (id) on delete cascade,
    agent_id    text not null,
    name        text not null,
    verified_at timestamptz not null,
    verified_by text not null,
    primary key (space_id, agent_id, name)
);
comment on table milestone is 'milestones of agents that a person verified; when they were reached is read from what is stored';
comment on column milestone.verified_by is 'who verified it';
comment on column agent_cycle.tools is 'names of the tools that were called, and calls by key: asked about, agreed to, done of its own accord';
