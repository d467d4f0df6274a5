-- Nightly runs of consolidation, what they planned and did, and what their ceilings stopped.
alter table memory_change add constraint memory_change_op_known
    check (op in ('confirm', 'merge', 'split', 'supersede', 'restore', 'archive', 'edit', 'annotate', 'quarantine',
        'release', 'weight', 'repair'));

create table night (
    space_id    text not null references space (id) on delete cascade,
    id          uuid not null,
    agent_id    text not null default '',
    trigger     text not null check (trigger in ('schedule', 'importance', 'person')),
    state       text not null check (state in ('waiting', 'running', 'done', 'failed')),
    step        text not null default '',
    only_step   text not null default '',
    dry_run     boolean not null default false,
    counts      jsonb not null default '{}',
    survey      jsonb not null default '{}',
    preview     jsonb not null default '[]',
    left_over   jsonb not null default '[]',
    model_calls integer not null default 0,
    cost_usd    numeric,
    started_at  timestamptz not null,
    finished_at timestamptz,
    error       text,
    primary key (space_id, id)
);
comment on table night is 'runs that consolidate the memories of an agent, or the shared ones';
comment on column night.agent_id is 'whose memories; empty: those that all agents of the space share';
comment on column night.survey is 'numbers of the store at its start';
comment on column night.preview is 'what a dry run would change';
comment on column night.left_over is 'gains that wait for the next night';
comment on column night.model_calls is 'calls of a model';
comment on column night.cost_usd is 'what its model calls cost; null if the price of any is unknown';
create unique index night_one on night (space_id, agent_id) where state in ('waiting', 'running');
create index night_latest on night (space_id, started_at);

create table night_unit (
    space_id text not null,
    key      text not null,
    night_id uuid not null,
    step     text not null,
    plan     jsonb,
    is_done  boolean not null default false,
    at       timestamptz not null,
    primary key (space_id, key),
    foreign key (space_id, night_id) references night (space_id, id) on delete cascade
);
comment on table night_unit is 'units of work, by a key of what they read; what is done is not done again';

create table night_item (
    space_id  text not null,
    id        uuid not null,
    night_id  uuid not null,
    unit_key  text not null,
    step      text not null,
    kind      text not null check (kind in ('learned', 'cited', 'annotated', 'reinforced', 'weakened', 'archived',
                  'superseded', 'proposed')),
    memory_id uuid not null,
    change_id uuid,
    place     integer not null,
    at        timestamptz not null,
    undone_at timestamptz,
    undone_by text,
    primary key (space_id, id),
    foreign key (space_id, night_id) references night (space_id, id) on delete cascade
);
comment on table night_item is 'what a night made or moved, each with its change';
comment on column night_item.place is 'number of the item in its night';
create index night_item_night on night_item (space_id, night_id, place);

create table safety_event (
    space_id  text not null,
    id        uuid not null,
    at        timestamptz not null,
    ceiling   text not null,
    enforced  boolean not null,
    memory_id uuid,
    wanted    double precision,
    allowed   double precision,
    reason    text not null,
    night_id  uuid not null,
    primary key (space_id, id),
    foreign key (space_id, night_id) references night (space_id, id) on delete cascade
);
comment on table safety_event is 'what a ceiling stopped, or in shadow would have stopped';
comment on column safety_event.wanted is 'center of the weight that was wanted, from 0 to 1';
comment on column safety_event.allowed is 'center of the weight that was allowed, from 0 to 1';
create index safety_event_night on safety_event (space_id, night_id);
