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

-- name: corrections_among
-- Lessons from mistakes among some memories, in their words.
select m.id, m.content from memory m
where m.space_id = %(space)s and m.id = any(%(memories)s::uuid[]) and m.kind = 'correction';

-- name: last_cycle
-- The last cycle of an agent with what it attended to; none before the first.
select c.n, c.tools, c.source, c.session_id, c.winner, t.content as message,
    exists (select 1 from thought o where o.space_id = c.space_id and o.id = c.winner and o.told_at is not null) as was_told
from agent_cycle c
left join episode_turn t on t.space_id = c.space_id and t.turn_id = c.winner
where c.space_id = %(space)s and c.agent_id = %(agent)s order by c.n desc limit 1;

-- name: gut_distances
-- How far attention was from what usually matters in the last talks of an agent, newest first.
select c.gut from agent_cycle c
where c.space_id = %(space)s and c.agent_id = %(agent)s and c.source = 'user' and c.gut is not null
order by c.n desc limit %(limit)s;

-- name: put_cycle
-- Records a cycle.
insert into agent_cycle (space_id, id, agent_id, session_id, n, at, source, candidates, winner, reason, injected, tokens,
    corrections, goals, tools, confidence, retried, triggers, escalated, action, seed, degraded, gut)
values (%(space_id)s, %(id)s, %(agent_id)s, %(session_id)s, %(n)s, %(at)s, %(source)s, %(candidates)s::jsonb, %(winner)s,
    %(reason)s, %(injected)s, %(tokens)s, %(corrections)s, %(goals)s, %(tools)s, %(confidence)s, %(retried)s, %(triggers)s,
    %(escalated)s, %(action)s, %(seed)s, %(degraded)s, %(gut)s)
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

-- name: goal_to_reflect_on
-- The goal that was reached last since some time and that nothing was thought about since.
select m.id, m.content, m.kind, m.weight_alpha, m.weight_beta, m.updated_at as touched, null as embedding from memory m
where m.space_id = %(space)s and m.status = 'archived' and m.tags && array['goal']
  and (m.agent_id is null or m.agent_id = %(agent)s) and m.updated_at > %(since)s
  and m.metadata -> 'settled' ->> 'state' = 'achieved'
  and not exists (select 1 from thought t where t.space_id = m.space_id and t.agent_id = %(agent)s and t.memory_id = m.id
        and t.at >= (m.metadata -> 'settled' ->> 'at')::timestamptz)
order by m.updated_at desc limit 1;

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
), mark as (
    select c.n, c.at, c.winner, k.mark from agent_cycle c cross join unnest(c.tools) as k (mark)
    where c.space_id = %(space)s and c.agent_id = %(agent)s and k.mark like '%% %%'
), deed as (
    select k.at, t.channel from mark k
    join thought t on t.space_id = %(space)s and t.id = k.winner where k.mark like 'own %%'
    union all
    select k.at, t.channel from mark k
    join mark q on q.mark = concat('asked ', substr(k.mark, length('agreed ') + 1)) and q.n < k.n
    join thought t on t.space_id = %(space)s and t.id = q.winner where k.mark like 'agreed %%'
    union all
    select k.at, t.channel from mark k
    join thought t on t.space_id = %(space)s and k.mark = concat('agreed thought ', t.id) where t.channel = 'goal'
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
    (select min(d.at) from deed d where d.channel = 'goal') as self_prompt,
    (select min(d.at) from deed d where d.channel = 'value') as values,
    (select min(i.at) from night_item i join night n on n.space_id = i.space_id and n.id = i.night_id
        where i.space_id = %(space)s and n.agent_id in ('', %(agent)s) and i.undone_at is null
          and i.unit_key like 'connection:%%') as association,
    least((select c.at from memory_change c where c.space_id = %(space)s and c.op = 'supersede' and c.undone_at is null
            and exists (select 1 from memory m where m.space_id = %(space)s and m.id = any(c.memory_ids)
                and (m.agent_id is null or m.agent_id = %(agent)s)) order by c.at limit 1),
        (select min(r.resolved_at) from resolution_queue r where r.space_id = %(space)s)) as conflict,
    (select min(t.at) from memory m
        join thought t on t.space_id = m.space_id and t.memory_id = m.id and t.agent_id = %(agent)s and t.has_words
          and t.at >= (m.metadata -> 'settled' ->> 'at')::timestamptz
        where m.space_id = %(space)s and m.status = 'archived' and m.tags && array['goal']
          and m.metadata -> 'settled' ->> 'state' = 'achieved') as goal;

-- name: verified_milestones
-- What a person verified of an agent's life.
select v.name, v.verified_at, v.verified_by from milestone v where v.space_id = %(space)s and v.agent_id = %(agent)s;

-- name: verify_milestone
-- A person takes a milestone for reached.
insert into milestone (space_id, agent_id, name, verified_at, verified_by)
values (%(space)s, %(agent)s, %(name)s, %(now)s, %(by)s) on conflict do nothing;

-- name: doubt_milestone
-- A person takes back that a milestone was reached.
delete from milestone v where v.space_id = %(space)s and v.agent_id = %(agent)s and v.name = %(name)s;

-- name: knows_source
-- Whether anything was learned from a source, whatever became of it.
select exists (select 1 from memory m where m.space_id = %(space)s and m.source = %(source)s) as known;

-- name: idle_history
-- When somebody talked with an agent last, and when and how often it thought since and in the last hour.
with words as (
    select max(e.last_at) as last_word from (
        select e.last_at from episode e where e.space_id = %(space)s and e.agent_id = %(agent)s
          and e.session_id not like %(thoughts)s order by e.seq desc limit 50
    ) as e
)
select w.last_word, max(t.at) as last_thought, count(t.id) filter (where t.at > %(since)s) as in_hour,
    count(t.id) filter (where t.at > w.last_word) as alone
from words w
left join thought t on t.space_id = %(space)s and t.agent_id = %(agent)s and t.at > least(w.last_word, %(since)s)
group by w.last_word;

-- name: idle_pool
-- Memories of an agent at random places of its life, its own and the shared ones, with their vectors.
with ends as (
    select min(m.low) as low, max(m.high) as high from (
        (select m.seq as low, null::bigint as high from memory m where m.space_id = %(space)s and m.agent_id = %(agent)s
            order by m.seq limit 1)
        union all
        (select null, m.seq from memory m where m.space_id = %(space)s and m.agent_id = %(agent)s order by m.seq desc limit 1)
        union all
        (select m.seq, null from memory m where m.space_id = %(space)s and m.agent_id is null
            order by m.agent_id, m.seq limit 1)
        union all
        (select null, m.seq from memory m where m.space_id = %(space)s and m.agent_id is null
            order by m.agent_id desc, m.seq desc limit 1)
    ) as m
), drawn as (
    select distinct m.id from ends, unnest(%(places)s::double precision[]) as p (place)
    cross join lateral (
        (select m.id, m.seq from memory m where m.space_id = %(space)s and m.agent_id = %(agent)s and m.status = 'active'
            and m.seq > ends.low - 1 + p.place * (ends.high - ends.low + 1) order by m.seq limit 1)
        union all
        (select m.id, m.seq from memory m where m.space_id = %(space)s and m.agent_id is null and m.status = 'active'
            and m.seq > ends.low - 1 + p.place * (ends.high - ends.low + 1) order by m.agent_id, m.seq limit 1)
    ) as m
)
select m.id, m.content, m.kind, m.weight_alpha, m.weight_beta,
    greatest(m.created_at, m.last_accessed, m.last_confirmed) as touched, v.embedding
from drawn d
join memory m on m.space_id = %(space)s and m.id = d.id
left join memory_vector v on v.space_id = m.space_id and v.memory_id = m.id and v.model = %(model)s and v.purpose = 'store'
where not m.immutable and m.kind <> 'correction'
order by m.id;

-- name: reached
-- The memory that one leads to most strongly within two hops, by what came to mind together, as far as an agent sees it.
with near as (
    select c.memory_id_b as id, c.co_access_count + c.temporal_count as strength from memory_co_access c
    where c.space_id = %(space)s and c.memory_id_a = %(memory)s
    union all
    select c.memory_id_a, c.co_access_count + c.temporal_count from memory_co_access c
    where c.space_id = %(space)s and c.memory_id_b = %(memory)s
), linked as (
    select n.id, least(1.0, n.strength / %(full)s::double precision) as strength from near n
    union all
    select p.id, %(damping)s * least(1.0, n.strength / %(full)s::double precision) * least(1.0, p.strength / %(full)s::double precision)
    from near n
    cross join lateral (
        select c.memory_id_b as id, c.co_access_count + c.temporal_count as strength from memory_co_access c
        where c.space_id = %(space)s and c.memory_id_a = n.id
        union all
        select c.memory_id_a, c.co_access_count + c.temporal_count from memory_co_access c
        where c.space_id = %(space)s and c.memory_id_b = n.id
    ) as p
)
select m.id, m.content, m.kind, m.weight_alpha, m.weight_beta,
    greatest(m.created_at, m.last_accessed, m.last_confirmed) as touched, null as embedding
from linked b
join memory m on m.space_id = %(space)s and m.id = b.id and m.id <> %(memory)s and m.status = 'active'
  and (m.agent_id is null or m.agent_id = %(agent)s)
order by b.strength desc, m.id limit 1;

-- name: last_picks
-- The memories that an agent came upon last, newest first, with their vectors, as far as they are kept.
select t.loser_id, v.embedding from thought t
left join memory_vector v on v.space_id = %(space)s and v.memory_id = t.memory_id and v.model = %(model)s
    and v.purpose = 'store'
where t.space_id = %(space)s and t.agent_id = %(agent)s
order by t.at desc limit %(limit)s;

-- name: put_thought
-- Records a thought.
insert into thought (space_id, id, agent_id, at, channel, memory_id, other_id, loser_id, has_words)
values (%(space)s, %(id)s, %(agent)s, %(at)s, %(channel)s, %(memory)s, %(other)s, %(loser)s, %(has_words)s)
on conflict do nothing;

-- name: thoughts
-- The last thoughts of an agent in words, newest first; all, or those since a person was told one.
select t.id, t.at, t.channel, t.told_at, u.content from thought t
join episode_turn u on u.space_id = t.space_id and u.turn_id = t.id
where t.space_id = %(space)s and t.agent_id = %(agent)s and t.has_words and u.content <> ''
  and (not %(untold)s or t.at > coalesce((select max(o.told_at) from thought o where o.space_id = %(space)s
        and o.agent_id = %(agent)s), '-infinity'))
order by t.at desc limit %(limit)s;

-- name: asked_in_thought
-- Calls that the cycle of a thought asked about.
select c.tools from agent_cycle c where c.space_id = %(space)s and c.agent_id = %(agent)s and c.winner = %(id)s
order by c.n desc limit 1;

-- name: mark_told
-- A person was told a thought.
update thought t set told_at = %(now)s where t.space_id = %(space)s and t.id = %(id)s;

-- name: agents
-- The agents of a space that thought or remind of something.
select c.agent_id from agent_cycle c where c.space_id = %(space)s
union
select r.agent_id from reminder r where r.space_id = %(space)s and r.told_at is null;
