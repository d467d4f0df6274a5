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

-- name: begin_night
-- Makes a night; nothing if one of the same memories waits or runs.
insert into night (space_id, id, agent_id, trigger, state, dry_run, only_step, started_at)
values (%(space)s, %(id)s, %(agent)s, %(trigger)s, 'waiting', %(dry_run)s, %(only_step)s, %(at)s)
on conflict (space_id, agent_id) where state in ('waiting', 'running') do nothing
returning id;

-- name: end_lost_nights
-- Ends a night that was given up, and those that nobody has ended for long.
update night set state = 'failed', finished_at = %(at)s, error = 'It was not ended.'
where space_id = %(space)s and state in ('waiting', 'running')
  and (id = %(id)s::uuid or started_at < %(at)s::timestamptz - interval '6 hours');

-- name: try_lock_night
-- Tries for the lock of a night that runs, which ends with its process.
select pg_try_advisory_lock(hashtextextended('festinger night ' || %(space)s::text || ' ' || %(id)s::uuid, 0)) as locked;

-- name: killed_night
-- A night that was begun in the same way and that no process runs any more.
select n.id from night n
where n.space_id = %(space)s and n.agent_id = %(agent)s and n.state = 'running' and n.dry_run = %(dry_run)s
  and n.only_step = %(only_step)s
  and pg_try_advisory_xact_lock(hashtextextended('festinger night ' || n.space_id || ' ' || n.id, 0));

-- name: mark_night_running
-- Notes that a night began to work; nothing if it is over.
update night set state = 'running' where space_id = %(space)s and id = %(id)s and state in ('waiting', 'running')
returning id;

-- name: enter_step
-- Notes which step a night is at.
update night set step = %(step)s where space_id = %(space)s and id = %(id)s;

-- name: keep_night
-- Keeps what a night came to so far, so that one that is killed goes on from there.
update night set counts = %(counts)s::jsonb, survey = %(survey)s::jsonb, left_over = %(left_over)s::jsonb,
    model_calls = %(model_calls)s, cost_usd = %(cost_usd)s
where space_id = %(space)s and id = %(id)s;

-- name: finish_night
-- Notes that a night is over.
update night set state = %(state)s, preview = %(preview)s::jsonb, finished_at = %(at)s, error = %(error)s
where space_id = %(space)s and id = %(id)s;

-- name: find_night
-- One night.
select n.* from night n where n.space_id = %(space)s and n.id = %(id)s;

-- name: nights
-- Nights, the newest first.
select n.* from night n
where n.space_id = %(space)s and (%(before)s::uuid is null or (n.started_at, n.id) < (
    select b.started_at, b.id from night b where b.space_id = %(space)s and b.id = %(before)s))
order by n.started_at desc, n.id desc
limit %(limit)s;

-- name: items_of
-- What a night made or moved, in order.
select i.id as change, i.kind, i.memory_id as memory, i.unit_key, i.change_id is not null as has_change,
    i.undone_at is not null as is_undone
from night_item i where i.space_id = %(space)s and i.night_id = %(night)s order by i.place;

-- name: changes_by_id
-- Some changes of memories.
select c.* from memory_change c where c.space_id = %(space)s and c.id = any(%(ids)s);

-- name: safety_events_of
-- What the ceilings of a night stopped.
select e.* from safety_event e where e.space_id = %(space)s and e.night_id = %(night)s order by e.at, e.id;

-- name: put_safety_event
-- Notes what a ceiling stopped.
insert into safety_event (space_id, id, at, ceiling, enforced, memory_id, wanted, allowed, reason, night_id)
values (%(space)s, %(id)s, %(at)s, %(ceiling)s, %(enforced)s, %(memory)s, %(wanted)s, %(allowed)s, %(reason)s,
    %(night)s);

-- name: due_agents
-- Whose memories have something new since their last night, which is not of the last ten minutes.
with owner as (
    select distinct coalesce(m.agent_id, '') as agent_id from memory m
    where m.space_id = %(space)s and m.status = 'active'
), last as (
    select n.agent_id, max(n.finished_at) as at, bool_or(n.state = 'waiting' and n.started_at > %(at)s::timestamptz - interval '6 hours') as is_waiting
    from night n where n.space_id = %(space)s and not n.dry_run
    group by n.agent_id
)
select o.agent_id from owner o left join last l on l.agent_id = o.agent_id
where not coalesce(l.is_waiting, false) and (l.at is null or l.at <= %(at)s::timestamptz - interval '10 minutes')
  and exists (
      select from memory m where m.space_id = %(space)s and coalesce(m.agent_id, '') = o.agent_id
        and (l.at is null or m.updated_at > l.at))
  and (%(importance)s::double precision is null or %(importance)s <= (
      select coalesce(sum(5 * m.trust), 0) from memory m
      where m.space_id = %(space)s and coalesce(m.agent_id, '') = o.agent_id
        and (l.at is null or m.created_at > l.at)))
order by o.agent_id;

-- name: last_left_over
-- The gains that the last night of these memories left for the next.
select last.id, e as change from (
    select n.id, n.left_over from night n
    where n.space_id = %(space)s and n.agent_id = %(agent)s and n.state = 'done' and not n.dry_run
      and n.id <> %(night)s
    order by n.started_at desc, n.id desc limit 1
) as last
cross join jsonb_array_elements(last.left_over) as e;

-- name: find_unit
-- A unit of work, if it was begun.
select u.plan, u.is_done from night_unit u where u.space_id = %(space)s and u.key = %(key)s;

-- name: write_unit
-- Keeps what a unit will do, or that it is done, when its plan is not needed any more.
insert into night_unit (space_id, key, night_id, step, plan, is_done, at)
values (%(space)s, %(key)s, %(night)s, %(step)s, %(plan)s::jsonb, %(is_done)s, %(at)s)
on conflict (space_id, key) do update set is_done = excluded.is_done, plan = excluded.plan;

-- name: put_item
-- Lists what a night made or moved.
insert into night_item (space_id, id, night_id, unit_key, step, kind, memory_id, change_id, place, at)
select %(space)s, %(id)s, %(night)s, %(key)s, %(step)s, %(kind)s, %(memory)s, %(change)s,
    coalesce(max(i.place), 0) + 1, %(at)s
from night_item i where i.space_id = %(space)s and i.night_id = %(night)s;

-- name: mark_items_undone
-- Notes that items were taken back.
update night_item set undone_at = %(at)s, undone_by = %(by)s
where space_id = %(space)s and id = any(%(ids)s) and undone_at is null;

-- name: sightings_by_id
-- Some sightings.
select s.id, s.agent_id, s.session_id, s.at from memory_sighting s
where s.space_id = %(space)s and s.id = any(%(ids)s) order by s.at, s.id;

-- part: own
-- What stands of an owner.
m.space_id = %(space)s and m.agent_id is not distinct from %(agent)s::text and m.status = 'active'

-- part: disputed
-- Whether a memory has an open conflict.
exists (
    select from resolution_queue q
    where q.space_id = m.space_id and q.about = 'memory' and q.status = 'pending' and m.id in (q.old_memory, q.new_memory)
)

-- name: survey
-- The numbers of what an owner holds.
select count(*) as active, count(*) filter (where m.kind in ('insight', 'narrative', 'tension')) as derived,
    count(*) filter (where m.kind = 'tension' and m.metadata ->> 'status' is distinct from 'acknowledged') as tensions,
    (select count(distinct u.night_id) from night_unit u join night n on n.space_id = u.space_id and n.id = u.night_id
     where u.space_id = %(space)s and u.step = 'promote' and n.agent_id = coalesce(%(agent)s::text, '')
       and n.state = 'done') as promoting_nights,
    count(*) filter (where m.weight_alpha > 200 or m.weight_beta > 200) as heavy,
    count(*) filter (where m.weight_alpha > 5 and m.weight_beta > 5) as contested,
    count(*) filter (where m.weight_alpha < 2 and m.weight_beta < 2) as uninformed,
    count(*) filter (where m.weight_alpha / (m.weight_alpha + m.weight_beta) >= 0.95) as at_ceiling,
    array(select count(o.id) from generate_series(1, 20) as bin
          left join memory o on o.space_id = %(space)s and o.agent_id is not distinct from %(agent)s::text
              and o.status = 'active'
              and width_bucket(o.weight_alpha / (o.weight_alpha + o.weight_beta), 0, 1, 20) = bin
          group by bin order by bin) as bins
from memory m
where
-- use: own
;

-- name: recent
-- What was learned last of an owner.
select m.* from memory m
where m.kind = any(%(kinds)s) and m.source_tag <> all(%(thoughts)s) and
-- use: own
order by m.seq desc
limit %(limit)s;

-- part: named
-- Memories by subject and by tag.
select m.id, 'subject ' || m.subject_key as name from memory m
where m.subject_key is not null and m.kind not in ('insight', 'narrative', 'tension')
  and m.source_tag not in ('internal_dmn', 'internal_gut')
  and m.space_id = %(space)s and m.agent_id is not distinct from %(agent)s::text and m.status = 'active'
union
select m.id, 'tag ' || t from memory m cross join unnest(m.tags) as t
where m.kind not in ('insight', 'narrative', 'tension') and m.source_tag not in ('internal_dmn', 'internal_gut')
  and m.space_id = %(space)s and m.agent_id is not distinct from %(agent)s::text and m.status = 'active'

-- part: grouped
-- Groups of at least three memories that at least two causes said.
select n.name, (array_agg(distinct n.id order by n.id desc))[1:20] as members,
    count(distinct (s.agent_id, s.session_id, s.day, s.origin)) as causes
from named n
join memory_sighting s on s.space_id = %(space)s and s.memory_id = n.id and s.counted and s.origin <> 'job'
group by n.name
having count(distinct n.id) >= 3 and count(distinct (s.agent_id, s.session_id, s.day, s.origin)) >= 2

-- part: done
-- The units that are done, by key.
select u.key from night_unit u where u.space_id = %(space)s and u.is_done

-- name: groups
-- The groups of an owner; with a share, those that nobody was asked about and of which no insight covers so much, nor one
-- that a person took back.
with named as (
    -- use: named
), grouped as (
    -- use: grouped
), keyed as (
    select g.*, 'group:' || (
        select md5(string_agg(concat(m.id, m.fold), ',' order by m.id)) from memory m
        where m.space_id = %(space)s and m.id = any(g.members)) as key
    from grouped g
)
select g.members, g.causes, g.key from keyed g
where %(covered)s::double precision is null or g.key <> all(%(asked)s::text[]) and g.key not in (
    -- use: done
) and not exists (
    select from memory d
    join memory_link l on l.space_id = d.space_id and l.from_id = d.id and l.relation = 'derives_from'
        and l.undone_at is null and l.to_id = any(g.members)
    where d.space_id = %(space)s and d.kind = 'insight' and (d.status = 'active' or exists (
        select from night_item i where i.space_id = %(space)s and i.memory_id = d.id and i.kind = 'learned'
          and i.undone_at is not null))
    group by d.id having count(*) >= %(covered)s * cardinality(g.members))
order by g.causes desc, g.name
limit %(limit)s;

-- name: taken_back
-- Insights that somebody took back and that said this, or rested on the same sources.
select m.id from memory m join night_item i on i.space_id = m.space_id and i.memory_id = m.id and i.kind = 'learned'
where m.space_id = %(space)s and m.agent_id is not distinct from %(agent)s::text and m.kind = 'insight'
  and m.status <> 'active' and i.undone_at is not null
  and (lower(m.content) = lower(%(text)s) or array(
      select l.to_id from memory_link l
      where l.space_id = m.space_id and l.from_id = m.id and l.relation = 'derives_from' order by l.to_id
  ) = array(select distinct c from unnest(%(cites)s::uuid[]) as c order by c));

-- name: insights_on
-- Insights that share at least two sources and a third of the fewer with some.
select m.id from memory m
join memory_link l on l.space_id = m.space_id and l.from_id = m.id and l.relation = 'derives_from' and l.undone_at is null
where m.kind = 'insight' and
-- use: own
group by m.id
having count(*) filter (where l.to_id = any(%(cites)s)) >= greatest(2, least(count(*), cardinality(%(cites)s)) / 3.0);

-- name: connections
-- Pairs of an owner's memories that an agent thought of together while it was idle, and that no night was asked about.
select concat('connection:', t.id) as key, array[t.memory_id, t.other_id] as members from thought t
join memory m on m.space_id = t.space_id and m.id = t.memory_id
join memory o on o.space_id = t.space_id and o.id = t.other_id and o.agent_id is not distinct from m.agent_id
where t.space_id = %(space)s and t.channel = 'connection' and t.has_words and concat('connection:', t.id) not in (
    -- use: done
  ) and
-- use: own
order by t.at desc
limit %(limit)s;

-- name: untold_insights
-- Insights on enough sources that no narrative tells, or one of which half the sources or more are not theirs any more.
select m.*, ground.sources, ground.key, told.id as told from memory m
cross join lateral (
    select array_agg(s.id order by s.id) as sources,
        concat('narrative:', m.id, ':', md5(concat(m.fold, string_agg(concat(s.id, s.fold), ',' order by s.id)))) as key
    from memory_link l
    join memory s on s.space_id = l.space_id and s.id = l.to_id and s.status = 'active'
    where l.space_id = m.space_id and l.from_id = m.id and l.relation = 'derives_from' and l.undone_at is null
) as ground
left join lateral (
    select n.id, (
        select count(*) from memory_link k where k.space_id = n.space_id and k.from_id = n.id
          and k.relation = 'derives_from' and k.undone_at is null and k.to_id = any(ground.sources)) as kept
    from memory_link a
    join memory n on n.space_id = a.space_id and n.id = a.from_id and n.kind = 'narrative' and n.status = 'active'
    where a.space_id = m.space_id and a.to_id = m.id and a.relation = 'about'
    order by n.seq desc limit 1
) as told on true
where m.kind = 'insight' and cardinality(ground.sources) >= %(fewest)s and ground.key not in (
    -- use: done
  )
  and (told.id is null or 2 * told.kept <= cardinality(ground.sources)) and
-- use: own
order by m.seq
limit %(limit)s;

-- name: values
-- What an owner values or aims at, the heaviest first, with the tension about it, what any tension about it cites, and
-- when a judge last compared these words of it with deeds.
select m.*, units.key,
    (select max(u.at) from night_unit u
     where u.space_id = m.space_id and u.key like units.key || ':%%' and u.is_done) as judged_at,
    (select t.id from memory_link a
     join memory t on t.space_id = a.space_id and t.id = a.from_id and t.kind = 'tension' and t.status = 'active'
     where a.space_id = m.space_id and a.to_id = m.id and a.relation = 'about' order by t.seq limit 1) as tension,
    array(select l.to_id from memory_link a
          join memory_link l on l.space_id = a.space_id and l.from_id = a.from_id and l.relation = 'derives_from'
          where a.space_id = m.space_id and a.to_id = m.id and a.relation = 'about') as cited
from memory m
cross join lateral (select concat_ws(':', 'tension', m.id, encode(m.fold, 'hex'), %(judge)s::text) as key) as units
where m.kind not in ('insight', 'narrative', 'tension')
  and (m.tags && array['value', 'goal'] or m.weight_alpha / (m.weight_alpha + m.weight_beta) > %(above)s) and
-- use: own
order by m.weight_alpha / (m.weight_alpha + m.weight_beta) desc, m.seq
limit %(limit)s;

-- name: open_tensions
-- Tensions, by how many causes they were shown, and the outcomes of what they are about since the last deed against it.
select m.*,
    (select count(distinct (r.agent_id, r.session_id, (r.at at time zone 'utc')::date)) from recall_hit h
     join recall r on r.space_id = h.space_id and r.id = h.recall_id
     where h.space_id = m.space_id and h.ref = m.id and h.shown) as shown,
    count(o.id) filter (where o.outcome = 'acted') as acted,
    count(o.id) filter (where o.outcome = 'contradicted') as against
from memory m
join memory_link a on a.space_id = m.space_id and a.from_id = m.id and a.relation = 'about'
left join outcome o on o.space_id = m.space_id and o.memory_id = a.to_id and o.counted and o.replaced_by is null
    and o.at > (select max(l.at) from memory_link l where l.space_id = m.space_id and l.from_id = m.id
                  and l.relation = 'derives_from' and l.undone_at is null)
where m.kind = 'tension' and
-- use: own
group by m.space_id, m.id
order by m.seq;

-- name: without_short_form
-- Long memories without a short form that nobody was asked for, the heaviest first.
select m.*, short.key from memory m
cross join lateral (select concat('short:', m.id, ':', encode(m.fold, 'hex')) as key) as short
where m.compressed is null and length(m.content) > %(longer)s and short.key not in (
    -- use: done
  ) and
-- use: own
order by m.weight_alpha / (m.weight_alpha + m.weight_beta) desc, m.seq
limit %(limit)s;

-- name: promotion_candidates
-- What many causes said and nothing disputes or is in tension with. What was derived is held by its sources, however many they are.
select m.* from memory m
where not m.immutable and m.kind not in ('insight', 'narrative', 'tension')
  and m.cause_count >= %(causes)s and m.source_tag not like 'internal%%'
  and not
  -- use: disputed
  and not exists (
      select from memory_link l join memory t on t.space_id = l.space_id and t.id = l.from_id
      where l.space_id = m.space_id and l.to_id = m.id and l.relation = 'derives_from' and l.undone_at is null
        and t.kind = 'tension' and t.status = 'active')
  and
-- use: own
order by m.cause_count desc, m.seq;

-- part: moved
-- The changes of weights that a night has made.
select c.* from memory_change c
where c.space_id = %(space)s and c.op = 'weight' and c.at >= %(since)s and c.by = %(by)s and c.undone_at is null

-- name: raised
-- The centers of an owner's other memories that are like goals, how many nights raised one since its last cause, how many
-- weights this night has changed, and the center that this one had before.
with moved as (
    -- use: moved
), before as (
    select (array_agg(c.was ->> 'weight_alpha' order by c.at, c.id) filter (where c.was ? 'weight_alpha'))[1] as alpha,
           (array_agg(c.was ->> 'weight_beta' order by c.at, c.id) filter (where c.was ? 'weight_beta'))[1] as beta
    from (select m.at, m.id, m.before -> 'memories' -> %(id)s::uuid::text as was from moved m) as c
)
select array(select m.weight_alpha / (m.weight_alpha + m.weight_beta) from memory m
             where m.weight_alpha / (m.weight_alpha + m.weight_beta) >= %(least)s and m.id <> %(id)s and
             -- use: own
    ) as goals,
    (select count(distinct i.night_id) from night_item i
     where i.space_id = %(space)s and i.memory_id = %(id)s and i.kind = 'reinforced' and i.undone_at is null
       and i.at > (select max(s.at) from memory_sighting s where s.space_id = %(space)s and s.memory_id = %(id)s
                     and s.counted and s.origin <> 'job')) as nights,
    (select count(*) from moved) as changes,
    (select w.alpha / (w.alpha + w.beta) from memory h cross join before b
     cross join lateral (select coalesce(b.alpha::double precision, h.weight_alpha) as alpha,
                                coalesce(b.beta::double precision, h.weight_beta) as beta) as w
     where h.space_id = %(space)s and h.id = %(id)s) as center;

-- name: spent_causes
-- The sightings that earlier promotions of a memory rest on.
select e as sighting from memory_change c
cross join jsonb_array_elements_text(c.after -> 'evidence') as e
where c.space_id = %(space)s and c.memory_ids @> array[%(memory)s::uuid] and c.op = 'weight' and c.undone_at is null
  and c.by like 'night:%%';

-- name: outcomes_of_memory
-- What counted of the outcomes of a memory, oldest first.
select o.outcome, o.w from outcome o
where o.space_id = %(space)s and o.memory_id = %(memory)s and o.counted and o.replaced_by is null
order by o.at, o.id;

-- part: about_gone
-- Whether a tension or a narrative is about something that does not stand any more.
exists (
    select from memory_link a left join memory v on v.space_id = a.space_id and v.id = a.to_id
    where a.space_id = d.space_id and a.from_id = d.id and a.relation = 'about' and v.status is distinct from 'active'
)

-- name: derived_about_gone
-- Tensions and narratives about what does not stand any more.
select d.* from memory d
where d.space_id = %(space)s and d.agent_id is not distinct from %(agent)s::text and d.status = 'active' and
-- use: about_gone
order by d.seq;

-- name: stale_derived
-- Derived memories that lost ground: a source does not stand, was edited since, or is disputed, as they may be.
select d.* from memory d
where d.space_id = %(space)s and d.agent_id is not distinct from %(agent)s::text and d.status = 'active'
  and d.kind in ('insight', 'narrative', 'tension') and not
  -- use: about_gone
  and exists (
    select from memory_link l
    join memory m on m.space_id = l.space_id and m.id in (l.to_id, d.id)
    where l.space_id = d.space_id and l.from_id = d.id and l.relation = 'derives_from' and l.undone_at is null
      and (m.status <> 'active'
        or exists (select from memory_change c where c.space_id = m.space_id and c.memory_ids @> array[m.id]
            and c.op = 'edit' and c.undone_at is null and c.at > l.at)
        or
        -- use: disputed
    ))
order by d.seq
limit %(limit)s;

-- name: ground_of
-- The sources of a memory and what replaced them, and whether each is disputed.
select distinct m.*,
    -- use: disputed
    as is_disputed
from memory_link l
join memory s on s.space_id = l.space_id and s.id = l.to_id
join memory m on m.space_id = l.space_id and m.id in (s.id, s.superseded_by)
where l.space_id = %(space)s and l.from_id = %(memory)s and l.relation = 'derives_from' and l.undone_at is null
order by m.id;
