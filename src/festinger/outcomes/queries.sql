-- What became of memories: surfacings, staged reads, rhythms, predictions, the log of outcomes, and keys of reports.

-- name: stage_reads
-- Notes that memories were read; what else waits of the same memories waits as long as the last read, so what lapsed
-- before goes first. The memories that are there.
with known as (
    select m.id from memory m
    where m.space_id = %(space)s and m.id = any(%(memories)s::uuid[])
      and (m.agent_id is null or m.agent_id = %(agent)s)
), lapsed as (
    select known.id from known cross join lateral (
        select bool_or(r.expires_at > %(at)s) as found from staged_read r
        where r.space_id = %(space)s and r.memory_id = known.id and r.partition = %(partition)s
    ) as waiting
    where not waiting.found
), gone as (
    delete from staged_read r using lapsed
    -- Hardly ever: otherwise nothing is searched, whatever the plan.
    where exists (select from lapsed) and r.space_id = %(space)s and r.memory_id = lapsed.id
      and r.partition = %(partition)s
), staged as (
    insert into staged_read (space_id, id, memory_id, partition, at, expires_at)
    select %(space)s, each.id, each.memory_id, %(partition)s, %(at)s, %(expires)s
    from unnest(%(ids)s::uuid[], %(memories)s::uuid[]) as each (id, memory_id)
    join known on known.id = each.memory_id
)
select known.id from known;

-- name: surface
-- Notes that memories were put before a model; one that waits already is renewed.
insert into surfacing as s (space_id, id, memory_id, partition, agent_id, session_id, turn_id, recall_id, door, reason,
    position, first_surfaced_at, surfaced_at)
select %(space)s, each.id, each.memory_id, %(partition)s, %(agent)s, %(session)s, %(turn)s, %(recall)s, %(door)s,
    %(reason)s, each.position, %(at)s, %(at)s
from unnest(%(ids)s::uuid[], %(memories)s::uuid[], %(positions)s::integer[]) as each (id, memory_id, position)
join memory m on m.space_id = %(space)s and m.id = each.memory_id
    and (m.agent_id is null or m.agent_id = %(agent)s)
order by each.memory_id
on conflict (space_id, partition, memory_id) where outcome is null do update
set surfaced_at = excluded.surfaced_at, reason = excluded.reason, turn_id = excluded.turn_id,
    recall_id = excluded.recall_id, session_id = excluded.session_id, agent_id = excluded.agent_id,
    position = excluded.position, door = excluded.door, times = s.times + 1
returning s.*;

-- name: pending_surfacings
-- What waits for an outcome in a partition, oldest first.
select s.* from surfacing s
where s.space_id = %(space)s and s.partition = %(partition)s and s.outcome is null
order by s.surfaced_at, s.id
limit %(limit)s;

-- name: surfacings
-- What was put before a model in a partition, newest first.
select s.* from surfacing s
where s.space_id = %(space)s and (%(partition)s::text is null or s.partition = %(partition)s)
  and (%(at)s::timestamptz is null or (s.surfaced_at, s.id) < (%(at)s, %(after)s::uuid))
order by s.surfaced_at desc, s.id desc
limit %(limit)s;

-- name: surfacings_of_memory
-- When and where one memory was put before a model, newest first.
select s.* from surfacing s
where s.space_id = %(space)s and s.memory_id = %(memory)s
order by s.surfaced_at desc, s.id desc
limit %(limit)s;

-- name: find_surfacing
-- One of them.
select s.* from surfacing s where s.space_id = %(space)s and s.id = %(id)s;

-- name: surfaced_by
-- What one recall put before a model, in its order.
select s.* from surfacing s
where s.space_id = %(space)s and s.recall_id = %(recall)s
order by s.position, s.id;

-- name: surfaced_by_any
-- Which of some recalls surfaced something already.
select distinct s.recall_id from surfacing s
where s.space_id = %(space)s and s.recall_id = any(%(recalls)s::uuid[]);

-- name: inferred_of_turn
-- What was read of a turn before, and stands.
select o.memory_id, o.outcome from outcome o
where o.space_id = %(space)s and o.turn_id = %(turn)s and o.replaced_by is null
order by o.at, o.id;

-- name: surfaced_in_session
-- Which memories the last turns of a session put before a model, as far as turns did so at all.
select distinct s.memory_id from surfacing s
where s.space_id = %(space)s and s.session_id = %(session)s
  and s.surfaced_at >= coalesce((
      select t.surfaced_at from (
          select max(u.surfaced_at) as surfaced_at from surfacing u
          where u.space_id = %(space)s and u.session_id = %(session)s
          group by coalesce(u.turn_id, u.recall_id, u.id)
      ) as t order by t.surfaced_at desc offset greatest(%(turns)s::integer - 1, 0) limit 1), '-infinity')
  and %(turns)s::integer > 0;

-- name: resolvable
-- The surfacings that a report may resolve: those that wait, and late ones of the last day that nobody told of on
-- purpose. The newest first.
select s.id, s.memory_id, s.partition, s.turn_id, s.recall_id, s.outcome is null as is_pending from surfacing s
where s.space_id = %(space)s and s.memory_id = any(%(memories)s::uuid[])
  and (s.partition = %(partition)s or (%(partition)s::text is null and s.agent_id = %(agent)s))
  and (s.outcome is null or (s.how <> 'explicit' and s.resolved_at > %(since)s))
order by s.memory_id, s.partition, s.outcome is null desc, s.resolved_at desc, s.id;

-- name: resolve_surfacings
-- Says what became of what was surfaced.
update surfacing s set outcome = each.outcome, how = %(how)s, resolved_at = %(at)s
from unnest(%(ids)s::uuid[], %(outcomes)s::text[]) as each (id, outcome)
where s.space_id = %(space)s and s.id = each.id;

-- name: expire_surfacings
-- Ends what nobody told of in time: it counts as deferred.
with stale as (
    select s.id from surfacing s
    where s.space_id = %(space)s and s.outcome is null and s.surfaced_at <= %(before)s
    order by s.id
    limit %(limit)s
    for update skip locked
)
update surfacing s set outcome = 'deferred', how = 'expired', resolved_at = %(at)s
from stale where s.space_id = %(space)s and s.id = stale.id
returning s.*;

-- name: staged_of
-- The reads of memories that wait, oldest first.
select r.memory_id, r.partition, r.at from (
    select s.*, max(s.expires_at) over (partition by s.memory_id, s.partition) as waits_until from staged_read s
    where s.space_id = %(space)s and s.memory_id = any(%(memories)s::uuid[]) and s.partition = any(%(partitions)s::text[])
) as r
where r.waits_until > %(at)s
order by r.memory_id, r.at, r.id;

-- name: unstage
-- Takes reads away, of each memory in its partition.
delete from staged_read r
using unnest(%(memories)s::uuid[], %(partitions)s::text[]) as each (memory_id, partition)
where r.space_id = %(space)s and r.memory_id = each.memory_id and r.partition = each.partition;

-- name: prune_reads
-- Takes reads away whose time is over.
delete from staged_read r where r.space_id = %(space)s and r.expires_at <= %(at)s and not exists (
    select from staged_read waits where waits.space_id = %(space)s and waits.memory_id = r.memory_id
      and waits.partition = r.partition and waits.expires_at > %(at)s);

-- name: rhythms_of
-- The rhythms of memories that have one.
select r.* from rhythm r where r.space_id = %(space)s and r.memory_id = any(%(memories)s::uuid[]);

-- name: keep_rhythm
-- Keeps when a memory was touched and when its pressure was resolved.
insert into rhythm (space_id, memory_id, last_touched, pressure_resolved_at)
values (%(space)s, %(memory)s, %(touched)s, %(resolved)s)
on conflict (space_id, memory_id) do update
set last_touched = excluded.last_touched, pressure_resolved_at = excluded.pressure_resolved_at;

-- name: declare_rhythm
-- Says how a memory moves with time. Pressure counts from the moment at which it is declared.
insert into rhythm as r (space_id, memory_id, decay_rate, pressure_rate, pressure_declared_at, pressure_resolved_at)
values (%(space)s, %(memory)s, %(decay)s, %(pressure)s, %(at)s, %(at)s)
on conflict (space_id, memory_id) do update
set decay_rate = excluded.decay_rate, pressure_rate = excluded.pressure_rate,
    pressure_declared_at = case when r.pressure_rate = excluded.pressure_rate then r.pressure_declared_at
        else excluded.pressure_declared_at end,
    pressure_resolved_at = case when r.pressure_rate = excluded.pressure_rate then r.pressure_resolved_at
        else excluded.pressure_resolved_at end;

-- name: cycles_of
-- The cycles of memories, in their order.
select c.* from cycle c
where c.space_id = %(space)s and c.memory_id = any(%(memories)s::uuid[])
order by c.memory_id, c.n;

-- name: keep_cycle
-- Keeps how strong a cycle is now.
update cycle set amplitude = %(amplitude)s where space_id = %(space)s and memory_id = %(memory)s and n = %(n)s;

-- name: declare_cycle
-- Says what comes round for a memory; an unchanged declaration keeps what was learnt.
insert into cycle as c (space_id, memory_id, n, period_s, amplitude, phase_s, declared_amplitude, declared_at)
values (%(space)s, %(memory)s, %(n)s, %(period)s, %(amplitude)s, %(phase)s, %(amplitude)s, %(at)s)
on conflict (space_id, memory_id, n) do update
set period_s = excluded.period_s, amplitude = excluded.amplitude, phase_s = excluded.phase_s,
    declared_amplitude = excluded.declared_amplitude, declared_at = excluded.declared_at
where (c.period_s, c.phase_s, c.declared_amplitude)
    is distinct from (excluded.period_s, excluded.phase_s, excluded.declared_amplitude)
returning c.n;

-- name: drop_cycles
-- Takes away the cycles beyond those that were declared.
delete from cycle c where c.space_id = %(space)s and c.memory_id = %(memory)s and c.n >= %(n)s;

-- name: strong_candidates
-- Memories that have a rhythm of their own, and those that have faded least by the settings' rate.
(select m.id from memory m
 join rhythm r on r.space_id = m.space_id and r.memory_id = m.id
 where m.space_id = %(space)s and m.status = 'active' and (m.agent_id is null or m.agent_id = %(agent)s))
union
(select m.id from memory m
 join cycle c on c.space_id = m.space_id and c.memory_id = m.id
 where m.space_id = %(space)s and m.status = 'active' and (m.agent_id is null or m.agent_id = %(agent)s))
union
(select m.id from memory m
 where m.space_id = %(space)s and m.status = 'active' and (m.agent_id is null or m.agent_id = %(agent)s)
 order by power(greatest(extract(epoch from %(now)s::timestamptz - m.created_at)::float8 / 86400, 0.01),
                -%(rate)s::float8)
          * power(greatest(extract(epoch from %(now)s::timestamptz - m.created_at)::float8 / 86400, 1),
                -(%(rate)s::float8 * power(2::float8, 2 * %(modulation)s::float8 * (0.5 - m.confidence))
                  - %(rate)s::float8)) desc, m.id
 limit %(limit)s);

-- name: predictions_of
-- The predictions of memories.
select p.* from prediction p where p.space_id = %(space)s and p.memory_id = any(%(memories)s::uuid[]);

-- name: lock_prediction
-- The prediction of a memory, kept from changing until the transaction ends.
select p.* from prediction p where p.space_id = %(space)s and p.memory_id = %(memory)s for update;

-- name: record_prediction
-- Keeps what a memory is expected to lead to, in place of what was expected before.
insert into prediction (space_id, memory_id, predicted, recorded_at)
values (%(space)s, %(memory)s, %(predicted)s::jsonb, %(at)s)
on conflict (space_id, memory_id) do update
set predicted = excluded.predicted, recorded_at = excluded.recorded_at, actual = null, resolved = false,
    resolution_mode = null, prediction_error = null, resolved_at = null;

-- name: resolve_prediction
-- Ends a prediction.
update prediction set resolved = true, resolution_mode = %(mode)s, prediction_error = %(error)s,
    actual = %(actual)s::jsonb, resolved_at = %(at)s
where space_id = %(space)s and memory_id = %(memory)s and not resolved;

-- name: prediction_errors
-- Ended predictions, the most wrong first.
select p.* from prediction p
where p.space_id = %(space)s and p.resolved
order by p.prediction_error desc, p.memory_id
limit %(limit)s;

-- name: outcomes_of_cause
-- How many outcomes of one cause have counted for memories, by how they became known.
select o.memory_id, o.how, count(*) as counted from outcome o
where o.space_id = %(space)s and o.memory_id = any(%(memories)s::uuid[]) and o.agent_id = %(agent)s
  and o.session_id = %(session)s and o.day = %(day)s and o.origin = %(origin)s and o.counted
  and o.replaced_by is null and o.outcome <> 'deferred' and o.id <> all(%(except)s::uuid[])
group by o.memory_id, o.how;

-- name: outcomes_of_turn
-- What was told already of memories in a turn, or of what a recall brought.
select o.* from outcome o
where o.space_id = %(space)s and o.memory_id = any(%(memories)s::uuid[]) and o.replaced_by is null
  and (o.turn_id = any(%(turns)s::uuid[]) or o.recall_id = any(%(recalls)s::uuid[]))
order by o.at, o.id;

-- name: replace_outcomes
-- Says that outcomes of the same turn stand in the place of earlier ones.
update outcome o set replaced_by = each.by
from unnest(%(ids)s::uuid[], %(by)s::uuid[]) as each (id, by)
where o.space_id = %(space)s and o.id = each.id;

-- name: write_outcome
-- Writes down what was done with a memory.
insert into outcome (space_id, id, batch_id, memory_id, turn_id, recall_id, agent_id, session_id, day, origin, outcome,
    how, reporter, q, w, credit, signal, second_signal, evidence_cap, passive_span, confidence_before,
    confidence_after, alpha_before, beta_before, alpha_gain, beta_gain, center_after, cycle_factor, prediction_error,
    evidence, counted, uncounted_because, at)
values (%(space)s, %(id)s, %(batch)s, %(memory)s, %(turn)s, %(recall)s, %(agent)s, %(session)s, %(day)s, %(origin)s,
    %(outcome)s, %(how)s, %(reporter)s, %(q)s, %(w)s, %(credit)s, %(signal)s, %(second_signal)s, %(evidence_cap)s,
    %(passive_span)s, %(confidence_before)s, %(confidence_after)s, %(alpha_before)s, %(beta_before)s, %(alpha_gain)s,
    %(beta_gain)s, %(center_after)s, %(cycle_factor)s, %(prediction_error)s, %(evidence)s::jsonb, %(counted)s,
    %(uncounted)s, %(at)s);

-- name: log_of
-- Every outcome of memories, oldest first.
select o.* from outcome o
where o.space_id = %(space)s and o.memory_id = any(%(memories)s::uuid[])
order by o.memory_id, o.at, o.id;

-- name: sightings
-- Each time that memories were said, and some other sightings, in the order of time.
select s.id, s.memory_id, s.at, s.trust, s.origin, s.counted, s.uncounted_because, s.moved_by from memory_sighting s
where s.space_id = %(space)s and (s.memory_id = any(%(memories)s::uuid[]) or s.id = any(%(ids)s::uuid[]))
order by s.at, s.id;

-- name: outcomes
-- What was done with memories, newest first.
select o.* from outcome o
where o.space_id = %(space)s and (%(memory)s::uuid is null or o.memory_id = %(memory)s)
  and (%(how)s::text is null or o.how = %(how)s)
  and (%(at)s::timestamptz is null or (o.at, o.id) < (%(at)s, %(after)s::uuid))
order by o.at desc, o.id desc
limit %(limit)s;

-- name: find_outcome
-- One of them.
select o.* from outcome o where o.space_id = %(space)s and o.id = %(id)s;

-- name: last_correction
-- What a person said last in a session in the place of a memory, as far as it stands.
select o.id, o.memory_id, o.agent_id, o.evidence ->> 'said' as said from outcome o
where o.space_id = %(space)s and o.memory_id = %(memory)s and o.session_id = %(session)s
  and o.outcome = 'contradicted' and o.replaced_by is null and o.evidence ? 'said'
order by o.at desc, o.id desc
limit 1;

-- name: drop_correction
-- Lets go of the words of a correction that has been learnt.
update outcome o set evidence = o.evidence - 'said' where o.space_id = %(space)s and o.id = %(id)s;

-- name: memories_with_outcomes
-- Memories that have outcomes, in pages.
select distinct o.memory_id from outcome o
where o.space_id = %(space)s and o.memory_id > %(after)s
order by o.memory_id
limit %(limit)s;

-- name: take_back_outcomes
-- Lets outcomes of a session, an agent or an origin count no more. The memories that they moved.
update outcome o set counted = false, uncounted_because = 'repaired'
where o.space_id = %(space)s and o.counted
  and (%(session)s::text is null or o.session_id = %(session)s)
  and (%(agent)s::text is null or o.agent_id = %(agent)s)
  and (%(origin)s::text is null or o.origin = %(origin)s)
  and (%(since)s::timestamptz is null or o.at >= %(since)s)
  and (%(until)s::timestamptz is null or o.at < %(until)s)
returning o.id, o.memory_id;

-- name: give_back_outcomes
-- Lets outcomes count again that were taken back. The memories that they move.
update outcome o set counted = true, uncounted_because = null
where o.space_id = %(space)s and o.id = any(%(ids)s::uuid[]) and o.uncounted_because = 'repaired'
returning o.memory_id;

-- name: lock_batch
-- Lets one report with a key be taken at a time.
select pg_advisory_xact_lock(hashtextextended('festinger outcomes ' || %(space)s::text || ' ' || %(key)s::text, 0));

-- name: find_batch
-- What a report with this key did.
select b.body_hash, b.result from outcome_batch b
where b.space_id = %(space)s and b.key = %(key)s and b.at > %(since)s;

-- name: keep_batch
-- Keeps what a report with a key did.
insert into outcome_batch (space_id, id, key, body_hash, result, at)
values (%(space)s, %(id)s, %(key)s, %(body_hash)s, %(result)s::jsonb, %(at)s)
on conflict (space_id, key) do update
set id = excluded.id, body_hash = excluded.body_hash, result = excluded.result, at = excluded.at;

-- name: prune_batches
-- Takes away keys that are too old to mean anything.
delete from outcome_batch b where b.space_id = %(space)s and b.at < %(before)s;

-- name: tally_surfacings
-- What became of what was surfaced, by whom, through which door and why.
select s.agent_id, s.door, s.reason, count(*) as resolved, count(*) filter (where s.how <> 'expired') as answered
from surfacing s
where s.space_id = %(space)s and s.outcome is not null and s.resolved_at > %(since)s
group by s.agent_id, s.door, s.reason
order by s.agent_id, s.door, s.reason;

-- name: tally_surfaced
-- How often each door put something before a model, and when it was last told what came of it.
select s.door, sum(s.times)::bigint as surfaced, max(s.resolved_at) filter (where s.how <> 'expired') as answered_at
from surfacing s
where s.space_id = %(space)s and s.surfaced_at > %(since)s
group by s.door
order by s.door;

-- name: tally_outcomes
-- Outcomes by kind and by how they became known, and how far they moved confidence.
select o.outcome, o.how, count(*) as told, sum(o.confidence_after - o.confidence_before) as moved from outcome o
where o.space_id = %(space)s and o.at > %(since)s and o.replaced_by is null
group by o.outcome, o.how
order by o.outcome, o.how;

-- name: daily_outcomes
-- How many outcomes of each kind there were on each day since a moment.
select (o.at at time zone 'UTC')::date as day, o.outcome as name, count(*) as number from outcome o
where o.space_id = %(space)s and o.at >= %(since)s and o.replaced_by is null
group by 1, 2 order by 1, 2;

-- name: count_pending
-- How much waits for an outcome.
select count(*) as pending from surfacing s where s.space_id = %(space)s and s.outcome is null;

-- name: most_often
-- Memories that had one outcome most often.
select o.memory_id, count(*) as times from outcome o
join memory m on m.space_id = o.space_id and m.id = o.memory_id
where o.space_id = %(space)s and o.outcome = %(outcome)s and o.counted and o.replaced_by is null
group by o.memory_id
order by times desc, o.memory_id
limit %(limit)s;

-- name: idle_surfaced
-- Memories that were put before a model often without ever being used.
select s.memory_id, sum(s.times)::bigint as times from surfacing s
join memory m on m.space_id = s.space_id and m.id = s.memory_id
where s.space_id = %(space)s
  and not exists (select from outcome o where o.space_id = s.space_id and o.memory_id = s.memory_id
      and o.outcome in ('acted', 'used') and o.replaced_by is null)
group by s.memory_id
having sum(s.times) >= %(times)s
order by times desc, s.memory_id
limit %(limit)s;

-- name: forget_waiting
-- Erases what waits for an outcome of forgotten memories.
delete from surfacing s
where s.space_id = %(space)s and s.memory_id = any(%(memories)s::uuid[]) and s.outcome is null;

-- name: forget_surfacings
-- Erases which memories the others were about; that something was surfaced still counts.
update surfacing s set memory_id = '00000000-0000-0000-0000-000000000000', recall_id = null, turn_id = null
where s.space_id = %(space)s and s.memory_id = any(%(memories)s::uuid[]);

-- name: forget_reads
-- Erases reads of forgotten memories.
delete from staged_read r where r.space_id = %(space)s and r.memory_id = any(%(memories)s::uuid[]);

-- name: forget_rhythms
-- Erases rhythms of forgotten memories.
delete from rhythm r where r.space_id = %(space)s and r.memory_id = any(%(memories)s::uuid[]);

-- name: forget_cycles
-- Erases cycles of forgotten memories.
delete from cycle c where c.space_id = %(space)s and c.memory_id = any(%(memories)s::uuid[]);

-- name: forget_predictions
-- Erases predictions of forgotten memories.
delete from prediction p where p.space_id = %(space)s and p.memory_id = any(%(memories)s::uuid[]);

-- name: forget_evidence
-- Erases the words that outcomes of forgotten memories were read from.
update outcome o set evidence = '{}'
where o.space_id = %(space)s and o.memory_id = any(%(memories)s::uuid[]) and o.evidence <> '{}';

-- name: contradicting_causes
-- The distinct causes that found a memory contradicted and did not take that back.
select distinct o.agent_id, o.session_id, o.day, o.origin from outcome o
where o.space_id = %(space)s and o.memory_id = %(memory)s and o.outcome = 'contradicted' and o.replaced_by is null
order by o.day, o.session_id, o.agent_id, o.origin
limit %(limit)s;
