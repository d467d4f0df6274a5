-- What must hold of the rows of a space, whichever package owns them. Each query finds the rows of which it does not:
-- none in a healthy database, at any moment, also while others write. `festinger doctor --deep` runs all of them and
-- shows the comment of one that finds something. A row is a failure, or only a warning where the code may leave it so.

-- part: shown
-- The first broken rows, and how many there are.
select %(space)s::text as space_id, broken.id::text as id, broken.what::text as what, 'fail' as severity,
    'Make a backup (`festinger backup`), then report this; `--json` names the rows, without words of people.' as remedy,
    count(*) over () as found
from broken order by broken.id::text limit %(limit)s

-- part: noted
-- The same where it is only worth a look.
select %(space)s::text as space_id, broken.id::text as id, broken.what::text as what, 'warn' as severity,
    'Nothing is lost. Look at these rows if they stay so while a worker runs; `--json` names them.' as remedy,
    count(*) over () as found
from broken order by broken.id::text limit %(limit)s

-- part: is_live
-- Whether a memory `m` is compared with what is learned.
m.status in ('active', 'held', 'quarantined')

-- name: successors_exist
-- A memory that was replaced or merged names another one of its space, and no other memory names any.
with broken as (
    select m.id, m.status || ' by ' || coalesce(m.superseded_by::text, 'nothing') as what from memory m
    left join memory n on n.space_id = m.space_id and n.id = m.superseded_by
    where m.space_id = %(space)s
      and ((m.superseded_by is not null) <> (m.status in ('superseded', 'merged'))
           or (m.superseded_by is null) <> (m.superseded_at is null)
           or (m.superseded_by is not null and n.id is null))
)
-- use: shown

-- name: successors_end
-- Whoever follows what replaced a memory comes to one that nothing replaced; there is no ring.
with recursive later (id, successor) as (
    select m.id, m.superseded_by from memory m where m.space_id = %(space)s and m.superseded_by is not null
    union
    select l.id, m.superseded_by from later l
    join memory m on m.space_id = %(space)s and m.id = l.successor and m.superseded_by is not null
), broken as (
    select l.id, 'replaced by itself in the end' as what from later l where l.id = l.successor
)
-- use: shown

-- name: replacements_recorded
-- A change that stands says which memory replaced a superseded one, unless a repair let an heir take its place.
with told as (
    select each.key as id, each.value ->> 'superseded_by' as successor from memory_change c
    cross join lateral jsonb_each(c.after -> 'memories') as each
    where c.space_id = %(space)s and c.op = 'supersede' and c.undone_at is null
), repaired as (
    select unnest(c.memory_ids) as id from memory_change c
    where c.space_id = %(space)s and c.op = 'repair' and c.undone_at is null
), broken as (
    select m.id, 'replaced by ' || m.superseded_by as what from memory m
    where m.space_id = %(space)s and m.status = 'superseded'
      and not exists (select from told t where t.id = m.id::text and t.successor = m.superseded_by::text)
      and not exists (select from repaired r where r.id = m.id)
)
-- use: shown

-- name: merges_recorded
-- A change that stands says into which memory a merged one went.
with told as (
    select c.after ->> 'from' as id, c.after ->> 'into' as survivor from memory_change c
    where c.space_id = %(space)s and c.op = 'merge' and c.undone_at is null
), broken as (
    select m.id, 'merged into ' || m.superseded_by as what from memory m
    where m.space_id = %(space)s and m.status = 'merged'
      and not exists (select from told t where t.id = m.id::text and t.survivor = m.superseded_by::text)
)
-- use: shown

-- name: replacements_linked
-- A superseded memory has a link from its successor, a merged one to its survivor, unless a repair parted them.
with broken as (
    select m.id, m.status || ' by ' || m.superseded_by as what from memory m
    where m.space_id = %(space)s and m.superseded_by is not null
      and not exists (
          select from memory_link l where l.space_id = m.space_id and l.undone_at is null
            and (m.status = 'superseded' and l.relation = 'supersedes' and l.from_id = m.superseded_by and l.to_id = m.id
                 or m.status = 'merged' and l.relation = 'same_as' and l.from_id = m.id and l.to_id = m.superseded_by))
      and not exists (
          select from memory_change c where c.space_id = m.space_id and c.memory_ids @> array[m.id]
            and c.undone_at is null and c.op = 'repair')
)
-- use: shown

-- name: owners_kept
-- What one agent alone may see was merged into nothing that only another agent sees.
with broken as (
    select m.id, coalesce(m.agent_id, 'all agents') || ' into ' || n.agent_id as what from memory m
    join memory n on n.space_id = m.space_id and n.id = m.superseded_by
    where m.space_id = %(space)s and m.status = 'merged' and n.agent_id is distinct from m.agent_id
      and n.agent_id is not null
)
-- use: shown

-- name: live_words_once
-- The same words stand once among the live memories of an owner, of one kind and one day.
with broken as (
    select min(m.id::text) as id, count(*) || ' alike' as what from memory m
    where m.space_id = %(space)s and
    -- use: is_live
    group by m.agent_id, m.kind, m.fold, m.event_day having count(*) > 1
)
-- use: shown

-- name: beliefs_sound
-- Confidence and trust are from 0 to 1, weights are positive and finite, and every signal spoke either for or against.
with broken as (
    select m.id, 'confidence ' || m.confidence || ', weight ' || m.weight_alpha || ' to ' || m.weight_beta || ', signals '
        || m.evidence_count || ' of ' || m.corroborations || ' and ' || m.contradictions as what from memory m
    where m.space_id = %(space)s
      and not (m.confidence between 0 and 1 and m.trust between 0 and 1
               and coalesce(m.confidence_anchor, 0) between 0 and 1
               and coalesce(m.confidence_ceiling, 0) between 0 and 1 and coalesce(m.weight_ceiling, 0) between 0 and 1
               and m.weight_alpha > 0 and m.weight_alpha < 'Infinity' and m.weight_beta > 0 and m.weight_beta < 'Infinity'
               and m.corroborations + m.contradictions = m.evidence_count)
)
-- use: shown

-- name: validity_ordered
-- What a memory says begins to hold before it ends.
with broken as (
    select m.id, m.valid_from || ' to ' || m.valid_to as what from memory m
    where m.space_id = %(space)s and m.valid_from > m.valid_to
)
-- use: shown

-- name: memories_said
-- Every memory was said at least once; what was merged has given its sightings to its survivor.
with broken as (
    select m.id, m.status as what from memory m
    where m.space_id = %(space)s and (m.status = 'merged') = exists (
        select from memory_sighting s where s.space_id = %(space)s and s.memory_id = m.id)
)
-- use: shown

-- name: sightings_reasoned
-- A sighting that does not count says why, and one that counts says nothing of the kind.
with broken as (
    select s.id, 'of memory ' || s.memory_id as what from memory_sighting s
    where s.space_id = %(space)s and s.counted <> (s.uncounted_because is null)
)
-- use: shown

-- name: moved_sightings_merged
-- A sighting that a merge brought names one that stands and went into the memory that has it now.
with broken as (
    select s.id, 'moved by ' || s.moved_by as what from memory_sighting s
    left join memory_change c on c.space_id = s.space_id and c.id = s.moved_by
    where s.space_id = %(space)s and s.moved_by is not null
      and not coalesce(c.op = 'merge' and c.undone_at is null and c.after ->> 'into' = s.memory_id::text, false)
)
-- use: shown

-- name: causes_counted
-- A memory has as many causes as it has sightings that count, with the one that founded it and those that founded what
-- was merged into it. What was taken back by a repair is left aside.
with voices as (
    select s.memory_id,
        count(*) filter (where s.counted or s.id = s.memory_id or s.moved_by is not null and n.id is not null) as causes
    from memory_sighting s
    left join memory n on n.space_id = s.space_id and n.id = s.id
    where s.space_id = %(space)s
    group by s.memory_id
    having bool_or(s.id = s.memory_id) and not bool_or(s.uncounted_because is not distinct from 'repaired')
), broken as (
    select m.id, m.cause_count || ' instead of ' || v.causes as what from memory m
    join voices v on v.memory_id = m.id
    where m.space_id = %(space)s and m.cause_count <> v.causes
)
-- use: shown

-- name: confirmations_counted
-- A memory was confirmed once for each sighting after the first, but for those that were taken back or locked away.
with voices as (
    select s.memory_id, count(*) as said,
        count(*) filter (where s.uncounted_because in ('quarantined', 'repaired')) as unheard
    from memory_sighting s where s.space_id = %(space)s group by s.memory_id
), broken as (
    select m.id, m.confirmation_count || ' of ' || v.said as what from memory m
    join voices v on v.memory_id = m.id
    where m.space_id = %(space)s and m.confirmation_count not between v.said - 1 - v.unheard and v.said - 1
)
-- use: shown

-- name: changes_name_memories
-- A change names memories that exist: forgetting takes the others out of it.
with broken as (
    select c.id, c.op || ' of ' || each.id as what from memory_change c
    cross join lateral (
        select unnest(c.memory_ids)::text as id
        union select jsonb_object_keys(c.before -> 'memories') union select jsonb_object_keys(c.after -> 'memories')
    ) as each
    left join memory m on m.space_id = c.space_id and m.id = each.id::uuid
    where c.space_id = %(space)s and m.id is null
)
-- use: shown

-- name: links_have_both_ends
-- A link joins two memories; only what something derives from may also be a turn.
with broken as (
    select l.from_id as id, l.relation || ' ' || l.to_id as what from memory_link l
    left join memory f on f.space_id = l.space_id and f.id = l.from_id
    left join memory t on t.space_id = l.space_id and t.id = l.to_id
    where l.space_id = %(space)s
      and (f.id is null or l.from_id = l.to_id or t.id is null and l.relation <> 'derives_from')
)
-- use: shown

-- name: successors_tell_context
-- A memory that replaced others is searched with their words too.
with broken as (
    select m.id, 'replaced ' || o.id as what from memory m
    join memory o on o.space_id = m.space_id and o.superseded_by = m.id and o.status = 'superseded'
    where m.space_id = %(space)s and m.content_contextualized is null
)
-- use: shown

-- name: held_in_conflict
-- A memory that is held waits for the decision of a conflict.
with broken as (
    select m.id, m.status as what from memory m
    where m.space_id = %(space)s and m.status = 'held'
      and not exists (
          select from resolution_queue q where q.space_id = m.space_id and q.about = 'memory' and q.status = 'pending'
            and q.new_memory = m.id)
)
-- use: shown

-- name: conflicts_name_rows
-- A conflict that waits names memories or concepts that exist.
with broken as (
    select q.id, q.about as what from resolution_queue q
    left join memory o on o.space_id = q.space_id and o.id = q.old_memory
    left join memory n on n.space_id = q.space_id and n.id = q.new_memory
    left join soas c on c.space_id = q.space_id and c.id = q.concept_id
    left join soas d on d.space_id = q.space_id and d.id = q.dim_id
    left join soas p on p.space_id = q.space_id and p.id = q.incoming_parent_id
    where q.space_id = %(space)s and q.status = 'pending'
      and case q.about when 'memory' then o.id is null or n.id is null else c.id is null or d.id is null or p.id is null end
)
-- use: shown

-- name: conflicts_can_be_decided
-- A conflict between memories can be decided: one is held against another that stands.
with broken as (
    select q.id, o.status || ' against ' || n.status as what from resolution_queue q
    join memory o on o.space_id = q.space_id and o.id = q.old_memory
    join memory n on n.space_id = q.space_id and n.id = q.new_memory
    where q.space_id = %(space)s and q.status = 'pending' and q.about = 'memory'
      and (o.status <> 'active' or n.status <> 'held')
)
-- use: noted

-- name: decisions_dated
-- A conflict that was decided says by whom and when; one that waits does not.
with broken as (
    select q.id, q.status as what from resolution_queue q
    where q.space_id = %(space)s
      and ((q.status = 'pending') <> (q.resolved_at is null) or (q.status = 'pending') <> (q.decided_by is null))
)
-- use: shown

-- name: pending_pairs_match
-- A memory is marked as pending while a pair of it waits for a judge, and only then; a job sets it right.
with broken as (
    select m.id, case when m.pending then 'pending, but no pair waits' else 'a pair waits' end as what from memory m
    where m.space_id = %(space)s and m.pending <> exists (
        select from judgement j where j.space_id = %(space)s and j.new_ref = m.id and not j.final)
)
-- use: noted

-- name: pending_stands
-- Only a memory that stands waits for a judge.
with broken as (
    select m.id, m.status as what from memory m
    where m.space_id = %(space)s and m.pending and m.status <> 'active'
)
-- use: shown

-- name: judgements_overruled
-- What overrules a judgement is a judgement by a person; what was overruled is final.
with broken as (
    select j.id, 'overruled by ' || j.overruled_by as what from judgement j
    left join judgement o on o.space_id = j.space_id and o.id = j.overruled_by
    where j.space_id = %(space)s and j.overruled_by is not null
      and not coalesce(j.final and o.judge like 'person:%%', false)
)
-- use: shown

-- name: episodes_dated
-- An episode is closed after it was opened, and at most one of a session of an agent is open.
with broken as (
    select e.id, e.state as what from episode e
    where e.space_id = %(space)s
      and (e.closed_at < e.opened_at or e.last_at < e.opened_at or (e.state = 'open') <> (e.closed_at is null)
           or e.state = 'open' and exists (
               select from episode o where o.space_id = e.space_id and o.agent_id = e.agent_id
                 and o.session_id = e.session_id and o.state = 'open' and o.id < e.id))
)
-- use: shown

-- name: turns_counted
-- An episode counts as many turns as were said in it, whose words may have been cut since.
with broken as (
    select e.id, e.turns || ' instead of ' || t.last as what from episode e
    join (select t.episode_id, max(t.seq) as last from episode_turn t where t.space_id = %(space)s group by 1) as t
        on t.episode_id = e.id
    where e.space_id = %(space)s and e.turns <> t.last
)
-- use: shown

-- name: indexed_turns_said
-- What is searched as a turn was said in an episode; of one whose words were cut, a job takes it out.
with broken as (
    select i.turn_id as id, 'in episode ' || i.episode_id as what from turn_index i
    left join episode e on e.space_id = i.space_id and e.id = i.episode_id
    left join episode_turn t on t.space_id = i.space_id and t.episode_id = i.episode_id and t.turn_id = i.turn_id
    where i.space_id = %(space)s and i.part = 0 and t.turn_id is null and e.raw_cut_at is null
)
-- use: shown

-- name: turn_parts_whole
-- The parts of a turn are numbered from 0 without a gap.
with broken as (
    select i.turn_id as id, count(*) || ' parts up to ' || max(i.part) as what from turn_index i
    where i.space_id = %(space)s group by i.turn_id having max(i.part) <> count(*) - 1
)
-- use: shown

-- name: turns_not_ahead
-- No episode is searchable further than it was said.
with broken as (
    select p.episode_id as id, p.turns || ' of ' || coalesce(e.turns, 0) as what from turn_progress p
    left join episode e on e.space_id = p.space_id and e.id = p.episode_id
    where p.space_id = %(space)s and (e.id is null or p.turns > e.turns)
)
-- use: shown

-- name: vectors_measured
-- A vector has the dimensions that its row says, which are the same for all vectors of a model.
with vectors as (
    select v.memory_id as id, v.model, v.dims, vector_dims(v.embedding) as really from memory_vector v
    where v.space_id = %(space)s
    union all
    select v.censor_id, v.model, v.dims, vector_dims(v.embedding) from censor_vector v where v.space_id = %(space)s
    union all
    select v.proposal_id, v.model, v.dims, vector_dims(v.embedding) from proposal_vector v where v.space_id = %(space)s
    union all
    select t.turn_id, t.model, vector_dims(t.embedding), vector_dims(t.embedding) from turn_index t
    where t.space_id = %(space)s and t.embedding is not null
), sizes as (
    select v.model, mode() within group (order by v.dims) as usual from vectors v group by v.model
), broken as (
    select v.id, v.model || ': ' || v.really as what from vectors v join sizes s on s.model = v.model
    where v.dims <> v.really or v.dims <> s.usual
)
-- use: shown

-- name: vectors_paired
-- A memory has one vector that serves for searching and comparing, or one for each, never three.
with broken as (
    select v.memory_id as id, v.model || ': ' || string_agg(v.purpose, ', ') as what from memory_vector v
    where v.space_id = %(space)s group by v.memory_id, v.model
    having bool_or(v.is_bare and v.purpose <> 'store') or bool_or(v.is_bare) and count(*) > 1
)
-- use: shown

-- name: outcomes_reasoned
-- An outcome that does not count says why, and one that counts says nothing of the kind.
with broken as (
    select o.id, 'of memory ' || o.memory_id as what from outcome o
    where o.space_id = %(space)s and o.counted <> (o.uncounted_because is null)
)
-- use: shown

-- name: outcomes_replaced
-- What replaces an outcome is another one of the same memory.
with broken as (
    select o.id, 'replaced by ' || o.replaced_by as what from outcome o
    left join outcome r on r.space_id = o.space_id and r.id = o.replaced_by and r.memory_id = o.memory_id
    where o.space_id = %(space)s and o.replaced_by is not null and (r.id is null or r.id = o.id)
)
-- use: shown

-- name: forgotten_without_trace
-- Nothing names a memory that was forgotten: no conflict, recall, surfacing, read, index, call or refusal.
with named as (
    select q.old_memory as id, 'resolution_queue' as place from resolution_queue q
    where q.space_id = %(space)s and q.about = 'memory'
    union all
    select q.new_memory, 'resolution_queue' from resolution_queue q where q.space_id = %(space)s and q.about = 'memory'
    union all
    select h.ref, 'recall_hit' from recall_hit h where h.space_id = %(space)s and h.type = 'memory'
    union all
    select i.ref, 'identifier_part' from identifier_part i where i.space_id = %(space)s and i.type = 'memory'
    union all
    select s.memory_id, 'surfacing' from surfacing s
    where s.space_id = %(space)s and s.memory_id <> '00000000-0000-0000-0000-000000000000'
    union all
    select r.memory_id, 'staged_read' from staged_read r where r.space_id = %(space)s
    union all
    select f.learnt_id, 'refusal' from refusal f where f.space_id = %(space)s and f.learnt_id is not null
    union all
    select (k.result ->> 'memory')::uuid, 'learn_key' from learn_key k where k.space_id = %(space)s
), broken as (
    select distinct n.id, n.place as what from named n
    where n.id is not null and not exists (select from memory m where m.space_id = %(space)s and m.id = n.id)
)
-- use: shown

-- name: forgotten_judged_in_silence
-- A judgement about a memory that was forgotten has lost its words.
with broken as (
    select j.id, 'of ' || j.old_ref || ' and ' || j.new_ref as what from judgement j
    left join memory o on o.space_id = j.space_id and o.id = j.old_ref
    left join memory n on n.space_id = j.space_id and n.id = j.new_ref
    where j.space_id = %(space)s and j.reasoning <> '' and (o.id is null or n.id is null)
)
-- use: shown

-- name: censors_counted
-- A censor counts each time that it struck, and each time that this was wrong.
with broken as (
    select c.id, c.activation_count || ' and ' || c.false_positive_count as what from censor c
    where c.space_id = %(space)s and (c.activation_count, c.false_positive_count) <> (
        select count(*), count(*) filter (where t.false_positive) from censor_trigger t
        where t.space_id = c.space_id and t.censor_id = c.id)
)
-- use: shown

-- name: duplicates_end
-- Whoever follows the duplicates of proposals comes to one that stands for itself; there is no ring.
with recursive later (id, original) as (
    select p.id, p.duplicate_of from proposal p where p.space_id = %(space)s and p.duplicate_of is not null
    union
    select l.id, p.duplicate_of from later l
    join proposal p on p.space_id = %(space)s and p.id = l.original and p.duplicate_of is not null
), broken as (
    select l.id, 'a duplicate of itself in the end' as what from later l where l.id = l.original
)
-- use: shown

-- name: votes_counted
-- A proposal counts no more causes and days than said it, its duplicates included.
with recursive family as (
    select p.id as head, p.id from proposal p where p.space_id = %(space)s
    union
    select f.head, d.id from family f join proposal d on d.space_id = %(space)s and d.duplicate_of = f.id
), voices as (
    select f.head, count(distinct (s.agent_id, s.session_id, s.day, s.origin)) as causes, count(distinct s.day) as days
    from family f join proposal_sighting s on s.space_id = %(space)s and s.proposal_id = f.id and s.counted
    group by f.head
), broken as (
    select p.id, p.seen_count || ' causes on ' || p.days_seen || ' days' as what from proposal p
    left join voices v on v.head = p.id
    where p.space_id = %(space)s and p.state <> 'duplicate'
      and (p.seen_count > coalesce(v.causes, 0) or p.days_seen > coalesce(v.days, 0))
)
-- use: shown

-- name: effects_stand
-- What an approval applied is written down and not undone, as long as the proposal says that it is applied.
with broken as (
    select p.id, p.type as what from proposal p
    where p.space_id = %(space)s and p.state in ('applied', 'undone')
      and not exists (select from proposal_effect e where e.space_id = p.space_id and e.proposal_id = p.id
                        and (e.undone_at is null) = (p.state = 'applied'))
)
-- use: shown

-- name: verdicts_answered
-- A verdict that was processed says what came of it.
with broken as (
    select v.id, v.kind as what from verdict v
    where v.space_id = %(space)s and (v.processed_at is null) <> (v.result is null)
)
-- use: shown

-- name: edges_rooted
-- Every dimension of the world in which something stands has its root, and every edge names words that exist.
with broken as (
    select u.id, 'in ' || u.parent_id || ' within ' || u.dim_id as what from urd u
    left join urd r on r.space_id = u.space_id and r.id = u.dim_id and r.dim_id = u.dim_id and r.parent_id = u.dim_id
    left join soas c on c.space_id = u.space_id and c.id = u.id
    left join soas p on p.space_id = u.space_id and p.id = u.parent_id
    where u.space_id = %(space)s and (r.id is null or c.id is null or p.id is null)
)
-- use: shown

-- name: edges_end
-- Whoever climbs a dimension comes to its top; no edge leads back to where it began.
with recursive ended as (
    select u.id, u.dim_id from urd u
    where u.space_id = %(space)s
      and (u.parent_id = u.id or not exists (
          select from urd a where a.space_id = %(space)s and a.id = u.parent_id and a.dim_id = u.dim_id))
    union
    select u.id, u.dim_id from ended e
    join urd u on u.space_id = %(space)s and u.parent_id = e.id and u.dim_id = e.dim_id
), broken as (
    select u.id, 'in ' || u.parent_id || ' within ' || u.dim_id as what from urd u
    where u.space_id = %(space)s and (u.parent_id = u.id and u.dim_id <> u.id
        or not exists (select from ended e where e.id = u.id and e.dim_id = u.dim_id))
)
-- use: shown

-- name: edges_caused
-- Somebody said every edge that stands, and no more causes count for it than said it.
with broken as (
    select u.id, 'in ' || u.parent_id || ' within ' || u.dim_id || ', ' || u.evidence_count as what from urd u
    where u.space_id = %(space)s and u.id <> u.dim_id
      and u.evidence_count >= greatest(1, (select count(*) from urd_cause c
          where c.space_id = u.space_id and c.id = u.id and c.parent_id = u.parent_id and c.dim_id = u.dim_id) + 1)
)
-- use: shown

-- name: history_agrees
-- The last that history says of a slot of the world is what stands there.
with latest as (
    select distinct on (h.id, h.dim_id) h.id, h.dim_id, h.parent_id, h.op from urd_history h
    where h.space_id = %(space)s order by h.id, h.dim_id, h.version desc, h.n desc
), broken as (
    select l.id, l.op || ' of ' || l.parent_id || ' within ' || l.dim_id as what from latest l
    left join urd u on u.space_id = %(space)s and u.id = l.id and u.dim_id = l.dim_id
    where (l.op in ('add', 'restore')) <> (u.id is not null) or l.op in ('add', 'restore') and u.parent_id <> l.parent_id
)
-- use: shown

-- name: versions_not_ahead
-- No edge, history or log of the world is newer than the world.
with newest as (
    select 'urd' as id, max(u.version) as version from urd u where u.space_id = %(space)s
    union all
    select 'urd_history', max(h.version) from urd_history h where h.space_id = %(space)s
    union all
    select 'world_log', max(l.version) from world_log l where l.space_id = %(space)s
), broken as (
    select n.id, n.version as what from newest n
    where n.version > coalesce((select w.version from world_version w where w.space_id = %(space)s), 0)
)
-- use: shown

-- name: quarantine_dated
-- A statement in quarantine that was decided says when; one that waits does not.
with broken as (
    select q.id, q.status as what from cue_quarantine q
    where q.space_id = %(space)s and (q.status = 'waiting') <> (q.decided_at is null)
)
-- use: shown

-- name: words_counted_once
-- The counts of words are what was counted, text by text.
with counted as (
    select c.source, u.lexeme as term, count(*) as df from words_counted c cross join lateral unnest(c.terms) as u
    where c.space_id = %(space)s group by c.source, u.lexeme
), kept as (
    select t.source, t.term, t.df from words_term t where t.space_id = %(space)s and t.df <> 0
), texts as (
    select c.source, count(*) as docs, sum(c.len) as total_len from words_counted c
    where c.space_id = %(space)s group by c.source
), totals as (
    select t.source, t.docs, t.total_len from words_total t where t.space_id = %(space)s and t.docs <> 0
), broken as (
    select coalesce(c.source, k.source) || ' ' || left(md5(coalesce(c.term, k.term)), 12) as id,
        coalesce(k.df, 0) || ' instead of ' || coalesce(c.df, 0) as what
    from counted c full join kept k on k.source = c.source and k.term = c.term
    where c.df is distinct from k.df
    union all
    select coalesce(x.source, t.source), coalesce(t.docs, 0) || ' texts instead of ' || coalesce(x.docs, 0)
    from texts x full join totals t on t.source = x.source
    where (x.docs, x.total_len) is distinct from (t.docs, t.total_len)
)
-- use: shown

-- name: nights_finished
-- A night that is over says when it ended; one that goes on does not.
with broken as (
    select n.id, n.state as what from night n
    where n.space_id = %(space)s and (n.state in ('done', 'failed')) <> (n.finished_at is not null)
)
-- use: shown

-- name: messages_in_session
-- A message was said in the session of its exchange.
with broken as (
    select m.id, m.session_id || ' instead of ' || e.session_id as what from exchange_message m
    join exchange e on e.space_id = m.space_id and e.id = m.exchange_id
    where m.space_id = %(space)s and m.session_id <> e.session_id
)
-- use: shown

-- name: edges_outlive_memories
-- An edge of the world stands although each memory of the message that said it was replaced or put away since.
with told as (
    select c.id, c.parent_id, c.dim_id, bool_and(m.id is not null) as is_known,
        bool_or(m.status in ('active', 'held', 'merged')) as is_told
    from urd u
    join urd_cause c on c.space_id = u.space_id and c.id = u.id and c.parent_id = u.parent_id and c.dim_id = u.dim_id
    join soas a on a.space_id = u.space_id and a.id = u.id
    join soas b on b.space_id = u.space_id and b.id = u.parent_id
    left join memory_sighting s on s.space_id = u.space_id and s.turn_id::text = c.message_id
    left join memory m on m.space_id = u.space_id and m.id = s.memory_id
        and position(a.token in lower(m.content)) > 0 and position(b.token in lower(m.content)) > 0
    where u.space_id = %(space)s
    group by c.id, c.parent_id, c.dim_id
), broken as (
    select a.token || ' / ' || d.token as id, b.token as what from told t
    join soas a on a.space_id = %(space)s and a.id = t.id
    join soas b on b.space_id = %(space)s and b.id = t.parent_id
    join soas d on d.space_id = %(space)s and d.id = t.dim_id
    where t.is_known and not t.is_told
)
-- use: noted

-- name: memories_outlive_edges
-- A memory stands although the edge of the world that its message stated was dismissed or removed since.
with gone as (
    select q.concept_id as id, q.incoming_parent_id as parent_id, q.dim_id from resolution_queue q
    where q.space_id = %(space)s and q.about = 'edge' and q.status = 'dismissed'
    union
    select h.id, h.parent_id, h.dim_id from urd_history h where h.space_id = %(space)s and h.op = 'remove'
), broken as (
    select distinct m.id, a.token || ' / ' || b.token as what from gone g
    join urd_cause c on c.space_id = %(space)s and c.id = g.id and c.parent_id = g.parent_id and c.dim_id = g.dim_id
    join soas a on a.space_id = c.space_id and a.id = g.id
    join soas b on b.space_id = c.space_id and b.id = g.parent_id
    join memory_sighting s on s.space_id = c.space_id and s.turn_id::text = c.message_id
    join memory m on m.space_id = c.space_id and m.id = s.memory_id and m.status = 'active'
        and position(a.token in lower(m.content)) > 0 and position(b.token in lower(m.content)) > 0
    left join urd u on u.space_id = c.space_id and u.id = g.id and u.parent_id = g.parent_id
    where u.id is null
)
-- use: noted
