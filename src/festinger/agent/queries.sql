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
    corrections, goals, tools, confidence, retried, triggers, escalated, action, seed, degraded)
values (%(space_id)s, %(id)s, %(agent_id)s, %(session_id)s, %(n)s, %(at)s, %(source)s, %(candidates)s::jsonb, %(winner)s,
    %(reason)s, %(injected)s, %(tokens)s, %(corrections)s, %(goals)s, %(tools)s, %(confidence)s, %(retried)s, %(triggers)s,
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

-- name: put_reminder
-- Keeps a reminder; the same one again changes nothing.
insert into reminder (space_id, id, agent_id, text, origin, due_at, created_at)
values (%(space)s, %(id)s, %(agent)s, %(text)s, %(origin)s, %(due)s, %(now)s)
on conflict (space_id, agent_id, due_at, text) where told_at is null do update set text = excluded.text
returning *;

-- name: waiting_reminders
-- The reminders of an agent that were not told yet, the next first.
select r.* from reminder r
where r.space_id = %(space)s and r.agent_id = %(agent)s and r.told_at is null
order by r.due_at limit 100;

-- name: tell_reminder
-- A reminder was told.
update reminder r set told_at = %(now)s where r.space_id = %(space)s and r.id = %(id)s;

-- name: cancel_reminder
-- Forgets a reminder that was not told yet.
delete from reminder r where r.space_id = %(space)s and r.agent_id = %(agent)s and r.id = %(id)s and r.told_at is null;

-- name: milestones
-- When an agent reached each milestone that rows can show. A weight is dated by the change or the outcome that moved it.
with heavy as (
    select m.id from memory m
    where m.space_id = %(space)s and (m.agent_id is null or m.agent_id = %(agent)s) and m.status = 'active'
      and not m.immutable and m.weight_alpha / (m.weight_alpha + m.weight_beta) >= %(goal_like)s
), moved as (
    select o.at, o.center_after as center from heavy h
    join outcome o on o.space_id = %(space)s and o.memory_id = h.id and o.counted
    union all
    select c.at, w.weight_alpha / (w.weight_alpha + w.weight_beta) from heavy h
    join memory_change c on c.space_id = %(space)s and c.memory_ids @> array[h.id] and c.undone_at is null
    cross join lateral jsonb_to_record(c.after -> 'memories' -> h.id::text) as w (weight_alpha float8, weight_beta float8)
)
select
    least((select m.created_at from memory m where m.space_id = %(space)s and m.agent_id = %(agent)s order by m.seq limit 1),
        (select m.created_at from memory m where m.space_id = %(space)s and m.agent_id is null order by m.seq limit 1))
        as memory,
    (select o.at from outcome o where o.space_id = %(space)s and o.agent_id = %(agent)s and o.counted
        and o.outcome in ('acted', 'used') order by o.at, o.id limit 1) as retrieval,
    (select i.at from night_item i join night n on n.space_id = i.space_id and n.id = i.night_id
        where i.space_id = %(space)s and n.agent_id in ('', %(agent)s) and i.undone_at is null
        order by i.at limit 1) as consolidation,
    (select min(v.at) from moved v where v.center >= %(goal_like)s) as goal_weight,
    (select min(v.at) from moved v where v.center >= %(identity_like)s) as identity_weight,
    least((select c.at from memory_change c where c.space_id = %(space)s and c.op = 'supersede' and c.undone_at is null
            and exists (select 1 from memory m where m.space_id = %(space)s and m.id = any(c.memory_ids)
                and (m.agent_id is null or m.agent_id = %(agent)s)) order by c.at limit 1),
        (select min(r.resolved_at) from resolution_queue r where r.space_id = %(space)s)) as conflict,
    (select min((m.metadata -> 'settled' ->> 'at')::timestamptz) from memory m
        where m.space_id = %(space)s and m.status = 'archived' and m.tags && array['goal']
          and (m.agent_id is null or m.agent_id = %(agent)s) and m.metadata -> 'settled' ->> 'state' = 'achieved') as goal;

-- name: knows_source
-- Whether anything was learned from a source, whatever became of it.
select exists (select 1 from memory m where m.space_id = %(space)s and m.source = %(source)s) as known;
