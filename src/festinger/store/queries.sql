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

-- name: begin_limited
-- Begins a transaction with a limit of its own: the tighter one of the request path, or none (0); and says how it plans.
begin; set local statement_timeout = {timeout}; set local plan_cache_mode = {plan};

-- name: begin_reading
-- Begins a transaction without a limit that sees the database as of one moment and cannot write.
begin isolation level repeatable read, read only; set local statement_timeout = 0;

-- name: choose_plan
-- Says how the statements of this transaction are planned from here on.
select set_config('plan_cache_mode', %(plan)s, true);

-- name: find_versions
-- Which server and which pgvector this database has, and which pgvector it could install.
select current_setting('server_version_num')::integer as postgres,
       (select extversion from pg_extension where extname = 'vector') as installed,
       (select default_version from pg_available_extensions where name = 'vector') as available;

-- name: unlock_all
-- Frees the locks of a session.
select pg_advisory_unlock_all();

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

-- name: ping
-- Shows that the server answers; until this has run it does not count as started.
select 1;

-- name: vector_is_behind
-- Gives a row when pgvector is missing here, or older than the one that the server's programs bring.
select installed_version, default_version
from pg_available_extensions
where name = 'vector' and installed_version is distinct from default_version;

-- name: find_role
-- Whether the cluster has this role.
select 1 from pg_roles where rolname = %(name)s;

-- name: make_role
-- The role of the application: it can log in, and nothing else beyond its own database.
create role festinger login nosuperuser nocreatedb nocreaterole noreplication password {password};

-- name: change_role
-- Gives the role of the application the password of the present config directory.
alter role festinger login password {password};

-- name: find_database
-- Whether the cluster has this database.
select 1 from pg_database where datname = %(name)s;

-- name: make_database
-- The one database of the application, owned by its role.
create database festinger owner festinger;

-- name: close_database
-- Lets nobody but its owner into the application's database.
revoke all on database festinger from public;

-- name: update_vector
-- Brings pgvector in this database to the version that the server's programs bring.
alter extension vector update;

-- name: spaces
-- Every space, oldest first.
select id, name, created_at, settings_version from space order by created_at, id;

-- name: find_space
-- The space that has this name, else this id.
select id, name, created_at, settings_version from space
where name = %(name)s or id = %(name)s
order by name = %(name)s desc
limit 1;

-- name: space_ids
-- Which ids are taken.
select id from space;

-- name: create_space
-- A new, empty space.
insert into space (id, name, created_at) values (%(id)s, %(name)s, %(at)s)
returning id, name, created_at, settings_version;

-- name: rename_space
-- Gives a space another name.
update space set name = %(name)s where id = %(space)s
returning id, name, created_at, settings_version;

-- name: lock_space
-- Keeps a space from being renamed or written to while it is erased; its name.
select name from space where id = %(space)s for update;

-- name: delete_space
-- Takes the space away, and with it every row that belongs to it by foreign key.
delete from space where id = %(space)s;

-- name: rows_deleted
-- How many rows this session has deleted and not yet reported; two readings in one transaction make a count.
select coalesce(sum(n_tup_del), 0)::bigint as rows from pg_stat_xact_user_tables;

-- name: forget_cached
-- Tells every process that what it keeps of this space is gone.
select pg_notify('festinger_cache', json_build_object('space', space_id, 'room', room, 'version', 0)::text)
from cache_version
where space_id = %(space)s
union all
select pg_notify('festinger_world', json_build_object('space', space_id, 'room', 'world', 'version', 0)::text)
from world_version
where space_id = %(space)s;

-- name: erase_config
-- Takes the settings of a space away.
delete from config where space_id = %(space)s;

-- name: erase_api_keys
-- Takes the keys of a space away.
delete from api_key where space_id = %(space)s;

-- name: erase_cache_versions
-- Stops counting the writes of a space.
delete from cache_version where space_id = %(space)s;

-- name: raise_cache_version
-- Counts a write of a room and tells who listens, when the transaction ends well.
with risen as (
    insert into cache_version (space_id, room, version) values (%(space)s, %(room)s, 1)
    on conflict (space_id, room) do update set version = cache_version.version + 1
    returning space_id, room, version
)
select version,
       pg_notify('festinger_cache', json_build_object('space', space_id, 'room', room, 'version', version)::text)
from risen;

-- name: cache_versions
-- How far every count is, in all spaces: each process compares what it keeps of any of them.
select space_id, room, version from cache_version
-- The world counts in a row of its own, which is its write lock too.
union all
select space_id, 'world', version from world_version;

-- name: listen
-- Begins to hear of changes to what processes keep in memory.
listen festinger_cache;
listen festinger_world;

-- name: say_listening
-- A word to oneself: whether it comes back shows whether this connection hears anything at all.
select pg_notify('festinger_cache', %(word)s);

-- name: config_rows
-- Settings that people changed, of one space or all.
select space_id as space, key, value, updated_at, updated_by from config
where %(space)s::text is null or space_id = %(space)s
order by space_id, key;

-- name: lock_config
-- The present value of a setting, kept from changing until the new one is written.
select value from config where space_id = %(space)s and key = %(key)s for update;

-- name: put_config
-- Writes the value of a setting.
insert into config (space_id, key, value, updated_at, updated_by)
values (%(space)s, %(key)s, %(value)s, %(at)s, %(by)s)
on conflict (space_id, key) do update
    set value = excluded.value, updated_at = excluded.updated_at, updated_by = excluded.updated_by;

-- name: delete_config
-- Takes the value of a setting away; what it was.
delete from config where space_id = %(space)s and key = %(key)s returning value;

-- name: raise_settings_version
-- Counts a change of a space's own settings; a change for all spaces ('*') belongs to none.
update space set settings_version = settings_version + 1 where id = %(space)s;

-- name: make_key
-- Keeps a new key by its hash.
insert into api_key (space_id, id, name, role, agent_id, hash, created_at)
values (%(space)s, %(id)s, %(name)s, %(role)s, %(agent)s, %(hash)s, %(created_at)s);

-- name: find_key
-- The live key with this hash. Which space it belongs to is what the caller wants to know, so it is not asked.
select space_id as space, id, name, role, agent_id as agent, hash, created_at, revoked_at, last_used_at
from api_key
where hash = %(hash)s and revoked_at is null
limit 1;

-- name: keys
-- Every key of one space or all, oldest first.
select space_id as space, id, name, role, agent_id as agent, created_at, revoked_at, last_used_at
from api_key
where %(space)s::text is null or space_id = %(space)s
order by created_at, id;

-- name: revoke_key
-- Ends a key; the moment of an earlier end stands.
update api_key set revoked_at = coalesce(revoked_at, %(at)s)
where space_id = %(space)s and id = %(id)s
returning id;

-- name: note_key_use
-- Remembers that a key was used, unless that was noted a moment ago.
update api_key set last_used_at = %(at)s
where space_id = %(space)s and id = %(id)s and (last_used_at is null or last_used_at < %(before)s);

-- name: make_link
-- Keeps a one-time link by its hash.
insert into console_session (space_id, id, name, role, link_hash, link_until, made_at)
values (%(space)s, %(id)s, %(name)s, %(role)s, %(hash)s, %(until)s, %(seen_at)s);

-- name: open_link
-- Makes a link a session, once; which space it belongs to is not known before.
update console_session set hash = %(hash)s, opened_at = %(at)s, seen_at = %(at)s
where link_hash = %(link)s and opened_at is null and ended_at is null and link_until >= %(at)s
returning space_id as space, id, name, role, seen_at;

-- name: open_session
-- Begins a session of somebody who showed a key.
insert into console_session (space_id, id, name, role, key_id, hash, made_at, opened_at, seen_at)
values (%(space)s, %(id)s, %(name)s, %(role)s, %(key)s, %(hash)s, %(seen_at)s, %(seen_at)s, %(seen_at)s);

-- name: find_session
-- The live session with this hash. Which space it belongs to is what the caller wants to know, so it is not asked.
select s.space_id as space, s.id, s.name, s.role, s.seen_at, s.hash
from console_session s
left join api_key k on k.space_id = s.space_id and k.id = s.key_id
where s.hash = %(hash)s and s.ended_at is null and s.seen_at >= %(since)s and k.revoked_at is null
limit 1;

-- name: see_session
-- Remembers that a session is used, so that it does not end by itself.
update console_session set seen_at = %(at)s where space_id = %(space)s and id = %(id)s;

-- name: end_session
-- Ends a session.
update console_session set ended_at = %(at)s where space_id = %(space)s and id = %(id)s and ended_at is null;

-- name: has_sessions
-- Whether anybody ever logged in.
select exists (select from console_session where opened_at is not null) as found;

-- name: erase_console_sessions
-- Takes the sessions of a space away.
delete from console_session where space_id = %(space)s;

-- name: lock_unfinished_runs
-- Runs of a machine that have not said how they ended; one process at a time judges them.
select id, door, version, host, pid, started_at, stopped_at, clean from run
where host = %(host)s and clean is null
order by started_at
for update;

-- name: mark_crashed
-- These ended without a word; when is not known.
update run set clean = false where id = any(%(ids)s);

-- name: begin_run
-- A process begins.
insert into run (id, door, version, host, pid, started_at, pins)
values (%(id)s, %(door)s, %(version)s, %(host)s, %(pid)s, %(started_at)s, %(pins)s);

-- name: runs_that_pin
-- Runs that have not ended and for which a setting is pinned, the oldest first.
select id, door, version, host, pid, started_at, stopped_at, clean from run
where clean is null and %(key)s = any(pins)
order by started_at;

-- name: end_run
-- A process ends well.
update run set stopped_at = %(at)s, clean = true where id = %(id)s;

-- name: latest_crash
-- The last run that began after a moment and ended without a word.
select id, door, version, host, pid, started_at, stopped_at, clean from run
where clean = false and started_at >= %(since)s
order by started_at desc
limit 1;

-- name: sum_runs
-- How many runs, how many crashes, since when, and how long awake in all; a command that only looks is no life,
-- and a worker shares its server's.
select count(*) as runs,
       count(*) filter (where clean = false) as crashes,
       min(started_at) as since,
       coalesce(sum(coalesce(stopped_at, %(now)s) - started_at) filter (where clean is distinct from false), interval '0') as awake
from run where door not in ('cli', 'worker');

-- name: begin_snapshot
-- Lets every statement of this transaction see the database as of one moment.
set transaction isolation level repeatable read;

-- name: export_snapshot
-- Names that moment, so that `pg_dump` reads the same one.
select pg_export_snapshot() as snapshot;

-- name: tally_rows
-- Counts the rows of every table, and names the migrations and the embedders of stored vectors; `tallied_rows` reads it.
do $$
declare
    target    record;
    counted   bigint;
    models    jsonb;
    tables    jsonb := '{}';
    embedders jsonb := '[]';
    taken     jsonb := '{}';
begin
    for target in
        select c.oid, n.nspname, c.relname
        from pg_class c
        join pg_namespace n on n.oid = c.relnamespace
        where c.relkind = 'r'
          and c.relpersistence <> 't'
          and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
          and not exists (
              select from pg_depend d
              where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
          )
    loop
        execute format('select count(*) from %I.%I', target.nspname, target.relname) into counted;
        tables := tables || jsonb_build_object(target.nspname || '.' || target.relname, counted);
        if (select count(*) = 3 from pg_attribute a
            where a.attrelid = target.oid and a.attname in ('model', 'dims', 'text_hash') and not a.attisdropped)
        then
            execute format(
                'select coalesce(jsonb_agg(distinct model), ''[]'') from %I.%I where model is not null',
                target.nspname, target.relname
            ) into models;
            select coalesce(jsonb_agg(distinct name), '[]') into embedders
            from jsonb_array_elements(embedders || models) as found(name);
        end if;
        if target.relname = 'schema_migration' then
            execute format(
                'select coalesce(jsonb_object_agg(name, sha256), ''{}'') from %I.%I', target.nspname, target.relname
            ) into taken;
        end if;
    end loop;
    perform set_config(
        'festinger.tally',
        jsonb_build_object('tables', tables, 'embedders', embedders, 'migrations', taken)::text,
        true
    );
end
$$;

-- name: tallied_rows
-- What `tally_rows` found in this transaction.
select current_setting('festinger.tally', true) as tally;

-- name: find_tables
-- Names the tables that are in this database and do not belong to an extension; none means that it is empty.
select n.nspname || '.' || c.relname as name
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p')
  and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
  and n.nspname not like 'pg\_temp\_%%'
  and not exists (
      select from pg_depend d
      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
  )
order by name;

-- name: remove_everything
-- Empties the database before a restore, but leaves what extensions brought, since a plain role could not bring it back.
do $$
declare
    target record;
begin
    for target in
        select case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence'
                              else 'table' end as what,
               format('%I.%I', n.nspname, c.relname) as name
        from pg_class c
        join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p', 'v', 'm', 'S')
          and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
          and n.nspname not like 'pg\_temp\_%'
          and not exists (
              select from pg_depend d
              where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e'
          )
        order by c.relkind = 'S' -- those that belong to a column are gone with their table by then
    loop
        execute format('drop %s if exists %s cascade', target.what, target.name);
    end loop;
    for target in
        select p.oid::regprocedure::text as name
        from pg_proc p
        join pg_namespace n on n.oid = p.pronamespace
        where n.nspname not in ('pg_catalog', 'information_schema')
          and not exists (
              select from pg_depend d
              where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
          )
    loop
        execute format('drop routine if exists %s cascade', target.name);
    end loop;
    for target in
        select format('%I.%I', n.nspname, t.typname) as name
        from pg_type t
        join pg_namespace n on n.oid = t.typnamespace
        left join pg_class c on c.oid = t.typrelid
        where (t.typtype in ('e', 'd', 'r') or (t.typtype = 'c' and c.relkind = 'c'))
          and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
          and not exists (
              select from pg_depend d
              where d.classid = 'pg_type'::regclass and d.objid = t.oid and d.deptype = 'e'
          )
    loop
        execute format('drop type if exists %s cascade', target.name);
    end loop;
    for target in
        select n.nspname as name
        from pg_namespace n
        where n.nspname <> 'public' and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema'
          and not exists (
              select from pg_depend d
              where d.refclassid = 'pg_namespace'::regclass and d.refobjid = n.oid
          )
    loop
        execute format('drop schema %I', target.name);
    end loop;
end
$$;

-- name: install_vector
-- Gives the database pgvector, if it has none; a restored dump leaves extensions out.
create extension if not exists vector;

-- name: reset_session
-- Undoes what a dump's script set for itself: its empty search path, its limits and its way of reading text.
reset all;

-- name: index_is_valid
-- Whether an index is there and finished; none if not.
select indexrelid from pg_index where indexrelid = to_regclass(quote_ident(%(index)s)) and indisvalid;

-- name: try_lock_index
-- Lets one process build an index; the lock ends with its connection.
select pg_try_advisory_lock(hashtextextended('festinger index ' || %(index)s::text, 0)) as locked;

-- name: make_room_for_index
-- Lets this connection build an index in memory, as far as it needs it: beyond the 64 MB that a server gives, which
-- hold some sixty thousand vectors of 384 numbers, building takes many times as long; a million need more than 1 GB.
-- Alone, because helpers would share that memory in /dev/shm, of which a container has little.
select set_config('maintenance_work_mem', '2GB', false), set_config('max_parallel_maintenance_workers', '0', false);

-- name: create_vector_index
-- The index of one model, built beside running writes. The numbers are pgvector's usual m and twice its usual
-- effort, which pays once and is searched ever after.
create index concurrently {index} on {table}
using hnsw (({column}::halfvec({dims})) halfvec_cosine_ops) with (m = 16, ef_construction = 128)
where model = {model};

-- name: create_purpose_index
-- The same for a table that keeps vectors of several purposes: those of the one that is searched.
create index concurrently {index} on {table}
using hnsw ((embedding::halfvec({dims})) halfvec_cosine_ops) with (m = 16, ef_construction = 128)
where model = {model} and purpose = {purpose};

-- name: drop_vector_index
-- Takes an index away beside running reads.
drop index concurrently if exists {index};

-- name: add_model
-- Keeps a model that a person added; its key comes sealed.
insert into models (space_id, id, provider, model_name, api_key, base_url, created_at)
values (%(space)s, %(id)s, %(provider)s, %(model_name)s, %(api_key)s, %(base_url)s, %(at)s);

-- name: models
-- The models of a space, oldest first.
select id, provider, model_name, api_key, base_url, created_at
from models where space_id = %(space)s order by created_at, id;

-- name: find_model
-- One model of a space.
select id, provider, model_name, api_key, base_url, created_at
from models where space_id = %(space)s and id = %(id)s;

-- name: change_model_key
-- Gives a model another key, or none.
update models set api_key = %(api_key)s where space_id = %(space)s and id = %(id)s returning id;

-- name: delete_model
-- Takes a model away.
delete from models where space_id = %(space)s and id = %(id)s returning id;

-- name: sealed_model_keys
-- Every key of a model, for sealing it anew.
select space_id, id, api_key from models where api_key is not null order by space_id, id for update;

-- name: share_master_key
-- Keeps a rotation out while secrets are sealed in this transaction.
select pg_advisory_xact_lock_shared(hashtextextended('festinger master key', 0));

-- name: lock_master_key
-- Lets one rotation at a time change what seals, while nothing is being sealed.
select pg_advisory_xact_lock(hashtextextended('festinger master key', 0));

-- name: find_master_key
-- The name of the key that secrets are sealed with.
select key_id from master_key;

-- name: put_master_key
-- Remembers which key secrets are sealed with from now on.
insert into master_key (key_id) values (%(key_id)s) on conflict (sole) do update set key_id = excluded.key_id;

-- name: record_call
-- One call to a model. A row that arrives a second time is the same call.
insert into cost (space_id, id, at, agent_id, session_id, purpose, provider, model, tokens_in, tokens_out,
                  tokens_cached, cost_usd, latency_ms, ok, prompt_hash, job_id)
values (%(space)s, %(id)s, %(at)s, %(agent)s, %(session)s, %(purpose)s, %(provider)s, %(model)s, %(tokens_in)s,
        %(tokens_out)s, %(tokens_cached)s, %(cost_usd)s, %(latency_ms)s, %(ok)s, %(prompt_hash)s, %(job)s)
on conflict (space_id, id) do nothing;

-- name: tally_calls
-- What calls of all spaces came to since a moment, for the limits of the deployment.
select count(*) as calls,
       count(*) filter (where not ok) as failed,
       coalesce(sum(cost_usd), 0) as cost_usd,
       count(*) filter (where cost_usd is null and (ok or tokens_in is not null)) as unpriced
from cost
where at > %(since)s and (%(purpose)s::text is null or purpose = %(purpose)s);

-- name: daily_costs
-- What calls of a space cost on each day since a moment, by purpose.
select (at at time zone 'UTC')::date as day, purpose as name, coalesce(sum(cost_usd), 0)::float8 as number
from cost
where space_id = %(space)s and at >= %(since)s
group by 1, 2 order by 1, 2;

-- name: sum_costs
-- What calls of a space came to, by purpose and model; of one session or since a moment, if so asked.
-- A failed call that used nothing is not unpriced: there was nothing to price.
select purpose, provider, model,
       count(*) as calls,
       count(*) filter (where not ok) as failed,
       coalesce(sum(cost_usd), 0) as cost_usd,
       count(*) filter (where cost_usd is null and (ok or tokens_in is not null)) as unpriced,
       coalesce(sum(tokens_in), 0)::bigint as tokens_in,
       coalesce(sum(tokens_out), 0)::bigint as tokens_out,
       coalesce(sum(tokens_cached), 0)::bigint as tokens_cached
from cost
where space_id = %(space)s
  and (%(session)s::text is null or session_id = %(session)s)
  and (%(since)s::timestamptz is null or at > %(since)s)
group by purpose, provider, model
order by purpose, provider, model;

-- name: answer
-- The smallest question: does the database answer?
select 1;

-- name: look_at_server
-- What `doctor` tells of the server: versions, shape and the time that it has.
select current_setting('server_version') as postgres,
       (select extversion from pg_extension where extname = 'vector') as pgvector,
       (select count(*) from schema_migration) as migrations,
       (select max(name) from schema_migration) as schema,
       now() as now;

-- name: write_exchanges
-- Writes exchanges that are not there yet, and what was said in them and is not there yet; the ids of those that were
-- written, and which of the sessions had an exchange before.
with new as (
    insert into exchange (space_id, id, session_id, agent_id, request_id, at, reply_id, tool_calls, thinking, ended,
                          model, tokens_read, tokens_written, recollection_id)
    select %(space)s, each.*
    from unnest(%(ids)s::uuid[], %(sessions)s::text[], %(agents)s::text[], %(requests)s::text[],
                %(times)s::timestamptz[], %(replies)s::uuid[], %(calls)s::jsonb[], %(thoughts)s::text[],
                %(ends)s::text[], %(models)s::text[], %(read)s::bigint[], %(written)s::bigint[],
                %(recollections)s::uuid[]) as each
    on conflict (space_id, id) do nothing
    returning id, session_id, at
), said as (
    insert into exchange_message (space_id, id, exchange_id, session_id, seq, role, origin, text, at)
    select distinct on (m.id) %(space)s, m.id, new.id, new.session_id, m.place, m.role, m.origin, m.text, new.at
    from unnest(%(messages)s::uuid[], %(owners)s::uuid[], %(places)s::integer[], %(roles)s::text[],
                %(origins)s::text[], %(texts)s::text[])
        with ordinality as m (id, owner, place, role, origin, text, number)
    join new on new.id = m.owner
    order by m.id, m.number desc
    on conflict (space_id, id) do nothing
    returning id
)
select array(select new.id from new) as exchanges, array(select said.id from said) as messages,
    array(select distinct e.session_id from exchange e
          where e.space_id = %(space)s and e.session_id = any(%(sessions)s::text[])) as sessions;

-- name: messages_that_said
-- The messages in which something was said.
select m.id from exchange_message m where m.space_id = %(space)s and m.text ~* %(pattern)s;

-- name: cut_messages
-- Cuts what was said, thought and called before some moment. That it was said stays known, so nothing is written twice.
with thoughts as (
    update exchange e set thinking = null, tool_calls = '[]'
    where e.space_id = %(space)s and e.at < %(before)s and (e.thinking is not null or e.tool_calls <> '[]')
)
update exchange_message m set text = ''
where m.space_id = %(space)s and m.at < %(before)s and m.text <> '';

-- name: read_messages
-- What was said, by id.
select id, exchange_id as exchange, session_id as session, role, origin, text, at from exchange_message
where space_id = %(space)s and id = any(%(ids)s::uuid[]);

-- name: session_messages
-- What was said in a session, the oldest first.
select message.id, message.exchange_id as exchange, message.session_id as session, message.role, message.origin,
       message.text, message.at
from exchange_message as message
join exchange on exchange.space_id = message.space_id and exchange.id = message.exchange_id
where message.space_id = %(space)s and exchange.space_id = %(space)s and exchange.session_id = %(session)s
order by message.at, message.exchange_id, message.seq;

-- name: sessions_with_notes
-- Which of some sessions were given notes.
select wanted.session_id from unnest(%(sessions)s::text[]) as wanted (session_id)
where exists (
    select from exchange
    where exchange.space_id = %(space)s and exchange.session_id = wanted.session_id
      and exchange.recollection_id is not null);

-- name: recent_exchanges
-- The last exchanges of a session, the newest first.
select exchange.id, exchange.request_id as request, exchange.at, exchange.reply_id as reply, exchange.tool_calls,
       exchange.thinking, exchange.recollection_id as recollection
from exchange
where exchange.space_id = %(space)s and exchange.session_id = %(session)s
order by exchange.at desc, exchange.id desc
limit %(limit)s;

-- name: keep_sessions
-- Keeps how sessions are known again. What came later stands, whoever writes first.
insert into proxy_session as kept (space_id, caller, session_id, head, links, recent, parent_id, at)
select %(space)s, each.*
from unnest(%(callers)s::text[], %(sessions)s::text[], %(heads)s::bytea[], %(links)s::bytea[],
            %(recent)s::bytea[], %(parents)s::text[], %(times)s::timestamptz[]) as each
on conflict (space_id, caller, session_id) do update
set head = excluded.head, links = excluded.links, recent = excluded.recent, at = excluded.at
where kept.at <= excluded.at;

-- name: keep_injections
-- Keeps the notes that were put into sessions. Of two blocks for one place the first stands, but for the one in the
-- system text, which is written anew.
insert into injection as kept (space_id, caller, session_id, anchor, id, block, notes, at)
select %(space)s, each.*
from unnest(%(callers)s::text[], %(sessions)s::text[], %(anchors)s::bytea[], %(ids)s::uuid[],
            %(blocks)s::text[], %(notes)s::jsonb[], %(times)s::timestamptz[]) as each
on conflict (space_id, caller, session_id, anchor) do update
set id = excluded.id, block = excluded.block, notes = excluded.notes, at = excluded.at
where kept.anchor = '';

-- name: rewrite_injections
-- Puts the blocks of a session into other words, where something in them was forgotten.
update injection as kept set block = each.block, notes = each.notes
from unnest(%(anchors)s::bytea[], %(blocks)s::text[], %(notes)s::jsonb[]) as each (anchor, block, notes)
where kept.space_id = %(space)s and kept.caller = %(caller)s and kept.session_id = %(session)s
  and kept.anchor = each.anchor;

-- name: drop_injections
-- Drops the blocks of a session of which nothing is left.
delete from injection
where space_id = %(space)s and caller = %(caller)s and session_id = %(session)s
  and anchor <> all(%(anchors)s::bytea[]);

-- name: find_sessions
-- The sessions of a caller that have this name, or that begin with this hash and are not older; the newest first.
select caller, session_id as session, head, links, recent, parent_id as parent, at from proxy_session
where space_id = %(space)s and caller = %(caller)s
  and (session_id = %(session)s or (%(session)s::text is null and head = %(head)s and at > %(since)s))
order by at desc
limit %(limit)s;

-- name: find_injections
-- The notes of these sessions, the oldest first.
select session_id as session, anchor, id, block as text, notes from injection
where space_id = %(space)s and caller = %(caller)s and session_id = any(%(sessions)s::text[])
order by at, anchor;

-- name: notes_of_sessions
-- The notes that were put into sessions, whoever spoke in them; the callers of a space are few, and are skipped over.
select id, session_id, block from injection
where space_id = %(space)s and session_id = any(%(sessions)s::text[]) order by at, anchor;

-- name: prune_sessions
-- Forgets one batch of sessions that were quiet for long, with the notes that stood in them.
with old as (
    select space_id, caller, session_id from proxy_session where at < %(before)s order by at limit %(limit)s
)
delete from proxy_session as gone using old
where gone.space_id = old.space_id and gone.caller = old.caller and gone.session_id = old.session_id;

-- name: log_requests
-- Writes what happened to requests. Of an id that was used again the latest request stands.
insert into request_log (space_id, id, at, agent_id, session_id, route, model, status, memory, reason, ended,
                         before_ms, after_ms, details)
select %(space)s, each.*
from jsonb_to_recordset(%(rows)s::jsonb) as each (
    id text, at timestamptz, agent text, session text, route text, model text, status integer, memory text,
    reason text, ended text, before_ms float8, after_ms float8, details jsonb)
on conflict (space_id, id) do update
set at = excluded.at, agent_id = excluded.agent_id, session_id = excluded.session_id, route = excluded.route,
    model = excluded.model, status = excluded.status, memory = excluded.memory, reason = excluded.reason,
    ended = excluded.ended, before_ms = excluded.before_ms, after_ms = excluded.after_ms,
    details = excluded.details;

-- name: find_request
-- What happened to a request.
select id, at, agent_id as agent, session_id as session, route, model, status, memory, reason, ended, before_ms,
       after_ms, details
from request_log where space_id = %(space)s and id = %(id)s;

-- name: list_requests
-- What happened to the requests of a space, or of one session, the newest first.
select id, at, agent_id as agent, session_id as session, route, model, status, memory, reason, ended, before_ms,
       after_ms, details
from request_log
where space_id = %(space)s
  and (%(session)s::text is null or session_id = %(session)s)
  and (%(since)s::timestamptz is null or at >= %(since)s)
  and (%(before)s::timestamptz is null or at < %(before)s)
order by at desc, id
limit %(limit)s;

-- name: daily_overhead
-- What requests of a space waited for us on each day since a moment: half of them, and all but a twentieth, no longer.
select (at at time zone 'UTC')::date as day, count(*) as number,
       percentile_cont(0.5) within group (order by before_ms) as p50,
       percentile_cont(0.95) within group (order by before_ms) as p95
from request_log
where space_id = %(space)s and at >= %(since)s and session_id is not null
group by 1 order by 1;

-- name: count_requests
-- How many requests of all spaces memory served in which way since a moment, and why so.
select memory, reason, count(*) as requests
from request_log
where at > %(since)s
group by memory, reason
order by memory, reason;

-- name: prune_requests
-- Removes one batch of the log of requests.
with old as (
    select space_id, id from request_log where at < %(before)s order by at limit %(limit)s
)
delete from request_log as gone using old where gone.space_id = old.space_id and gone.id = old.id;

-- name: columns_of_words
-- Columns of the spaces' tables that may hold words: no keys, no references, no closed sets of values.
select c.relname::text as relation, a.attname::text as name,
       case t.typname when '_text' then 'texts' else t.typname::text end as kind
from pg_class c
join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
join pg_type t on t.oid = a.atttypid and t.typname in ('text', '_text', 'jsonb')
where c.relkind = 'r'
  and exists (select from pg_attribute s where s.attrelid = c.oid and s.attname = 'space_id' and not s.attisdropped)
  and not exists (select from pg_index i where i.indrelid = c.oid and i.indisunique and a.attnum = any(i.indkey))
  and not exists (select from pg_constraint k where k.conrelid = c.oid and a.attnum = any(k.conkey)
                  and (k.contype in ('p', 'u', 'f')
                       or (k.contype = 'c' and pg_get_constraintdef(k.oid) like '%%ARRAY[%%')))
order by c.relname, a.attnum;

-- name: cut_text
-- Puts a mark in the place of forgotten words.
update {table} set {column} = regexp_replace({column}, %(pattern)s, %(mark)s, 'gi')
where space_id = %(space)s and {column} ~* %(pattern)s;

-- name: cut_texts
-- The same in a list of texts.
update {table} set {column} = (
    select array_agg(regexp_replace(each, %(pattern)s, %(mark)s, 'gi') order by place)
    from unnest({column}) with ordinality as listed (each, place))
where space_id = %(space)s and exists (select from unnest({column}) as each where each ~* %(pattern)s);

-- name: find_documents
-- Documents that hold forgotten words, kept from changing until the transaction ends.
select ctid::text as place, {column} as document from {table}
where space_id = %(space)s and {column}::text ~* %(pattern)s for update;

-- name: put_document
-- Keeps a document without its forgotten words.
update {table} set {column} = %(document)s::jsonb where space_id = %(space)s and ctid = %(place)s::tid;

-- name: vacuum_everything
-- Gives the room of erased rows back.
vacuum;

-- name: updates_of
-- How many rows of a table were changed, and how many of them where they lie, without a word to any index.
select n_tup_upd as updates, n_tup_hot_upd as in_place from pg_stat_user_tables where relname = %(table)s;

-- name: tidy_everything
-- The same at once as the server does by and by: room, indexes, and how values lie.
vacuum (analyze);
