-- Statements about background work. The engine fetches and finishes jobs by its own SQL; here stands what we
-- keep beside it, and the few moves that must be one transaction with what we keep.

-- name: waiting_with_queueing_lock
-- The job that waits under this queueing lock. The share lock keeps workers from taking it before the asker's
-- transaction ends: otherwise it could run without seeing the change that asked for it.
select id from procrastinate_jobs where queueing_lock = %(queueing_lock)s and status = 'todo' for share;

-- name: lock_name
-- Lets one caller at a time start a periodic job by hand.
select pg_advisory_xact_lock(hashtextextended('job ' || %(name)s::text, 0));

-- name: active_job
-- The oldest job of this name that waits or runs.
select id from procrastinate_jobs
where task_name = %(name)s and status in ('todo', 'doing')
order by id limit 1;

-- name: record_of
-- What is kept about a job that was tried before.
select forgiven, worker_deaths, cancel_asked_at from job_record where job_id = %(job)s;

-- name: record_failure
-- Keeps the error of an attempt; gives what the next decision needs, and the engine's present moment.
insert into job_record (job_id, name, error, error_text, first_failed_at, last_failed_at)
values (%(job)s, %(name)s, %(error)s, %(error_text)s, %(now)s, %(now)s)
on conflict (job_id) do update
    set error = excluded.error, error_text = excluded.error_text, last_failed_at = excluded.last_failed_at,
        first_failed_at = coalesce(job_record.first_failed_at, excluded.first_failed_at)
returning forgiven, worker_deaths, now() as engine_now;

-- name: forgive_attempt
-- The attempt in progress does not count: it was interrupted or put off.
insert into job_record (job_id, name, forgiven) values (%(job)s, %(name)s, 1)
on conflict (job_id) do update set forgiven = job_record.forgiven + 1
returning now() as engine_now;

-- name: leave_queueing_lock
-- A job that goes back to the queue leaves the lock to fresh ones: two waiting jobs may not hold it, and the
-- engine could not put this one back.
update procrastinate_jobs set queueing_lock = null where id = %(job)s and queueing_lock is not null;

-- name: mark_dead
-- Gives a job up, once.
update job_record set dead_at = %(now)s where job_id = %(job)s and dead_at is null;

-- name: report_progress
-- Keeps how far a job is; says whether somebody asked to stop it.
insert into job_record (job_id, name, done, total, note, reported_at)
values (%(job)s, %(name)s, %(done)s, %(total)s, %(note)s, %(now)s)
on conflict (job_id) do update
    set done = excluded.done, total = excluded.total, note = excluded.note, reported_at = excluded.reported_at
returning cancel_asked_at;

-- name: cancel_waiting
-- Takes a waiting job out of the queue.
update procrastinate_jobs set status = 'cancelled' where id = %(job)s and status = 'todo' returning id;

-- name: ask_to_cancel
-- Tells a running job to stop at its next batch.
insert into job_record (job_id, name, cancel_asked_at)
select id, task_name, %(now)s from procrastinate_jobs where id = %(job)s and status = 'doing'
on conflict (job_id) do update set cancel_asked_at = excluded.cancel_asked_at
returning job_id;

-- name: jobs_in_state
-- Jobs as people see them, newest first.
select job.id, job.task_name as name, job.queue_name as queue, job.args, job.attempts, job.scheduled_at,
       case
           when record.dropped_at is not null then 'dropped'
           when job.status = 'failed' then 'dead'
           when job.status = 'todo' then 'waiting'
           when job.status = 'doing' then 'running'
           when job.status = 'succeeded' then 'done'
           else 'cancelled'
       end as state,
       record.done, record.total, coalesce(record.note, '') as note, record.reported_at,
       coalesce(record.error, case when job.status = 'failed' then 'unrecorded' end, '') as error,
       coalesce(record.error_text, '') as error_text, coalesce(record.worker_deaths, 0) as worker_deaths,
       record.first_failed_at, record.last_failed_at, coalesce(record.drop_note, '') as drop_note,
       trail.deferred_at, trail.changed_at
from procrastinate_jobs as job
left join job_record as record on record.job_id = job.id
left join lateral (
    select min(at) filter (where type = 'deferred') as deferred_at,
           max(at) filter (where type <> 'scheduled') as changed_at
    from procrastinate_events where job_id = job.id
) as trail on true
where (%(job)s::bigint is null or job.id = %(job)s)
  and (%(name)s::text is null or job.task_name = %(name)s)
  and (%(statuses)s::text[] is null or job.status::text = any(%(statuses)s))
  and (%(dropped)s::boolean is null or (record.dropped_at is not null) = %(dropped)s)
order by job.id desc
limit %(limit)s;

-- name: retry_dead
-- Puts a dead job back into its queue with all its attempts before it.
with again as (
    update procrastinate_jobs as job
    set status = 'todo', scheduled_at = null, queueing_lock = null, worker_id = null
    where job.id = %(job)s and job.status = 'failed'
      and not exists (select from job_record where job_id = job.id and dropped_at is not null)
    returning job.id, job.task_name, job.attempts
)
insert into job_record (job_id, name, forgiven)
select id, task_name, attempts from again
on conflict (job_id) do update
    set forgiven = excluded.forgiven, worker_deaths = 0, dead_at = null, cancel_asked_at = null
returning job_id;

-- name: dead_ids
-- Every dead job, oldest first, of one name or all.
select job.id from procrastinate_jobs as job
left join job_record as record on record.job_id = job.id
where job.status = 'failed' and record.dropped_at is null
  and (%(name)s::text is null or job.task_name = %(name)s)
order by job.id;

-- name: drop_dead
-- Lays a dead job aside with the reason; it stays readable until finished jobs are removed.
insert into job_record (job_id, name, dropped_at, drop_note)
select id, task_name, %(now)s, %(note)s from procrastinate_jobs where id = %(job)s and status = 'failed'
on conflict (job_id) do update
    set dropped_at = excluded.dropped_at, drop_note = excluded.drop_note
    where job_record.dropped_at is null
returning job_id, name, error, error_text, (select args from procrastinate_jobs where id = job_id) as args;

-- name: take_stalled
-- Running jobs whose worker is gone or has been silent for too long; others that look at them are passed by.
select job.id, job.task_name as name, job.args
from procrastinate_jobs as job
left join procrastinate_workers as worker on worker.id = job.worker_id
where job.status = 'doing'
  and (worker.id is null or worker.last_heartbeat < now() - make_interval(secs => %(silent_s)s))
order by job.id
limit %(limit)s
for update of job skip locked;

-- name: count_stalled
-- How many jobs wait for their dead worker to be noticed, and since when the oldest worker is silent.
select count(*) as jobs, min(worker.last_heartbeat) as since
from procrastinate_jobs as job
left join procrastinate_workers as worker on worker.id = job.worker_id
where job.status = 'doing'
  and (worker.id is null or worker.last_heartbeat < now() - make_interval(secs => %(silent_s)s));

-- name: record_death
-- Counts that a worker died over this job.
insert into job_record (job_id, name, worker_deaths, error, error_text, first_failed_at, last_failed_at)
values (%(job)s, %(name)s, 1, 'worker_died', %(error_text)s, %(now)s, %(now)s)
on conflict (job_id) do update
    set worker_deaths = job_record.worker_deaths + 1, error = excluded.error,
        error_text = excluded.error_text, last_failed_at = excluded.last_failed_at,
        first_failed_at = coalesce(job_record.first_failed_at, excluded.first_failed_at)
returning worker_deaths;

-- name: return_job
-- Puts a job of a dead worker back into its queue.
update procrastinate_jobs
set status = 'todo', attempts = attempts + 1, scheduled_at = null, queueing_lock = null, worker_id = null
where id = %(job)s and status = 'doing';

-- name: park_job
-- Gives a job of a dead worker up.
update procrastinate_jobs set status = 'failed', attempts = attempts + 1, worker_id = null
where id = %(job)s and status = 'doing';

-- name: see_periodic
-- Notes the cron line in force. A changed line counts from the last tick that saw the old one, so neither an
-- old moment of the new line is made up nor a due one lost. The row lock lets workers take turns.
insert into periodic (name, line, since, checked_at) values (%(name)s, %(line)s, %(now)s, %(now)s)
on conflict (name) do update
    set since = case when periodic.line = excluded.line then periodic.since else periodic.checked_at end,
        line = excluded.line,
        checked_at = greatest(periodic.checked_at, excluded.checked_at)
returning greatest(since, last_due_at) as after;

-- name: claim_run
-- The one row that makes a due run happen once in the whole cluster.
insert into periodic_run (name, due_at) values (%(name)s, %(due_at)s)
on conflict do nothing
returning due_at;

-- name: note_run
-- Joins a due run with its job.
with run as (update periodic_run set job_id = %(job)s where name = %(name)s and due_at = %(due_at)s)
update periodic set last_due_at = %(due_at)s, last_job_id = %(job)s where name = %(name)s;

-- name: note_run_by_hand
-- The last run of a periodic job was started by hand.
update periodic set last_job_id = %(job)s where name = %(name)s;

-- name: note_result
-- How the last run of a periodic job ended.
update periodic set result = %(result)s, result_at = %(now)s where name = %(name)s;

-- name: periodic_rows
-- What is known of every periodic job.
select name, last_due_at, last_job_id, result, result_at from periodic;

-- name: backlog
-- How much waits, counted no further than asked, and for how long the oldest due job of a queue has waited.
select (select count(*) from (
            select from procrastinate_jobs where status = 'todo' limit %(limit)s) as waiting) as waiting,
       coalesce((select extract(epoch from now() - min(event.at))
                 from procrastinate_jobs as job
                 join procrastinate_events as event on event.job_id = job.id and event.type = 'deferred'
                 where job.status = 'todo' and job.queue_name = %(queue)s
                   and (job.scheduled_at is null or job.scheduled_at <= now())), 0)::float8 as oldest_s;

-- name: waiting_by_queue
-- How many jobs wait in each queue.
select queue_name as queue, count(*) as waiting from procrastinate_jobs where status = 'todo' group by queue_name;

-- name: due_jobs
-- Whether anything could run now: it is due, and no other job of its lock runs or comes first.
select exists (select from procrastinate_jobs as job
               where job.status = 'todo' and (job.scheduled_at is null or job.scheduled_at <= now())
                 and not exists (select from procrastinate_jobs as other
                                 where other.lock = job.lock
                                   and (other.status = 'doing'
                                        or other.status = 'todo' and other.id < job.id))) as due;

-- name: prune_done
-- Removes one batch of jobs that ended before a moment, with what we kept about them. Dead ones stay.
with old as (
    select job.id from procrastinate_jobs as job
    left join job_record as record on record.job_id = job.id
    where (job.status in ('succeeded', 'cancelled', 'aborted') or record.dropped_at is not null)
      and not exists (select from procrastinate_events
                      where job_id = job.id and type <> 'scheduled' and at >= %(before)s)
    order by job.id
    limit %(limit)s
), forgotten as (
    delete from job_record using old where job_record.job_id = old.id
)
delete from procrastinate_jobs using old where procrastinate_jobs.id = old.id;

-- name: prune_runs
-- Removes the marks of due runs that no tick can meet again.
delete from periodic_run where due_at < %(before)s;

-- name: listen_learn
-- Begins to hear of new jobs in this queue.
listen "procrastinate_queue_v1#learn";

-- name: listen_judge
-- Begins to hear of new jobs in this queue.
listen "procrastinate_queue_v1#judge";

-- name: listen_index
-- Begins to hear of new jobs in this queue.
listen "procrastinate_queue_v1#index";

-- name: listen_sleep
-- Begins to hear of new jobs in this queue.
listen "procrastinate_queue_v1#sleep";

-- name: listen_send
-- Begins to hear of new jobs in this queue.
listen "procrastinate_queue_v1#send";
