-- The models that people added with their keys, what each call to a model cost, and which master key seals.

create table models (
    space_id   text not null references space (id) on delete cascade,
    id         uuid not null,
    provider   text not null check (provider in ('claude', 'openai', 'ollama', 'gemini')),
    model_name text not null check (length(model_name) between 1 and 200),
    api_key    text check (api_key like 'v1:gcm:%'),
    base_url   text,
    created_at timestamptz not null,
    primary key (space_id, id)
);
comment on column models.api_key is 'sealed; bound to this table, column, space and row';
comment on column models.base_url is 'null means the provider''s own address';

create table cost (
    space_id      text not null references space (id) on delete cascade,
    id            uuid not null,
    at            timestamptz not null,
    agent_id      text not null,
    session_id    text,
    purpose       text not null check (purpose in ('write', 'resolve', 'judge', 'chat', 'system2')),
    provider      text not null,
    model         text not null,
    tokens_in     bigint,
    tokens_out    bigint,
    tokens_cached bigint,
    cost_usd      numeric,
    latency_ms    bigint not null check (latency_ms >= 0),
    ok            boolean not null,
    prompt_hash   text check (prompt_hash ~ '^[0-9a-f]{12}$'),
    job_id        bigint,
    primary key (space_id, id)
);
comment on table cost is 'one row for each call to a model, also for one that failed';
comment on column cost.tokens_in is 'null if the provider did not tell';
comment on column cost.tokens_out is 'tokens; null if the provider did not tell';
comment on column cost.tokens_cached is 'tokens of tokens_in that the provider had kept from before';
comment on column cost.latency_ms is 'milliseconds from asking to the whole answer';
comment on column cost.cost_usd is 'null if the price is unknown; never 0 for that';
comment on column cost.ok is 'whether it gave an answer that could be used';
create index cost_at on cost (at, purpose);
create index cost_session on cost (space_id, session_id) where session_id is not null;

create table master_key (
    sole   boolean primary key default true check (sole),
    key_id text not null
);
comment on table master_key is 'the name of the key that secrets are sealed with; the key itself is never here';
