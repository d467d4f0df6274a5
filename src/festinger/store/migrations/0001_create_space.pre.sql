-- A space is an isolated shared world: the tenant that every other table leads its key with.
create extension if not exists vector;

create table space (
    id               text primary key check (id ~ '^[a-z][a-z0-9-]{0,62}$'),
    name             text not null unique check (name ~ '^[a-z][a-z0-9-]{0,62}$'),
    created_at       timestamptz not null default now(),
    settings_version bigint not null default 0
);
comment on column space.settings_version is 'rises with each change of the space''s own settings';

insert into space (id, name) values ('main', 'main');
