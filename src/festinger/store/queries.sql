-- The store's own statements. Each has a name, a line that says what it is for, and one statement.

-- name: configure_connection
-- Sets what every connection of ours has: limits, UTC, a name in pg_stat_activity, and pgvector's iterative scan.
select set_config('statement_timeout', %(statement_timeout)s, false),
       set_config('lock_timeout', %(lock_timeout)s, false),
       set_config('application_name', %(application_name)s, false),
       set_config('timezone', 'UTC', false),
       set_config('hnsw.iterative_scan', 'relaxed_order', false),
       set_config('hnsw.ef_search', '100', false);

-- name: limit_statement
-- Gives this transaction the tighter limit of the request path.
select set_config('statement_timeout', %(timeout)s, true);

-- name: lock_migrations
-- Lets one process at a time migrate.
select pg_advisory_lock(hashtextextended('festinger migrations', 0));

-- name: create_schema_migration
-- The record of what was applied; made before the first migration.
create table if not exists schema_migration (
    name       text primary key,
    sha256     text not null,
    applied_at timestamptz not null default now()
);

-- name: applied_migrations
-- What this database has taken so far.
select name, sha256 from schema_migration order by name;

-- name: record_migration
-- Remembers that a migration was applied, in its own transaction.
insert into schema_migration (name, sha256) values (%(name)s, %(sha256)s);
