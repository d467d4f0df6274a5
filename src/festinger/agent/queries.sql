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
    corrections, goals, confidence, retried, triggers, escalated, action, seed, degraded)
values (%(space_id)s, %(id)s, %(agent_id)s, %(session_id)s, %(n)s, %(at)s, %(source)s, %(candidates)s::jsonb, %(winner)s,
    %(reason)s, %(injected)s, %(tokens)s, %(corrections)s, %(goals)s, %(confidence)s, %(retried)s, %(triggers)s,
    %(escalated)s, %(action)s, %(seed)s, %(degraded)s)
on conflict do nothing;

-- name: cycles
-- The last cycles of an agent, newest first, each with what it attended to, as far as that is kept.
select c.*, t.content as message, t.episode_id from agent_cycle c
left join episode_turn t on t.space_id = c.space_id and t.turn_id = c.winner
where c.space_id = %(space)s and c.agent_id = %(agent)s and (%(before)s::integer is null or c.n < %(before)s)
order by c.n desc limit %(limit)s;

-- name: open_goals
-- The open goals that an agent knows, newest first. Those of its own and the shared ones are asked for apart, and all by
-- the condition of the index of marked memories.
select m.* from (
    (select m.* from memory m where m.space_id = %(space)s and m.agent_id = %(agent)s and m.status = 'active'
        and (m.immutable or m.tags && array['goal', 'decision']) and 'goal' = any(m.tags) order by m.seq desc limit %(limit)s)
    union all
    (select m.* from memory m where m.space_id = %(space)s and m.agent_id is null and m.status = 'active'
        and (m.immutable or m.tags && array['goal', 'decision']) and 'goal' = any(m.tags)
        order by m.agent_id desc, m.seq desc limit %(limit)s)
) as m order by m.seq desc limit %(limit)s;

-- name: settled_goals
-- Goals that were reached or dropped, the last first.
select m.* from memory m
where m.space_id = %(space)s and m.status = 'archived' and m.tags && array['goal']
  and (m.agent_id is null or m.agent_id = %(agent)s)
order by m.updated_at desc limit %(limit)s;

-- name: vectors_of
-- The vectors of some memories, by one model.
select v.memory_id, v.embedding from memory_vector v
where v.space_id = %(space)s and v.memory_id = any(%(memories)s) and v.model = %(model)s and v.purpose = 'store';
