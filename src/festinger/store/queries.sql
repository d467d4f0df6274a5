-- The store's own statements. Each has a name, a line that says what it is for, and one statement.

-- name: configure_connection
-- Sets what every connection of ours has: limits, UTC, a name in pg_stat_activity, and pgvector's iterative scan;
-- `local` gives it to one transaction only, for a pooler that shares sessions.
select set_config('statement_timeout', %(statement_timeout)s, %(local)s),
       set_config('lock_timeout', %(lock_timeout)s, %(local)s),
       set_config('application_name', %(application_name)s, %(local)s),
       set_config('timezone', 'UTC', %(local)s),
       set_config('hnsw.iterative_scan', 'relaxed_order', %(local)s),
       set_config('hnsw.ef_search', '100', %(local)s);

-- name: limit_statement
-- Gives this transaction a limit of its own: the tighter one of the request path, or none (0).
select set_config('statement_timeout', %(timeout)s, true);

-- name: find_versions
-- Which server and which pgvector this database has, and which pgvector it could install.
select current_setting('server_version_num')::integer as postgres,
       (select extversion from pg_extension where extname = 'vector') as installed,
       (select default_version from pg_available_extensions where name = 'vector') as available;

-- name: lock_migrations
-- Lets one process at a time migrate, until its transaction ends; waits however long the other takes.
select set_config('statement_timeout', '0', true),
       pg_advisory_xact_lock(hashtextextended('festinger migrations', 0));

-- name: limit_locks
-- A migration that cannot have its table soon gives up, so that no queue forms behind it.
select set_config('lock_timeout', %(lock_timeout)s, true);

-- name: find_schema_migration
-- Whether this database was ever migrated; null if not.
select to_regclass('schema_migration')::text as name;

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

-- name: limit_session
-- Takes the statement limits from a connection that is made for something long.
select set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false);
