-- The runs that resolve conflicts.

-- name: begin_resolution
-- Makes a run; nothing if one is under way in this space.
insert into resolution_run (space_id, id, state, dry_run, pending, started_at)
values (%(space)s, %(id)s, 'waiting', %(dry_run)s, %(pending)s, %(now)s)
on conflict (space_id) where state <> 'done' do nothing
returning id;

-- name: run_under_way
-- The run that is under way in a space.
select id from resolution_run where space_id = %(space)s and state <> 'done';

-- name: mark_running
-- Notes that a run began to work.
update resolution_run set state = 'running' where space_id = %(space)s and id = %(id)s and state <> 'done'
returning dry_run;

-- name: finish_resolution
-- Notes what a run came to.
update resolution_run set state = 'done', seen = %(seen)s, resolved = %(resolved)s, dismissed = %(dismissed)s,
    waiting = %(waiting)s, failed = %(failed)s, left_over = %(left_over)s, cost_usd = %(cost_usd)s,
    finished_at = %(now)s
where space_id = %(space)s and id = %(id)s;

-- name: resolution_run
-- One run.
select id, state, dry_run, pending, seen, resolved, dismissed, waiting, failed, left_over, cost_usd, started_at,
       finished_at
from resolution_run where space_id = %(space)s and id = %(id)s;

-- name: last_resolution
-- The last run that was finished in a space.
select id, state, dry_run, pending, seen, resolved, dismissed, waiting, failed, left_over, cost_usd, started_at,
       finished_at
from resolution_run where space_id = %(space)s and state = 'done'
order by finished_at desc limit 1;
