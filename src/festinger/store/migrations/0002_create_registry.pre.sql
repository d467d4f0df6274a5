-- What belongs to no single room: settings rows, API keys, the ledger of runs, the versions of caches.
-- A `space_id` of '*' means all spaces, which is no row of `space`; therefore three of these tables have
-- no foreign key to it, and `store/spaces.py` erases a space from them by name. Every other tenant table
-- says `space_id text not null references space (id) on delete cascade`.

create table config (
    space_id   text not null,
    key        text not null,
    value      text not null,
    updated_at timestamptz not null,
    updated_by text not null,
    primary key (space_id, key)
);
comment on table config is 'settings that people changed while Festinger ran; a row of ''*'' is for all spaces';
comment on column config.key is 'full name of the setting, such as llm.write';
comment on column config.value is 'the value as the environment would give it; only validated values are written';

create table api_key (
    space_id     text not null,
    id           uuid not null,
    name         text not null check (length(name) between 1 and 100),
    role         text not null check (role in ('proxy', 'agent', 'reviewer', 'admin')),
    agent_id     text,
    hash         bytea not null check (octet_length(hash) = 32),
    created_at   timestamptz not null,
    revoked_at   timestamptz,
    last_used_at timestamptz,
    primary key (space_id, id)
);
comment on table api_key is 'who may call; the key itself is shown once and never stored';
comment on column api_key.hash is 'SHA-256 of the whole key, prefix included';
comment on column api_key.last_used_at is 'written at most once a minute';
create unique index api_key_name on api_key (space_id, name) where revoked_at is null;
-- Not unique: a key is found before its space is known, and 32 random bytes do not meet by chance.
create index api_key_hash on api_key (hash);

create table run (
    id         uuid primary key,
    door       text not null,
    version    text not null,
    host       text not null,
    pid        integer not null,
    started_at timestamptz not null,
    stopped_at timestamptz,
    clean      boolean
);
comment on table run is 'one row for each process that opened the store';
comment on column run.pid is 'process id on `host`';
comment on column run.clean is 'null while it runs; false when it was found gone without a word';
create index run_unfinished on run (host) where clean is null;

create table cache_version (
    space_id text not null,
    room     text not null,
    version  bigint not null,
    primary key (space_id, room)
);
comment on column cache_version.version is 'count of writes; rises with each, in the transaction of the write';
