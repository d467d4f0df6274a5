-- name: try_lock_mind
-- Lets one process think for an agent; the lock ends with its connection.
select pg_try_advisory_lock(hashtextextended('festinger mind ' || %(space)s::text || '/' || %(agent)s::text, 0)) as locked;

-- name: count_memories
-- Active memories that an agent sees, at most so many: beyond that it makes no difference.
select count(*) from (
    select 1 from memory m
    where m.space_id = %(space)s and m.status = 'active' and (m.agent_id is null or m.agent_id = %(agent)s)
    limit %(limit)s
) as m;

-- name: last_cycle
-- The number of the last cycle of an agent; none before the first.
select max(n) from agent_cycle where space_id = %(space)s and agent_id = %(agent)s;

-- name: put_cycle
-- Records a cycle.
insert into agent_cycle (space_id, id, agent_id, session_id, n, at, source, candidates, winner, reason, injected, tokens,
    corrections, confidence, retried, triggers, escalated, action, seed, degraded)
values (%(space_id)s, %(id)s, %(agent_id)s, %(session_id)s, %(n)s, %(at)s, %(source)s, %(candidates)s::jsonb, %(winner)s,
    %(reason)s, %(injected)s, %(tokens)s, %(corrections)s, %(confidence)s, %(retried)s, %(triggers)s, %(escalated)s,
    %(action)s, %(seed)s, %(degraded)s)
on conflict do nothing;

-- name: cycles
-- The last cycles of an agent, newest first.
select * from agent_cycle
where space_id = %(space)s and agent_id = %(agent)s and (%(before)s::integer is null or n < %(before)s)
order by n desc limit %(limit)s;
