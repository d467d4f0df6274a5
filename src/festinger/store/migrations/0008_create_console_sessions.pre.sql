-- People who are logged in to the console. A row begins as a one-time link or as a shown key, and becomes a session
-- when it is opened. A `space_id` of '*' means all spaces, as for API keys, so there is no foreign key to `space`.

create table console_session (
    space_id   text not null,
    id         uuid not null,
    name       text not null check (length(name) between 1 and 100),
    role       text not null check (role in ('agent', 'reviewer', 'admin')),
    key_id     uuid,
    link_hash  bytea check (octet_length(link_hash) = 32),
    link_until timestamptz,
    hash       bytea check (octet_length(hash) = 32),
    made_at    timestamptz not null,
    opened_at  timestamptz,
    seen_at    timestamptz,
    ended_at   timestamptz,
    primary key (space_id, id),
    foreign key (space_id, key_id) references api_key (space_id, id) on delete cascade,
    check ((opened_at is null) = (hash is null))
);
comment on table console_session is 'who is logged in to the console; neither link nor cookie is stored, only their hashes';
comment on column console_session.name is 'who decides, as it stands on each decision';
comment on column console_session.key_id is 'the key that it was opened with; a session ends with its key';
comment on column console_session.link_hash is 'SHA-256 of the one-time link';
comment on column console_session.hash is 'SHA-256 of the cookie; null until it is opened';
comment on column console_session.seen_at is 'written at most once a minute';
-- Not unique: a cookie is found before its space is known, and 32 random bytes do not meet by chance.
create index console_session_hash on console_session (hash) where hash is not null;
create index console_session_link on console_session (link_hash) where link_hash is not null;
create index console_session_key on console_session (space_id, key_id);
