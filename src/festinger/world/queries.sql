-- The world's statements: vocabulary, edges, causes, history, conflicts, quarantine, and the log of changes.

-- name: begin_world
-- Gives a space its version row; nothing if it has one.
insert into world_version (space_id, version) values (%(space)s, 0) on conflict do nothing;

-- name: lock_world
-- The version of a space, kept from rising until the transaction ends: the write lock.
select version from world_version where space_id = %(space)s for update;

-- name: raise_world
-- Counts a change of the world and tells who listens, when the transaction ends well.
with risen as (
    update world_version set version = %(version)s where space_id = %(space)s returning space_id, version
)
select pg_notify('festinger_world', json_build_object('space', space_id, 'version', version, 'room', 'world')::text)
from risen;

-- name: log_change
-- Writes down what a version changed.
insert into world_log (space_id, version, n, kind, concept_id, dim_id, at)
select %(space)s, %(version)s, changed.n, changed.kind, changed.concept_id, changed.dim_id, %(at)s
from unnest(%(kinds)s::text[], %(concepts)s::bigint[], %(dims)s::bigint[])
    with ordinality as changed (kind, concept_id, dim_id, n);

-- name: keep_history
-- Writes down what became of edges.
insert into urd_history (space_id, version, n, op, id, parent_id, dim_id, is_isa, confidence, last_confirmed, source,
                         origin, evidence_count, person_stated, unconfirmed, created_at, reason, conflict_id, by, at)
values (%(space)s, %(version)s, %(n)s, %(op)s, %(id)s, %(parent_id)s, %(dim_id)s, %(is_isa)s, %(confidence)s,
        %(last_confirmed)s, %(source)s, %(origin)s, %(evidence_count)s, %(person_stated)s, %(unconfirmed)s,
        %(created_at)s, %(reason)s, %(conflict)s, %(by)s, %(at)s);

-- name: world_version
-- How far a space is.
select version from world_version where space_id = %(space)s;

-- name: log_after
-- What changed after a version.
select version, kind, concept_id, dim_id from world_log
where space_id = %(space)s and version > %(version)s
order by version, n
limit %(limit)s;

-- name: prune_log
-- Takes away what every process has followed long ago.
delete from world_log where space_id = %(space)s and at < %(before)s;

-- name: add_tokens
-- Gives words a row; those that had none.
insert into soas (space_id, token)
select %(space)s, unnest(%(tokens)s::text[])
on conflict (space_id, token) do nothing
returning token;

-- name: rows_of_tokens
-- Words by any of their names.
select s.id, s.token, s.encounter_count, s.last_seen, s.saliency, s.novelty, s.trusted_seen, s.token as name,
       false as is_alias
from soas s
where s.space_id = %(space)s and s.token = any(%(tokens)s)
union all
select s.id, s.token, s.encounter_count, s.last_seen, s.saliency, s.novelty, s.trusted_seen, a.token, true
from alias a
join soas s on s.space_id = a.space_id and s.id = a.concept_id
where a.space_id = %(space)s and a.token = any(%(tokens)s);

-- name: rows_of_concepts
-- Words by number.
select id, token, encounter_count, last_seen, saliency, novelty, trusted_seen
from soas where space_id = %(space)s and id = any(%(concepts)s);

-- name: vocabulary_page
-- The vocabulary, a piece at a time.
select id, token, encounter_count, last_seen, saliency, novelty, trusted_seen
from soas where space_id = %(space)s and id > %(after)s
order by id limit %(limit)s;

-- name: edges_page
-- The edges, a piece at a time, each column as one array: numbers of eight bytes, what has few values in one of them.
-- No moment is the earliest one.
select array_send(array_agg(e.id)) as id, array_send(array_agg(e.parent_id)) as parent_id,
    array_send(array_agg(e.dim_id)) as dim_id, array_send(array_agg(e.confidence)) as confidence,
    array_send(array_agg(coalesce(e.last_confirmed, '-infinity'))) as last_confirmed,
    array_send(array_agg(e.created_at)) as created_at, array_send(array_agg(e.evidence_count::bigint)) as evidence_count,
    array_send(array_agg(e.version)) as version,
    array_send(array_agg((e.is_isa::integer + 2 * e.person_stated::integer + 4 * e.unconfirmed::integer
        + 8 * array_position(%(sources)s::text[], e.source)
        + 64 * array_position(%(origins)s::text[], e.origin))::bigint)) as marks
from (
    select id, parent_id, dim_id, is_isa, confidence, last_confirmed, source, origin, evidence_count, person_stated,
        unconfirmed, created_at, version
    from urd where space_id = %(space)s and (id, dim_id) > (%(after)s, %(after_dim)s)
    order by id, dim_id limit %(limit)s
) as e;

-- name: pending_slots
-- What is disputed, of some concepts or of all.
select concept_id, dim_id, incoming_parent_id from resolution_queue
where space_id = %(space)s and status = 'pending' and about = 'edge'
  and (%(concepts)s::bigint[] is null or concept_id = any(%(concepts)s));

-- name: dismissed_triples
-- What was dismissed since a moment, of some concepts or of all.
select concept_id, dim_id, incoming_parent_id, max(resolved_at) as at from resolution_queue
where space_id = %(space)s and status = 'dismissed' and about = 'edge' and resolved_at > %(since)s
  and (%(concepts)s::bigint[] is null or concept_id = any(%(concepts)s))
group by concept_id, dim_id, incoming_parent_id;

-- name: aliases
-- Other names, of some concepts or of all.
select token, concept_id from alias
where space_id = %(space)s and (%(concepts)s::bigint[] is null or concept_id = any(%(concepts)s));

-- name: edges_of_concepts
-- Every edge of some concepts.
select id, parent_id, dim_id, is_isa, confidence, last_confirmed, source, origin, evidence_count, person_stated,
       unconfirmed, created_at, version
from urd where space_id = %(space)s and id = any(%(concepts)s)
order by id, dim_id;

-- name: slot
-- The edge that stands in a slot.
select id, parent_id, dim_id, is_isa, confidence, last_confirmed, source, origin, evidence_count, person_stated,
       unconfirmed, created_at, version
from urd where space_id = %(space)s and id = %(concept)s and dim_id = %(dim)s;

-- name: ancestors
-- What stands above a concept in a dimension, nearest first.
with recursive above as (
    select u.parent_id, 1 as step from urd u
    where u.space_id = %(space)s and u.id = %(concept)s and u.dim_id = %(dim)s and u.parent_id <> u.id
    union all
    select u.parent_id, above.step + 1 from above
    join urd u on u.space_id = %(space)s and u.id = above.parent_id and u.dim_id = %(dim)s and u.parent_id <> u.id
    where above.step < %(limit)s
)
select parent_id from above order by step;

-- name: dimensions
-- Every dimension of a space.
select s.id, s.token from urd u
join soas s on s.space_id = u.space_id and s.id = u.dim_id
where u.space_id = %(space)s and u.id = u.dim_id and u.parent_id = u.dim_id
order by s.id;

-- name: roots_among
-- Which of some concepts are dimensions.
select dim_id from urd
where space_id = %(space)s and id = any(%(concepts)s) and id = dim_id and parent_id = dim_id;

-- name: put_edge
-- Lets an edge stand in its slot; nothing if the slot is taken.
insert into urd (space_id, id, parent_id, dim_id, is_isa, confidence, last_confirmed, source, origin, evidence_count,
                 person_stated, unconfirmed, created_at, version)
values (%(space)s, %(id)s, %(parent_id)s, %(dim_id)s, %(is_isa)s, %(confidence)s, %(last_confirmed)s, %(source)s,
        %(origin)s, %(evidence_count)s, %(person_stated)s, %(unconfirmed)s, %(created_at)s, %(version)s)
on conflict do nothing
returning id;

-- name: move_edge_values
-- Takes over what an edge is held to be worth now.
update urd set confidence = %(confidence)s, last_confirmed = %(last_confirmed)s, source = %(source)s,
    origin = %(origin)s, evidence_count = %(evidence_count)s, person_stated = %(person_stated)s,
    unconfirmed = %(unconfirmed)s, is_isa = %(is_isa)s, created_at = coalesce(%(created_at)s, created_at),
    version = %(version)s
where space_id = %(space)s and id = %(id)s and parent_id = %(parent_id)s and dim_id = %(dim_id)s;

-- name: clear_slot
-- Empties a slot.
delete from urd where space_id = %(space)s and id = %(concept)s and dim_id = %(dim)s;

-- name: add_cause
-- Notes who said a triple, and how; whether this cause is new for it. A person who said it in passing before and now
-- states it on purpose is noted as having stated it.
insert into urd_cause (space_id, id, parent_id, dim_id, agent, session_id, day, origin, message_id, model, prompt_hash,
                       cost_usd, at, is_isa, confidence, source, from_quarantine, last_at)
values (%(space)s, %(concept)s, %(parent)s, %(dim)s, %(agent)s, %(session)s, %(day)s, %(origin)s, %(message)s,
        %(model)s, %(prompt_hash)s, %(cost_usd)s, %(at)s, %(is_isa)s, %(confidence)s, %(source)s, %(from_quarantine)s,
        %(at)s)
on conflict (space_id, id, parent_id, dim_id, agent, session_id, day, origin) do update set
    last_at = excluded.last_at,
    message_id = case when excluded.origin = 'person' and excluded.source = 'gutask'
                      then excluded.message_id else urd_cause.message_id end,
    confidence = case when excluded.origin = 'person' and excluded.source = 'gutask'
                      then excluded.confidence else urd_cause.confidence end,
    source = case when excluded.origin = 'person' and excluded.source = 'gutask'
                  then excluded.source else urd_cause.source end
returning (xmax = 0) as is_new;

-- name: copy_causes
-- Who said a triple also said it where it stands now.
insert into urd_cause (space_id, id, parent_id, dim_id, agent, session_id, day, origin, message_id, model, prompt_hash,
                       cost_usd, at, is_isa, confidence, source, from_quarantine, last_at)
select space_id, id, parent_id, %(to_dim)s, agent, session_id, day, origin, message_id, model, prompt_hash, cost_usd, at,
       is_isa, confidence, source, from_quarantine, last_at
from urd_cause
where space_id = %(space)s and id = %(concept)s and parent_id = %(parent)s and dim_id = %(dim)s
on conflict do nothing;

-- name: causes_since
-- How many distinct causes said a triple after a moment.
select count(*) as causes from urd_cause
where space_id = %(space)s and id = %(concept)s and parent_id = %(parent)s and dim_id = %(dim)s and at > %(since)s;

-- name: causes_of
-- Who said a triple.
select agent, session_id, day, origin, message_id, model, prompt_hash, cost_usd, at from urd_cause
where space_id = %(space)s and id = %(concept)s and parent_id = %(parent)s and dim_id = %(dim)s
order by at, agent, session_id;

-- name: confirm_concept
-- Makes a concept novel; a row if it was not.
update soas set novelty = 1, wanted_at = null where space_id = %(space)s and id = %(concept)s and novelty < 1
returning id;

-- name: open_conflict
-- Puts two edges that cannot both stand into the queue, or counts one more sighting.
insert into resolution_queue (space_id, id, concept_id, existing_parent_id, incoming_parent_id, dim_id, collision_type,
    priority, existing_is_isa, incoming_is_isa, incoming_confidence, incoming_source, incoming_origin, created_at)
values (%(space)s, %(id)s, %(concept)s, %(existing)s, %(incoming)s, %(dim)s, %(type)s, %(priority)s,
    %(existing_is_isa)s, %(incoming_is_isa)s, %(confidence)s, %(source)s, %(origin)s, %(at)s)
on conflict (space_id, concept_id, dim_id, incoming_parent_id) where status = 'pending' and about = 'edge'
do update set sightings = resolution_queue.sightings + 1,
    priority = greatest(resolution_queue.priority, excluded.priority),
    incoming_confidence = greatest(resolution_queue.incoming_confidence, excluded.incoming_confidence),
    incoming_source = case when excluded.priority > resolution_queue.priority
        then excluded.incoming_source else resolution_queue.incoming_source end,
    incoming_origin = case when excluded.incoming_origin = 'person' or excluded.priority > resolution_queue.priority
        then excluded.incoming_origin else resolution_queue.incoming_origin end
returning id, (xmax = 0) as is_new;

-- name: open_memory_conflict
-- Puts two memories that cannot both stand into the queue, or counts one more sighting.
insert into resolution_queue (space_id, id, about, collision_type, old_memory, new_memory, judgement_id, priority,
    created_at)
values (%(space)s, %(id)s, 'memory', %(type)s, %(old)s, %(new)s, %(judgement)s, %(priority)s, %(at)s)
on conflict (space_id, old_memory, new_memory) where status = 'pending' and about = 'memory'
do update set sightings = resolution_queue.sightings + 1
returning id, (xmax = 0) as is_new;

-- name: last_dismissal
-- When this triple was last dismissed.
select max(resolved_at) as at from resolution_queue
where space_id = %(space)s and concept_id = %(concept)s and dim_id = %(dim)s and incoming_parent_id = %(parent)s
  and status = 'dismissed' and about = 'edge' and resolved_at > %(since)s;

-- name: conflicts_of_cause
-- How many conflicts wait that this cause opened.
select count(*) as conflicts from urd_cause c
join resolution_queue q on q.space_id = c.space_id and q.concept_id = c.id and q.dim_id = c.dim_id
    and q.incoming_parent_id = c.parent_id and q.status = 'pending' and q.about = 'edge'
where c.space_id = %(space)s and c.agent = %(agent)s and c.session_id = %(session)s and c.day = %(day)s
  and c.origin = %(origin)s;

-- name: conflicts
-- Conflicts as people see them, most urgent first.
select q.*, c.token as concept, d.token as dimension, e.token as existing_parent, i.token as incoming_parent
from resolution_queue q
left join soas c on c.space_id = q.space_id and c.id = q.concept_id
left join soas d on d.space_id = q.space_id and d.id = q.dim_id
left join soas e on e.space_id = q.space_id and e.id = q.existing_parent_id
left join soas i on i.space_id = q.space_id and i.id = q.incoming_parent_id
where q.space_id = %(space)s
  and (%(statuses)s::text[] is null or q.status = any(%(statuses)s))
  and (%(decided_since)s::timestamptz is null or q.status = 'pending' or q.resolved_at > %(decided_since)s)
  and (%(concept)s::bigint is null or q.concept_id = %(concept)s)
  and (%(priority)s::integer is null
       or (-q.priority, q.created_at, q.id) > (-%(priority)s, %(created_at)s, %(after)s::uuid))
order by q.priority desc, q.created_at, q.id
limit %(limit)s;

-- name: conflicts_of_slot
-- Conflicts about one dimension of one concept, decided or not, the oldest first.
select q.*, c.token as concept, d.token as dimension, e.token as existing_parent, i.token as incoming_parent
from resolution_queue q
left join soas c on c.space_id = q.space_id and c.id = q.concept_id
left join soas d on d.space_id = q.space_id and d.id = q.dim_id
left join soas e on e.space_id = q.space_id and e.id = q.existing_parent_id
left join soas i on i.space_id = q.space_id and i.id = q.incoming_parent_id
where q.space_id = %(space)s and q.about = 'edge' and q.concept_id = %(concept)s and q.dim_id = %(dim)s
  and q.created_at > %(since)s
order by q.created_at, q.id
limit %(limit)s;

-- name: conflict
-- One conflict. Whoever means to decide it holds the world, and no lock of its own.
select q.*, c.token as concept, d.token as dimension, e.token as existing_parent, i.token as incoming_parent
from resolution_queue q
left join soas c on c.space_id = q.space_id and c.id = q.concept_id
left join soas d on d.space_id = q.space_id and d.id = q.dim_id
left join soas e on e.space_id = q.space_id and e.id = q.existing_parent_id
left join soas i on i.space_id = q.space_id and i.id = q.incoming_parent_id
where q.space_id = %(space)s and q.id = %(id)s;

-- name: count_pending
-- How many conflicts wait.
select count(*) as pending from resolution_queue where space_id = %(space)s and status = 'pending';

-- name: pending_in_slot
-- The conflicts that wait for one slot.
select id, incoming_parent_id, existing_parent_id, collision_type from resolution_queue
where space_id = %(space)s and concept_id = %(concept)s and dim_id = %(dim)s and status = 'pending' and about = 'edge'
order by created_at, id;

-- name: rebase_conflict
-- Sets a waiting conflict against the edge that stands now.
update resolution_queue set existing_parent_id = %(existing)s, existing_is_isa = %(is_isa)s, collision_type = %(type)s
where space_id = %(space)s and id = %(id)s;

-- name: decide_conflict
-- Closes a conflict.
update resolution_queue set status = %(status)s, decided_by = %(by)s, resolution = %(resolution)s::jsonb,
    resolved_at = %(at)s
where space_id = %(space)s and id = %(id)s;

-- name: reopen_conflict
-- Sets a decided conflict back to waiting.
update resolution_queue set status = 'pending', decided_by = null, resolved_at = null,
    resolution = %(resolution)s::jsonb
where space_id = %(space)s and id = %(id)s;

-- name: note_attempt
-- Notes that a run could not decide a conflict, and why.
update resolution_queue set attempts = attempts + %(tries)s, reason = %(reason)s
where space_id = %(space)s and id = %(id)s and status = 'pending';

-- name: put_alias
-- Gives a concept another name.
insert into alias (space_id, token, concept_id, at) values (%(space)s, %(token)s, %(concept)s, %(at)s)
on conflict (space_id, token) do update set concept_id = excluded.concept_id;

-- name: drop_alias
-- Takes another name away.
delete from alias where space_id = %(space)s and token = %(token)s returning concept_id;

-- name: concepts_of_tokens
-- The numbers of words, by any of their names.
select id from soas where space_id = %(space)s and token = any(%(tokens)s)
union
select concept_id from alias where space_id = %(space)s and token = any(%(tokens)s);

-- name: add_encounters
-- Adds counts to words, in one go, and gives new ones their row; what the sums are.
insert into soas as s (space_id, token, encounter_count, last_seen, saliency, trusted_seen)
select %(space)s, met.token, met.count, met.seen, case when met.count > 1 then log(met.count::float8) else 0 end, met.trusted
from unnest(%(tokens)s::text[], %(counts)s::integer[], %(seen)s::timestamptz[], %(trusted)s::boolean[])
    as met (token, count, seen, trusted)
on conflict (space_id, token) do update
set encounter_count = s.encounter_count + excluded.encounter_count,
    last_seen = greatest(s.last_seen, excluded.last_seen),
    saliency = case when s.encounter_count + excluded.encounter_count > 1
        then log((s.encounter_count + excluded.encounter_count)::float8) else 0 end,
    trusted_seen = s.trusted_seen or excluded.trusted_seen
returning id, token, encounter_count, last_seen, saliency, novelty, trusted_seen;

-- name: claim_writing
-- Which of some concepts are to be asked about now; they are not again for a week.
update soas set asked_at = %(now)s
where space_id = %(space)s and id = any(%(concepts)s) and saliency >= %(threshold)s and trusted_seen
  and (asked_at is null or asked_at < %(before)s)
returning id;

-- name: keep_sentences
-- Keeps sentences in which concepts stood.
insert into soas_sentence (space_id, concept_id, text, origin, session_id, message_id, at)
select %(space)s, s.id, said.text, said.origin, said.session_id, said.message_id, %(at)s
from unnest(%(tokens)s::text[], %(texts)s::text[], %(origins)s::text[], %(sessions)s::text[], %(messages)s::text[])
    as said (token, text, origin, session_id, message_id)
join soas s on s.space_id = %(space)s and s.token = said.token;

-- name: trim_sentences
-- Lets only the last few sentences of some concepts stay.
delete from soas_sentence o
where o.space_id = %(space)s and o.concept_id = any(%(concepts)s)
  and o.id <= (select n.id from soas_sentence n
               where n.space_id = %(space)s and n.concept_id = o.concept_id
               order by n.id desc offset %(keep)s limit 1);

-- name: sentences_of
-- The last sentences in which a concept stood.
select text, origin, session_id, message_id, at from soas_sentence
where space_id = %(space)s and concept_id = %(concept)s
order by id;

-- name: want_concept
-- Marks a concept of which nothing could be written; a row if it was not marked.
update soas set wanted_at = %(now)s where space_id = %(space)s and id = %(concept)s and wanted_at is null
returning id, token, encounter_count;

-- name: want_concepts
-- Marks concepts that stand out and of which nothing is known; rows of those that were not marked.
update soas set wanted_at = %(now)s
where space_id = %(space)s and id = any(%(concepts)s) and wanted_at is null and novelty = 0
returning id, token, encounter_count;

-- name: wanted
-- Concepts that stand out and that nobody has explained.
select id, token, encounter_count, last_seen, wanted_at from soas
where space_id = %(space)s and wanted_at is not null and novelty = 0
order by encounter_count desc, token limit %(limit)s;

-- name: wanted_sentences
-- The last sentences of each concept that nobody has explained, or of this one, in their order.
select s.id, s.token, t.text, t.origin, t.session_id, t.message_id, t.at from soas s
join soas_sentence t on t.space_id = s.space_id and t.concept_id = s.id
where s.space_id = %(space)s and s.wanted_at is not null and s.novelty = 0
  and (%(concept)s::bigint is null or s.id = %(concept)s)
order by s.token, t.id
limit %(limit)s;

-- name: prune_vocabulary
-- Takes away the longest unseen of the words that hold no statement, beyond a number.
delete from soas s
where s.space_id = %(space)s and s.id in (
    select o.id from soas o
    where o.space_id = %(space)s and o.novelty = 0
      and not exists (select from urd u where u.space_id = %(space)s and u.id = o.id)
      and not exists (select from urd u where u.space_id = %(space)s and u.parent_id = o.id)
      and not exists (select from urd u where u.space_id = %(space)s and u.dim_id = o.id)
      and not exists (select from alias a where a.space_id = %(space)s and a.concept_id = o.id)
      and not exists (select from resolution_queue q where q.space_id = %(space)s
                      and o.id in (q.concept_id, q.incoming_parent_id, q.existing_parent_id, q.dim_id))
    order by o.last_seen desc nulls last, o.id desc
    offset %(keep)s)
returning s.id;

-- name: put_cues
-- Keeps what a message asserted until it is written; a row unless the message is known.
insert into cue_waiting (space_id, message_id, agent, session_id, origin, text_hash, cues, at)
values (%(space)s, %(message)s, %(agent)s, %(session)s, %(origin)s, %(text_hash)s, %(cues)s::jsonb, %(at)s)
on conflict do nothing
returning message_id;

-- name: take_cues
-- What a message asserted, if it is not written yet; nobody else writes it meanwhile.
select message_id, agent, session_id, origin, text_hash, cues, at from cue_waiting
where space_id = %(space)s and message_id = %(message)s and done_at is null
for update;

-- name: finish_cues
-- Notes that a message is written; what it asserted stands elsewhere by now.
update cue_waiting set done_at = %(now)s, cues = '[]'::jsonb
where space_id = %(space)s and message_id = %(message)s;

-- name: prune_cues
-- Takes away messages that were written long ago.
delete from cue_waiting where space_id = %(space)s and done_at < %(before)s;

-- name: put_quarantine
-- Finds the row of a triple in quarantine, or makes it.
insert into cue_quarantine as q (space_id, id, concept, parent, dim, is_isa, pattern, origin, first_seen)
values (%(space)s, %(id)s, %(concept)s, %(parent)s, %(dim)s, %(is_isa)s, %(pattern)s, %(origin)s, %(at)s)
on conflict (space_id, concept, parent, dim, is_isa) do update set pattern = q.pattern
returning id, concept, parent, dim, is_isa, pattern, origin, status, first_seen, (xmax = 0) as is_new;

-- name: add_quarantine_cause
-- Notes who said a quarantined triple, and in which text.
insert into cue_quarantine_cause (space_id, quarantine_id, agent, session_id, day, origin, text_hash, message_id, at)
values (%(space)s, %(id)s, %(agent)s, %(session)s, %(day)s, %(origin)s, %(text_hash)s, %(message)s, %(at)s)
on conflict do nothing;

-- name: decide_quarantine
-- Says what became of a quarantined triple.
update cue_quarantine set status = %(status)s, decided_at = %(at)s
where space_id = %(space)s and id = %(id)s
returning id, concept, parent, dim, is_isa, pattern, origin, status, first_seen;

-- name: waiting_quarantine
-- A triple that waits in quarantine.
select id, concept, parent, dim, is_isa, pattern, origin, status, first_seen from cue_quarantine
where space_id = %(space)s and concept = %(concept)s and parent = %(parent)s and dim = %(dim)s
  and is_isa = %(is_isa)s and status in ('waiting', 'expired');

-- name: find_quarantine
-- One row of quarantine, kept from changing until the transaction ends.
select id, concept, parent, dim, is_isa, pattern, origin, status, first_seen from cue_quarantine
where space_id = %(space)s and id = %(id)s
for update;

-- name: quarantine
-- What is in quarantine, newest first; from one row on if `after` names it and `before` its first sighting.
select id, concept, parent, dim, is_isa, pattern, origin, status, first_seen from cue_quarantine
where space_id = %(space)s and (%(statuses)s::text[] is null or status = any(%(statuses)s))
  and (%(concept)s::text is null or concept = %(concept)s)
  and (%(before)s::timestamptz is null or first_seen < %(before)s
       or (first_seen = %(before)s and id > %(after)s::uuid))
order by first_seen desc, id limit %(limit)s;

-- name: votes_of
-- How much speaks for each of some quarantined triples; sessions that are held have no vote.
select c.quarantine_id as id, count(distinct (c.agent, c.session_id, c.day, c.origin)) as causes,
       count(distinct c.session_id) as sessions, count(distinct c.text_hash) as texts,
       count(distinct c.day) as days
from cue_quarantine_cause c
left join held_session h on h.space_id = c.space_id and h.session_id = c.session_id
where c.space_id = %(space)s and c.quarantine_id = any(%(ids)s) and h.session_id is null
group by c.quarantine_id;

-- name: last_quarantine_cause
-- The last who said a quarantined triple.
select agent, session_id, day, origin, message_id from cue_quarantine_cause
where space_id = %(space)s and quarantine_id = %(id)s
order by at desc, session_id limit 1;

-- name: expire_quarantine
-- Lets what has waited too long wait no more; it is kept.
update cue_quarantine set status = 'expired', decided_at = %(now)s
where space_id = any(%(spaces)s) and status = 'waiting' and first_seen < %(before)s;

-- name: add_session_collision
-- Notes that a session contradicts what is well established.
insert into session_collision (space_id, session_id, id, dim_id, parent, at)
values (%(space)s, %(session)s, %(concept)s, %(dim)s, %(parent)s, %(at)s)
on conflict do nothing;

-- name: session_collisions
-- How often a session did so since a moment.
select count(*) as collisions from session_collision
where space_id = %(space)s and session_id = %(session)s and at > %(since)s;

-- name: hold_session
-- Lets nothing of a session through that no person said; a row if it was not held.
insert into held_session (space_id, session_id, collisions, since)
values (%(space)s, %(session)s, %(collisions)s, %(now)s)
on conflict do nothing
returning session_id;

-- name: is_held
-- Whether a session is held.
select session_id from held_session where space_id = %(space)s and session_id = %(session)s;

-- name: held_sessions
-- Every session that is held, for people to look at.
select session_id, collisions, since from held_session where space_id = %(space)s order by since desc;

-- name: due_conflicts
-- The conflicts that a run looks at, most urgent first.
select q.*, c.token as concept, d.token as dimension, e.token as existing_parent, i.token as incoming_parent
from resolution_queue q
left join soas c on c.space_id = q.space_id and c.id = q.concept_id
left join soas d on d.space_id = q.space_id and d.id = q.dim_id
left join soas e on e.space_id = q.space_id and e.id = q.existing_parent_id
left join soas i on i.space_id = q.space_id and i.id = q.incoming_parent_id
where q.space_id = %(space)s and q.status = 'pending' and q.about = any(%(abouts)s)
order by q.priority desc, q.created_at, q.id
limit %(limit)s;

-- name: sentences_of_messages
-- The sentences that came with some messages, and the last ones of a concept.
select text, origin, at from soas_sentence
where space_id = %(space)s and concept_id = %(concept)s
order by message_id = any(%(messages)s) desc, id desc
limit %(limit)s;

-- name: history_until
-- What became of edges up to a moment.
select version, n, op, id, parent_id, dim_id, is_isa, confidence, last_confirmed, source, origin, evidence_count,
       person_stated, unconfirmed, created_at
from urd_history
where space_id = %(space)s and at <= %(until)s
order by version, n;

-- name: history_of
-- What became of the edges of a concept, oldest first.
select h.version, h.op, p.token as parent, d.token as dimension, h.is_isa, h.confidence, h.reason, h.conflict_id, h.by,
       h.at
from urd_history h
left join soas p on p.space_id = h.space_id and p.id = h.parent_id
left join soas d on d.space_id = h.space_id and d.id = h.dim_id
where h.space_id = %(space)s and h.id = %(concept)s
order by h.version, h.n;

-- name: find_edge
-- The edge that a note showed, by its words.
select u.id, u.parent_id, u.dim_id, u.is_isa, u.confidence, u.last_confirmed, u.source, u.origin, u.evidence_count,
       u.person_stated, u.unconfirmed, u.created_at, u.version
from urd u
join soas c on c.space_id = u.space_id and c.id = u.id
join soas p on p.space_id = u.space_id and p.id = u.parent_id
join soas d on d.space_id = u.space_id and d.id = u.dim_id
where u.space_id = %(space)s and c.token = %(concept)s and p.token = %(parent)s and d.token = %(dimension)s;

-- name: confirm_concepts
-- Makes many concepts novel.
update soas set novelty = 1, wanted_at = null
where space_id = %(space)s and id = any(%(concepts)s) and novelty < 1;

-- name: nearest_tokens
-- Words that begin as this one does.
select token from soas where space_id = %(space)s and token like %(beginning)s order by length(token), token limit 200;

-- name: edges_named
-- The edges of a concept in words.
select p.token as parent, d.token as dimension, u.is_isa, u.confidence, u.last_confirmed, u.source, u.origin,
       u.evidence_count, u.person_stated, u.unconfirmed, u.created_at, u.version, u.parent_id, u.dim_id
from urd u
join soas p on p.space_id = u.space_id and p.id = u.parent_id
join soas d on d.space_id = u.space_id and d.id = u.dim_id
where u.space_id = %(space)s and u.id = %(concept)s and u.parent_id <> u.id
order by u.dim_id;

-- name: edges_upwards
-- The edges that lead from some concepts to their parents, in words, most certain first.
select u.id, u.parent_id, c.token as concept, p.token as parent, d.token as dimension, u.is_isa, u.confidence,
       u.last_confirmed, u.source, exists (
           select from resolution_queue q
           where q.space_id = u.space_id and q.concept_id = u.id and q.dim_id = u.dim_id and q.status = 'pending'
       ) as disputed
from urd u
join soas c on c.space_id = u.space_id and c.id = u.id
join soas p on p.space_id = u.space_id and p.id = u.parent_id
join soas d on d.space_id = u.space_id and d.id = u.dim_id
where u.space_id = %(space)s and u.id = any(%(concepts)s) and u.id <> u.parent_id
  and (%(dimension)s::text is null or d.token = %(dimension)s)
order by u.confidence desc, u.id, u.dim_id limit %(limit)s;

-- name: edges_downwards
-- The edges that lead to some concepts from their children, in words, most certain first.
select u.id, u.parent_id, c.token as concept, p.token as parent, d.token as dimension, u.is_isa, u.confidence,
       u.last_confirmed, u.source, exists (
           select from resolution_queue q
           where q.space_id = u.space_id and q.concept_id = u.id and q.dim_id = u.dim_id and q.status = 'pending'
       ) as disputed
from urd u
join soas c on c.space_id = u.space_id and c.id = u.id
join soas p on p.space_id = u.space_id and p.id = u.parent_id
join soas d on d.space_id = u.space_id and d.id = u.dim_id
where u.space_id = %(space)s and u.parent_id = any(%(concepts)s) and u.id <> u.parent_id
  and (%(dimension)s::text is null or d.token = %(dimension)s)
order by u.confidence desc, u.id, u.dim_id limit %(limit)s;

-- name: causes_in_session
-- Which triples a session is a cause of.
select distinct id, parent_id, dim_id from urd_cause where space_id = %(space)s and session_id = %(session)s;

-- name: causes_in_message
-- Which triples a message is a cause of.
select distinct id, parent_id, dim_id from urd_cause where space_id = %(space)s and message_id = %(message)s;

-- name: drop_causes
-- Takes causes of a session or a message away.
delete from urd_cause
where space_id = %(space)s and (session_id = %(session)s or message_id = %(message)s);

-- name: uncaused
-- Which of some triples nobody is left who said.
select t.id, t.parent_id, t.dim_id
from unnest(%(ids)s::bigint[], %(parents)s::bigint[], %(dims)s::bigint[]) as t (id, parent_id, dim_id)
left join urd_cause c on c.space_id = %(space)s and c.id = t.id and c.parent_id = t.parent_id and c.dim_id = t.dim_id
where c.id is null;

-- name: erase_triples
-- Takes triples away, whether they stand or not.
delete from urd u using unnest(%(ids)s::bigint[], %(parents)s::bigint[], %(dims)s::bigint[]) as t (id, parent_id, dim_id)
where u.space_id = %(space)s and u.id = t.id and u.parent_id = t.parent_id and u.dim_id = t.dim_id
returning u.id, u.dim_id;

-- name: erase_history
-- Takes triples out of history.
delete from urd_history h
using unnest(%(ids)s::bigint[], %(parents)s::bigint[], %(dims)s::bigint[]) as t (id, parent_id, dim_id)
where h.space_id = %(space)s and h.id = t.id and h.parent_id = t.parent_id and h.dim_id = t.dim_id;

-- name: erase_conflicts
-- Takes conflicts away that triples are a side of.
delete from resolution_queue q
using unnest(%(ids)s::bigint[], %(parents)s::bigint[], %(dims)s::bigint[]) as t (id, parent_id, dim_id)
where q.space_id = %(space)s and q.about = 'edge' and q.concept_id = t.id
  and t.parent_id in (q.incoming_parent_id, q.existing_parent_id);

-- name: erase_triple_causes
-- Takes every cause of triples away.
delete from urd_cause c
using unnest(%(ids)s::bigint[], %(parents)s::bigint[], %(dims)s::bigint[]) as t (id, parent_id, dim_id)
where c.space_id = %(space)s and c.id = t.id and c.parent_id = t.parent_id and c.dim_id = t.dim_id;

-- name: erase_sentences
-- Takes kept sentences of a session, a message or some concepts away.
delete from soas_sentence
where space_id = %(space)s
  and (session_id = %(session)s or message_id = %(message)s or concept_id = any(%(concepts)s));

-- name: erase_waiting_cues
-- Takes what a session or a message asserted away.
delete from cue_waiting where space_id = %(space)s and (session_id = %(session)s or message_id = %(message)s);

-- name: erase_quarantine_causes
-- Takes what speaks for quarantined triples away, as far as a session or a message does.
delete from cue_quarantine_cause
where space_id = %(space)s and (session_id = %(session)s or message_id = %(message)s);

-- name: erase_voiceless_quarantine
-- Takes quarantined triples away that nothing speaks for any more.
delete from cue_quarantine q
where q.space_id = %(space)s
  and not exists (select from cue_quarantine_cause c where c.space_id = %(space)s and c.quarantine_id = q.id)
returning q.concept, q.parent, q.dim;

-- name: erase_session_marks
-- Takes what was noted about a session away.
with unheld as (delete from held_session where space_id = %(space)s and session_id = %(session)s)
delete from session_collision where space_id = %(space)s and session_id = %(session)s;

-- name: erase_bare_tokens
-- Takes words away of which no edge is left.
delete from soas s
where s.space_id = %(space)s and s.id = any(%(concepts)s)
  and not exists (select from urd u where u.space_id = %(space)s and s.id = u.id)
  and not exists (select from urd u where u.space_id = %(space)s and s.id = u.parent_id)
  and not exists (select from urd u where u.space_id = %(space)s and s.id = u.dim_id)
returning s.id, s.token;

-- name: calm_concepts
-- Lets concepts of which no edge is left be novel no more.
update soas s set novelty = 0
where s.space_id = %(space)s and s.id = any(%(concepts)s) and s.novelty > 0
  and not exists (select from urd u where u.space_id = %(space)s and u.id = s.id and u.parent_id <> u.id)
returning s.id;

-- name: put_tombstone
-- Keeps that something was forgotten, without what it was.
insert into world_tombstone (space_id, id, kind, by, at, edges, causes, others)
values (%(space)s, %(id)s, %(kind)s, %(by)s, %(at)s, %(edges)s, %(causes)s, %(others)s);

-- name: add_outcome
-- Notes what came of a note; a row if this cause is new for it.
insert into urd_outcome (space_id, id, parent_id, dim_id, agent, session_id, day, origin, outcome, is_explicit, moved,
                         weight, at)
values (%(space)s, %(concept)s, %(parent)s, %(dim)s, %(agent)s, %(session)s, %(day)s, %(origin)s, %(outcome)s,
        %(is_explicit)s, %(moved)s, %(weight)s, %(at)s)
on conflict do nothing
returning id;

-- name: replace_inferred
-- Takes back what was inferred of an edge in a conversation, if it is told outright now or the contrary is inferred; by
-- how much that had moved it, and whether somebody has told outright there before.
with mine as (
    select o.* from urd_outcome o
    where o.space_id = %(space)s and o.id = %(concept)s and o.parent_id = %(parent)s and o.dim_id = %(dim)s
      and o.agent = %(agent)s and o.session_id = %(session)s and o.day = %(day)s
), replaced as (
    update urd_outcome o set moved = 0 from mine
    where o.space_id = %(space)s and o.id = mine.id and o.parent_id = mine.parent_id and o.dim_id = mine.dim_id
      and o.agent = mine.agent and o.session_id = mine.session_id and o.day = mine.day and o.origin = mine.origin
      and o.outcome = mine.outcome and not o.is_explicit and not mine.is_explicit
      and (%(is_explicit)s or o.outcome <> %(outcome)s)
      and not exists (
          select 1 from mine same where same.outcome = %(outcome)s and same.is_explicit = %(is_explicit)s)
    returning mine.moved
)
select coalesce((select sum(r.moved) from replaced r), 0)::float8 as moved,
    exists (select 1 from mine where mine.is_explicit) as told;

-- name: passive_movement
-- By how much inferred outcomes have moved an edge since somebody said something outright.
select coalesce(sum(o.moved), 0)::float8 as moved from urd_outcome o
where o.space_id = %(space)s and o.id = %(concept)s and o.parent_id = %(parent)s and o.dim_id = %(dim)s
  and not o.is_explicit
  and o.at >= coalesce(greatest(
        (select max(e.at) from urd_outcome e where e.space_id = %(space)s and e.id = %(concept)s
            and e.parent_id = %(parent)s and e.dim_id = %(dim)s and e.is_explicit),
        (select max(c.at) from urd_cause c where c.space_id = %(space)s and c.id = %(concept)s
            and c.parent_id = %(parent)s and c.dim_id = %(dim)s)), '-infinity');

-- name: erase_outcomes
-- Takes what came of notes away, of a session or of triples.
delete from urd_outcome o
where o.space_id = %(space)s
  and (o.session_id = %(session)s
       or (o.id, o.parent_id, o.dim_id) in (
           select * from unnest(%(ids)s::bigint[], %(parents)s::bigint[], %(dims)s::bigint[])));

-- name: erase_memory_conflicts
-- Erases the conflicts about memories that are forgotten.
delete from resolution_queue q
where q.space_id = %(space)s and q.about = 'memory'
  and (q.old_memory = any(%(memories)s::uuid[]) or q.new_memory = any(%(memories)s::uuid[]));

-- name: withdraw_memory_conflicts
-- Closes what waits about memories that were taken back.
update resolution_queue set status = 'dismissed', decided_by = %(by)s, resolved_at = %(at)s
where space_id = %(space)s and about = 'memory' and status = 'pending'
  and (old_memory = any(%(memories)s::uuid[]) or new_memory = any(%(memories)s::uuid[]))
returning id;

-- name: return_conflicts
-- Lets conflicts wait again.
update resolution_queue set status = 'pending', decided_by = null, resolved_at = null
where space_id = %(space)s and id = any(%(conflicts)s::uuid[]);

-- part: came_from_there
-- What `c` came from, as far as that is named.
and (%(session)s::text is null or c.session_id = %(session)s)
and (%(agent)s::text is null or c.agent = %(agent)s)
and (%(origin)s::text is null or c.origin = %(origin)s)
and (%(since)s::timestamptz is null or c.at >= %(since)s)
and (%(until)s::timestamptz is null or c.at < %(until)s)

-- name: take_causes
-- Takes away what came from somewhere; the rows as they were.
delete from urd_cause c
where c.space_id = %(space)s
  and (%(messages)s::text[] is null or c.message_id = any(%(messages)s))
  -- use: came_from_there
returning to_jsonb(c) - 'space_id' as image;

-- name: take_outcomes
-- Takes away what came of notes as somebody reported it; the rows as they were.
delete from urd_outcome c
where c.space_id = %(space)s
  -- use: came_from_there
returning to_jsonb(c) - 'space_id' as image;

-- name: take_votes
-- Takes away what speaks for quarantined triples and came from somewhere; the rows as they were.
delete from cue_quarantine_cause c
where c.space_id = %(space)s
  and (%(messages)s::text[] is null or c.message_id = any(%(messages)s))
  -- use: came_from_there
returning to_jsonb(c) - 'space_id' as image;

-- name: return_cause
-- Puts a cause back as it was.
insert into urd_cause
select * from jsonb_populate_record(null::urd_cause, %(image)s::jsonb || jsonb_build_object('space_id', %(space)s::text))
on conflict do nothing;

-- name: return_outcome
-- Puts an outcome of a note back as it was.
insert into urd_outcome
select * from jsonb_populate_record(null::urd_outcome,
    %(image)s::jsonb || jsonb_build_object('space_id', %(space)s::text))
on conflict do nothing;

-- name: return_vote
-- Puts what speaks for a quarantined triple back as it was, if that is still there.
insert into cue_quarantine_cause
select v.* from jsonb_populate_record(null::cue_quarantine_cause,
    %(image)s::jsonb || jsonb_build_object('space_id', %(space)s::text)) as v
join cue_quarantine q on q.space_id = %(space)s and q.id = v.quarantine_id
on conflict do nothing;

-- name: heard_of
-- Who said a triple, and how.
select agent, session_id, day, origin, message_id, prompt_hash, at, is_isa, confidence, source, from_quarantine, last_at
from urd_cause
where space_id = %(space)s and id = %(concept)s and parent_id = %(parent)s and dim_id = %(dim)s
order by at, agent, session_id;

-- name: outcomes_of_edge
-- What came of notes that showed an edge.
select at, outcome, is_explicit, moved, weight from urd_outcome
where space_id = %(space)s and id = %(concept)s and parent_id = %(parent)s and dim_id = %(dim)s
order by at;

-- name: votes_for_triple
-- What speaks for a triple that only texts say: votes in quarantine, and what texts said when it stood; sessions that
-- are held have no vote.
with voted as (
    select c.agent, c.session_id, c.day, c.origin, c.text_hash, c.at from cue_quarantine_cause c
    join cue_quarantine q on q.space_id = c.space_id and q.id = c.quarantine_id
    join soas s on s.space_id = q.space_id and s.token = q.concept and s.id = %(concept)s
    join soas p on p.space_id = q.space_id and p.token = q.parent and p.id = %(parent)s
    join soas d on d.space_id = q.space_id and d.token = q.dim and d.id = %(dim)s
    where c.space_id = %(space)s and q.status <> 'rejected'
), said as (
    select * from voted
    union all
    select c.agent, c.session_id, c.day, c.origin, c.message_id, c.at from urd_cause c
    where c.space_id = %(space)s and c.id = %(concept)s and c.parent_id = %(parent)s and c.dim_id = %(dim)s
      and c.message_id is not null
      and not exists (select from voted v where v.agent = c.agent and v.session_id = c.session_id and v.day = c.day
                      and v.origin = c.origin)
)
select said.* from said
left join held_session h on h.space_id = %(space)s and h.session_id = said.session_id
where h.session_id is null
order by said.at, said.session_id;

-- name: birth_of
-- How a triple last came into its slot.
select id, parent_id, dim_id, is_isa, confidence, last_confirmed, source, origin, evidence_count, person_stated,
       unconfirmed, created_at, version, reason, at
from urd_history
where space_id = %(space)s and id = %(concept)s and parent_id = %(parent)s and dim_id = %(dim)s and op = 'add'
order by version desc, n desc
limit 1;

-- name: displaced_by
-- The edge that made way when a triple last came into its slot.
select h.parent_id from urd_history h
where h.space_id = %(space)s and h.id = %(concept)s and h.dim_id = %(dim)s and h.op = 'replace'
  and h.parent_id <> %(parent)s
  and h.version = (select max(b.version) from urd_history b
                   where b.space_id = %(space)s and b.id = %(concept)s and b.dim_id = %(dim)s
                     and b.parent_id = %(parent)s and b.op = 'add')
order by h.n desc
limit 1;

-- name: spoken_for
-- The quarantined triples that these are, as numbers, with what became of them.
select q.id as quarantine, q.status, s.id, p.id as parent_id, d.id as dim_id from cue_quarantine q
join soas s on s.space_id = q.space_id and s.token = q.concept
join soas p on p.space_id = q.space_id and p.token = q.parent
join soas d on d.space_id = q.space_id and d.token = q.dim
where q.space_id = %(space)s and q.id = any(%(ids)s::uuid[]);

-- name: wait_in_quarantine
-- Lets what was let in wait again; what it was.
update cue_quarantine q set status = 'waiting', decided_at = null
from soas s, soas p, soas d
where q.space_id = %(space)s and q.status = 'admitted'
  and s.space_id = q.space_id and s.token = q.concept and s.id = %(concept)s
  and p.space_id = q.space_id and p.token = q.parent and p.id = %(parent)s
  and d.space_id = q.space_id and d.token = q.dim and d.id = %(dim)s
returning q.id;

-- name: let_in_again
-- Lets what waits in quarantine be let in again.
update cue_quarantine set status = 'admitted', decided_at = %(at)s
where space_id = %(space)s and id = any(%(ids)s::uuid[]) and status in ('waiting', 'expired');

-- name: image_disputes
-- Conflicts of concepts, and all that wait because of a cycle, without the words of their decision.
select to_jsonb(q) - 'space_id' - 'resolution' - 'reason' as image from resolution_queue q
where q.space_id = %(space)s and q.about = 'edge'
  and (q.concept_id = any(%(concepts)s) or (q.status = 'pending' and q.collision_type = 'cycle'))
order by q.id;

-- name: said_in_conflicts
-- The conflicts in which a triple is the incoming one, those that were decided last first.
select q.*, c.token as concept, d.token as dimension, e.token as existing_parent, i.token as incoming_parent
from resolution_queue q
left join soas c on c.space_id = q.space_id and c.id = q.concept_id
left join soas d on d.space_id = q.space_id and d.id = q.dim_id
left join soas e on e.space_id = q.space_id and e.id = q.existing_parent_id
left join soas i on i.space_id = q.space_id and i.id = q.incoming_parent_id
where q.space_id = %(space)s and q.about = 'edge' and q.collision_type <> 'retraction' and q.status <> 'dismissed'
  and q.concept_id = %(concept)s and q.incoming_parent_id = %(parent)s and q.dim_id = %(dim)s
order by q.resolved_at desc nulls first, q.id desc
for update of q;

-- name: weigh_conflict
-- Lets a waiting conflict weigh what those who are left said.
update resolution_queue q
set incoming_confidence = said.confidence, incoming_origin = said.origin, incoming_source = said.source,
    priority = case when said.is_deliberate then %(deliberate)s else 0 end,
    sightings = greatest(q.sightings - %(fewer)s, 1)
from (
    select max(c.confidence) as confidence, bool_or(c.source = 'gutask') as is_deliberate,
           (array_agg(c.origin order by c.origin = 'person' desc, c.source = 'gutask' desc, c.at))[1] as origin,
           (array_agg(c.source order by c.source = 'gutask' desc, c.at))[1] as source
    from urd_cause c
    where c.space_id = %(space)s and c.id = %(concept)s and c.parent_id = %(parent)s and c.dim_id = %(dim)s
      and c.confidence is not null
) as said
where q.space_id = %(space)s and q.id = %(conflict)s and q.status = 'pending' and said.confidence is not null;

-- name: waiting_for_room
-- What waits for slots that became free, and for cycles that may be open now, the oldest first.
select q.id, q.concept_id, q.incoming_parent_id, q.dim_id, q.incoming_is_isa, q.incoming_confidence, q.incoming_source,
       q.incoming_origin, q.created_at
from resolution_queue q
where q.space_id = %(space)s and q.about = 'edge' and q.status = 'pending' and q.collision_type <> 'retraction'
  and ((q.concept_id, q.dim_id) in (select * from unnest(%(concepts)s::bigint[], %(dims)s::bigint[]))
       or (q.collision_type = 'cycle' and q.dim_id = any(%(dims)s)))
order by q.created_at, q.id;

-- name: return_dispute
-- Lets a conflict be as it was, unless the same waits anew.
update resolution_queue q
set status = was.status, decided_by = was.decided_by, resolved_at = was.resolved_at,
    existing_parent_id = was.existing_parent_id, existing_is_isa = was.existing_is_isa,
    collision_type = was.collision_type, priority = was.priority, incoming_confidence = was.incoming_confidence,
    incoming_source = was.incoming_source, incoming_origin = was.incoming_origin, sightings = was.sightings,
    resolution = case when q.resolution ->> 'decision' = %(withdrawn)s then nullif(q.resolution -> 'was', 'null'::jsonb)
                      when was.status = 'pending' then null else q.resolution end
from jsonb_populate_record(null::resolution_queue, %(image)s::jsonb) as was
where q.space_id = %(space)s and q.id = was.id
  and not (was.status = 'pending' and exists (
      select from resolution_queue o
      where o.space_id = q.space_id and o.about = 'edge' and o.status = 'pending' and o.id <> q.id
        and o.concept_id = q.concept_id and o.dim_id = q.dim_id and o.incoming_parent_id = q.incoming_parent_id))
returning q.resolution -> 'aliases' as aliases, q.existing_parent_id, q.status;

-- name: drop_disputes
-- Takes conflicts away that wait.
delete from resolution_queue
where space_id = %(space)s and id = any(%(ids)s::uuid[]) and status = 'pending' and about = 'edge';

-- name: erase_sentences_in
-- Takes kept sentences and waiting claims of some messages away.
with unsaid as (delete from cue_waiting where space_id = %(space)s and message_id = any(%(messages)s))
delete from soas_sentence where space_id = %(space)s and message_id = any(%(messages)s);

-- name: browse_edges
-- What is believed of concepts, those met last first, along the key of the table.
select u.id, c.token as concept, p.token as parent, d.token as dimension, u.is_isa, u.confidence, u.origin
from urd u
join soas c on c.space_id = u.space_id and c.id = u.id
join soas p on p.space_id = u.space_id and p.id = u.parent_id
join soas d on d.space_id = u.space_id and d.id = u.dim_id
where u.space_id = %(space)s and c.space_id = %(space)s and p.space_id = %(space)s and d.space_id = %(space)s
  and u.parent_id <> u.id and (%(before)s::bigint is null or u.id < %(before)s)
order by u.id desc, u.parent_id desc, u.dim_id desc
limit %(limit)s;
