-- The memory's statements: memories with their vectors, sightings, links and changes, refusals, and keys of calls.

-- name: lock_owner
-- Lets one new memory of an owner be written at a time. What is shared is seen by every agent: who writes it waits
-- for all of them, and they for it, but not for each other.
select case when %(owner)s::text is null
    then pg_advisory_xact_lock(hashtextextended('festinger memory ' || %(space)s::text, 0))
    else pg_advisory_xact_lock_shared(hashtextextended('festinger memory ' || %(space)s::text, 0)) end as shared,
    case when %(owner)s::text is not null
    then pg_advisory_xact_lock(hashtextextended('festinger memory ' || %(space)s::text || ' ' || %(owner)s::text, 0))
    end as own;

-- name: newest_of_owners
-- How far the memories go that an agent sees: its own, and the shared ones. The order names the owner too, because for
-- the server `is null` makes a column no constant: without that it would read and sort all that is shared.
select coalesce((select m.seq from memory m where m.space_id = %(space)s and m.agent_id = %(owner)s
                 order by m.agent_id desc, m.seq desc limit 1), 0) as own,
       coalesce((select m.seq from memory m where m.space_id = %(space)s and m.agent_id is null
                 order by m.agent_id desc, m.seq desc limit 1), 0) as shared;

-- part: of_those_seen
-- Vectors of a model, with the memories that an agent sees. The live ones are asked for by what they are not: a planner
-- that knows no numbers yet would else walk a partial index of them once for every vector.
from memory_vector v
join memory m on m.space_id = v.space_id and m.id = v.memory_id
where v.space_id = %(space)s and v.model = {model} and v.purpose = 'store'
  and m.status <> all(array['superseded', 'merged', 'archived']) and m.kind = any(%(kinds)s)
  and (m.agent_id is null or m.agent_id = %(owner)s)

-- part: the_nearest
-- By the index of the model; in a space with few vectors all of them are read, which is faster and always right.
order by (v.embedding::halfvec({dims}) <=> a.probe)
-- when: whole
    + 0
-- end
limit {near}

-- part: related
-- Of the same subject, or of one attribute of it, as the caller says; those that stand come first, so that nobody hides
-- them behind many that wait or are locked away.
  and m.status in ('active', 'held', 'quarantined') and m.kind = any(%(kinds)s)
  and (m.agent_id is null or m.agent_id = %(owner)s)
order by m.status <> 'active', m.seq desc

-- part: compares
-- Whether a vector `v` is of bare words, which statements are held against each other by.
(v.purpose = 'compare' or v.is_bare)

-- name: candidates_of_each
-- The memories that statements may have to do with, by the number of the statement: the nearest by their stored
-- vectors, the newest of the same slot and some of the same subject. Of them those that a judge would be asked about,
-- with the cosine of their bare words, nearest first; a bar of none lets all of them pass. Where half of the nearest
-- wait or are locked away, the nearest that stand are looked for beside them.
with asked as materialized (
    select * from unnest(%(numbers)s::integer[], %(probes)s::halfvec[], %(bare)s::halfvec[], %(folds)s::bytea[],
        %(gists)s::bytea[], %(subjects)s::text[], %(attributes)s::text[])
        as a (number, probe, bare, fold, gist, subject, attribute)
), near as materialized (
    select a.number, n.id, n.status from asked a
    cross join lateral (
        select v.memory_id as id, m.status
        -- use: of_those_seen
        -- use: the_nearest
    ) as n
), hidden as materialized (
    select a.* from asked a
    where 2 * (select count(*) from near n where n.number = a.number and n.status <> 'active') >= %(limit)s
), found as (
    select n.number, n.id from near n
    union
    select a.number, n.id from hidden a
    cross join lateral (
        select v.memory_id as id
        -- use: of_those_seen
          and m.status = 'active'
        -- use: the_nearest
    ) as n
    union
    select a.number, r.id from asked a
    cross join lateral (
        (select m.id from memory m
         where m.space_id = %(space)s and m.subject_key = a.subject and m.attribute_key = a.attribute
         -- use: related
         limit %(of_slot)s)
        union all
        (select m.id from memory m where m.space_id = %(space)s and m.subject_key = a.subject
         -- use: related
         limit %(of_subject)s)
    ) as r
)
select a.number, m.*, 1 - (v.embedding::halfvec({dims}) <=> a.bare) as similarity
from found f
join asked a on a.number = f.number
join memory m on m.space_id = %(space)s and m.id = f.id
left join memory_vector v on v.space_id = m.space_id and v.memory_id = m.id and v.model = {model}
    and
    -- use: compares
where %(check)s::double precision is null or v.embedding is null
   or 1 - (v.embedding::halfvec({dims}) <=> a.bare) >= %(check)s
   or m.fold = a.fold or m.gist = a.gist or (m.subject_key = a.subject and m.attribute_key = a.attribute)
order by a.number, similarity desc nulls last, m.seq desc;

-- name: believed_size
-- How many memories the server plans with; -1 if it has never looked.
select c.reltuples::double precision as believed from pg_class c where c.oid = 'memory'::regclass;

-- name: size_up
-- Has the server look how large and of what kind the tables are in which learning looks; one that is being built on is
-- left alone.
analyze (skip_locked) memory, memory_vector, judgement;

-- name: count_vectors
-- How many vectors of a model a space has, as far as that matters.
select count(*) as vectors from (
    select 1 from memory_vector v
    where v.space_id = %(space)s and v.model = %(model)s and v.purpose = 'store'
    limit %(limit)s
) as counted;

-- name: related
-- The newest memories of the same slot, and of the same subject.
(select m.id from memory m
 where m.space_id = %(space)s and m.subject_key = %(subject)s and m.attribute_key = %(attribute)s
 -- use: related
 limit %(of_slot)s)
union
(select m.id from memory m where m.space_id = %(space)s and m.subject_key = %(subject)s
 -- use: related
 limit %(of_subject)s);

-- name: by_words
-- The memories that share most words, where there is no vector to go by.
select m.id from memory m
where m.space_id = %(space)s and m.content_tsv @@ to_tsquery('english', %(words)s)
  and m.status in ('active', 'held', 'quarantined') and m.kind = any(%(kinds)s)
  and (m.agent_id is null or m.agent_id = %(owner)s)
order by ts_rank(m.content_tsv, to_tsquery('english', %(words)s)) desc, m.status <> 'active', m.seq desc
limit %(limit)s;

-- name: unscored
-- Some memories, newest first, where there is no vector to hold them against.
select m.*, null::double precision as similarity from memory m
where m.space_id = %(space)s and m.id = any(%(memories)s)
order by m.seq desc;

-- name: newer_scored
-- What was stored since somebody looked for candidates, with the cosine of its bare words to a probe; only what a
-- judge would be asked about.
select newer.* from (
    select m.*, 1 - (v.embedding::halfvec({dims}) <=> %(probe)s) as similarity
    from memory m
    left join memory_vector v on v.space_id = m.space_id and v.memory_id = m.id and v.model = {model}
        and
        -- use: compares
    where m.space_id = %(space)s and m.status in ('active', 'held', 'quarantined') and m.kind = any(%(kinds)s)
      and ((m.agent_id = %(owner)s and m.seq > %(own)s) or (m.agent_id is null and m.seq > %(shared)s))
) as newer
where %(check)s::double precision is null or newer.similarity is null or newer.similarity >= %(check)s
   or newer.fold = %(fold)s or newer.gist = %(gist)s
   or (newer.subject_key = %(subject)s and newer.attribute_key = %(attribute)s)
order by newer.seq
limit %(limit)s;

-- name: newer_unscored
-- The same without a vector.
select m.*, null::double precision as similarity from memory m
where m.space_id = %(space)s and m.status in ('active', 'held', 'quarantined') and m.kind = any(%(kinds)s)
  and ((m.agent_id = %(owner)s and m.seq > %(own)s) or (m.agent_id is null and m.seq > %(shared)s))
order by m.seq
limit %(limit)s;

-- part: vectors
-- What is kept of the vectors of a memory: one to search by and one to compare with, or one that serves both.
select v.purpose, v.text_hash, v.embedding, v.purpose = 'store' and %(is_bare)s as is_bare
from (values ('store', %(store_hash)s::bytea, %(store)s::halfvec),
             ('compare', %(compare_hash)s::bytea, %(compare)s::halfvec)) as v (purpose, text_hash, embedding)
where v.embedding is not null and (v.purpose = 'store' or not %(is_bare)s)

-- name: put_memory
-- Stores a new memory with its first sighting and its vectors; no row if the same one was stored meanwhile.
with stored as (
    insert into memory (space_id, id, agent_id, kind, content, subject, subject_key, attribute_key, value_key, fold,
        gist, origin, trust, source, source_tag, source_confidence, session_id, episode_id, turn_id, status, pending,
        superseded_by, superseded_at, valid_from, valid_to, immutable, confidence, weight_alpha, weight_beta,
        event_time, tags, metadata, created_at, updated_at)
    values (%(space)s, %(id)s, %(owner)s, %(kind)s, %(content)s, %(subject)s, %(subject_key)s, %(attribute_key)s,
        %(value_key)s, %(fold)s, %(gist)s, %(origin)s, %(trust)s, %(source)s, %(source_tag)s, %(source_confidence)s,
        nullif(%(session)s::text, ''), %(episode)s, %(turn)s, %(status)s, %(pending)s, %(superseded_by)s,
        %(superseded_at)s, %(valid_from)s, %(valid_to)s, %(immutable)s, %(confidence)s, %(alpha)s, %(beta)s,
        %(event_time)s, %(tags)s, %(metadata)s::jsonb, %(at)s, %(at)s)
    on conflict do nothing
    returning *
), first_sighting as (
    insert into memory_sighting (space_id, id, memory_id, agent_id, session_id, day, origin, trust, wording, source,
        episode_id, turn_id, at, counted, uncounted_because, told)
    select s.space_id, s.id, s.id, %(agent)s, %(session)s, %(day)s, s.origin, s.trust, s.content, s.source,
        s.episode_id, s.turn_id, s.created_at, %(counted)s, %(uncounted)s,
        jsonb_build_object('subject', s.subject, 'subject_key', s.subject_key, 'event_time', s.event_time, 'tags', s.tags)
    from stored s
), stored_vector as (
    insert into memory_vector (space_id, memory_id, model, purpose, dims, text_hash, embedding, is_bare, at)
    select s.space_id, s.id, %(model)s, v.purpose, %(dims)s, v.text_hash, v.embedding, v.is_bare, s.created_at
    from stored s cross join (
        -- use: vectors
    ) as v
)
select * from stored;

-- name: put_vectors
-- Keeps the vectors of a memory, in place of those of the same model.
with kept as (
    insert into memory_vector (space_id, memory_id, model, purpose, dims, text_hash, embedding, is_bare, at)
    select %(space)s, %(memory)s, %(model)s, v.purpose, %(dims)s, v.text_hash, v.embedding, v.is_bare, %(at)s
    from (
        -- use: vectors
    ) as v
    on conflict (space_id, memory_id, model, purpose) do update
    set dims = excluded.dims, text_hash = excluded.text_hash, embedding = excluded.embedding,
        is_bare = excluded.is_bare, at = excluded.at
)
delete from memory_vector v
where %(is_bare)s and v.space_id = %(space)s and v.memory_id = %(memory)s and v.model = %(model)s
  and v.purpose = 'compare';

-- name: unembedded
-- Memories without a vector of a model to search by or to compare with, of these words and in this context, and whether
-- it is only the context that changed; the newest day first, and of a day the heaviest.
select m.*, exists (
    select 1 from memory_vector v
    where v.space_id = m.space_id and v.memory_id = m.id and v.model = %(model)s and (v.is_bare or v.purpose = 'compare')
      and v.text_hash = sha256(convert_to(m.content, 'UTF8'))) as was_compared
from memory m
where m.space_id = %(space)s and m.status in ('active', 'held', 'quarantined')
  and 2 > (
      select coalesce(sum(case when v.is_bare then 2 else 1 end), 0) from memory_vector v
      where v.space_id = m.space_id and v.memory_id = m.id and v.model = %(model)s
        and v.text_hash = sha256(convert_to(case v.purpose when 'compare' then m.content
            when 'store' then coalesce(m.content_contextualized, m.content) end, 'UTF8')))
order by date_trunc('day', m.created_at, 'UTC') desc, m.weight_alpha / (m.weight_alpha + m.weight_beta) desc, m.seq desc
limit %(limit)s;

-- name: find_memory
-- One memory.
select m.* from memory m where m.space_id = %(space)s and m.id = %(id)s;

-- name: load_existing_memories
-- Some memories.
select m.* from memory m where m.space_id = %(space)s and m.id = any(%(memories)s) order by m.id;

-- name: lock_memories
-- Some memories, kept from changing until the transaction ends; always in one order, so that nobody waits in a ring.
select m.* from memory m where m.space_id = %(space)s and m.id = any(%(memories)s) order by m.id for update;

-- name: statements_of_session
-- What persons stated in a session before a turn, the newest first.
select m.* from memory m
where m.space_id = %(space)s and m.session_id = %(session)s and m.status = 'active' and m.origin = 'person'
  and m.turn_id is distinct from %(turn)s
order by m.seq desc
limit %(limit)s;

-- name: newest_statements
-- What an agent knows of what persons said, the newest first; not what a turn itself said.
select m.* from memory m
where m.space_id = %(space)s and (m.agent_id = %(agent)s or m.agent_id is null) and m.status = 'active'
  and m.source = 'conversation' and m.turn_id is distinct from %(turn)s
order by m.seq desc
limit %(limit)s;

-- name: learned_from_turns
-- What was learned from the turns of an episode.
select m.* from memory m
where m.space_id = %(space)s and m.session_id = %(session)s and m.turn_id = any(%(turns)s)
order by m.seq;

-- name: stated_in_turns
-- What was stated in turns and stands, in the words of then; rules, preferences, decisions and corrections bind.
select s.turn_id, s.wording, m.confidence,
    m.kind in ('procedural', 'preference', 'correction') or 'decision' = any(m.tags) or exists (
        select from memory_link l where l.space_id = m.space_id and l.from_id = m.id and l.relation = 'supersedes'
          and l.undone_at is null) as is_binding
from memory_sighting s
join memory m on m.space_id = s.space_id and m.id = s.memory_id
where s.space_id = %(space)s and s.turn_id = any(%(turns)s::uuid[]) and m.status = 'active'
order by s.at, s.id;

-- name: ids_that_begin
-- The memories whose id begins so.
select m.id from memory m where m.space_id = %(space)s and m.id::text like %(prefix)s || '%%' limit 11;

-- name: restate
-- Brings a memory into another state.
update memory set status = %(status)s, pending = %(pending)s, superseded_by = %(superseded_by)s,
    superseded_at = %(superseded_at)s, valid_from = %(valid_from)s, valid_to = %(valid_to)s,
    immutable = %(immutable)s, version = version + 1, updated_at = %(at)s
where space_id = %(space)s and id = %(id)s
returning *;

-- name: reword
-- Gives a memory other words.
update memory set content = %(content)s, compressed = null, fold = %(fold)s,
    gist = %(gist)s, subject = %(subject)s, subject_key = %(subject_key)s, attribute_key = %(attribute_key)s,
    value_key = %(value_key)s, version = version + 1, updated_at = %(at)s
where space_id = %(space)s and id = %(id)s
returning *;

-- name: annotate
-- Notes something beside the words of a memory.
update memory set content_contextualized = %(content_contextualized)s, compressed = %(compressed)s,
    utility_score = %(utility_score)s, tags = %(tags)s, metadata = %(metadata)s::jsonb, version = version + 1,
    updated_at = %(at)s
where space_id = %(space)s and id = %(id)s
returning *;

-- name: heaviest
-- The active memories of an owner by the center of their weight after decay, the heaviest first.
select m.*, held.center from memory m
cross join lateral (
    select greatest(0, extract(epoch from %(at)s::timestamptz
        - greatest(m.created_at, m.last_accessed, m.last_confirmed))) / 86400 as days
) as idle
cross join lateral (
    select (m.weight_alpha / (m.weight_alpha + m.weight_beta + case when m.immutable then 0 else
        %(lost_a_day)s * idle.days + case when idle.days >= %(stale_after)s and m.access_count < %(stale_below)s
            then %(lost_when_stale)s else 0 end end))::double precision as center
) as held
where m.space_id = %(space)s and m.status = 'active' and (m.agent_id is null or m.agent_id = %(agent)s)
order by held.center desc, m.seq
limit %(limit)s;

-- name: causes_of
-- The sightings that are evidence for memories: of their own, and for what was derived those of its sources. What
-- the agent thought itself and what a job derived is none.
with said as (
    select m.id as memory_id, m.id as source_id from memory m where m.space_id = %(space)s and m.id = any(%(memories)s)
    union
    select l.from_id, l.to_id from memory_link l
    join memory d on d.space_id = l.space_id and d.id = l.from_id and d.kind in ('insight', 'narrative', 'tension')
    where l.space_id = %(space)s and l.from_id = any(%(memories)s) and l.relation = 'derives_from'
      and l.undone_at is null
)
select c.memory_id, array_agg(c.id order by c.id) as sightings, array_agg(distinct c.origin) as origins,
    max(c.day) - min(c.day) as days
from (
    select distinct on (said.memory_id, s.agent_id, s.session_id, s.day, s.origin) said.memory_id, s.id, s.origin, s.day
    from said
    join memory m on m.space_id = %(space)s and m.id = said.source_id and m.source_tag not like 'internal%%'
    join memory_sighting s on s.space_id = m.space_id and s.memory_id = m.id and s.counted and s.origin <> 'job'
        and s.id <> all(%(spent)s)
    order by said.memory_id, s.agent_id, s.session_id, s.day, s.origin, s.id
) as c
group by c.memory_id;

-- name: confirm_memory
-- Notes that a memory was said again: fills what was empty, unites tags, overwrites nothing that was said.
update memory set confirmation_count = confirmation_count + 1, last_confirmed = %(at)s,
    subject = coalesce(subject, %(subject)s), subject_key = coalesce(subject_key, %(subject_key)s),
    event_time = coalesce(event_time, %(event_time)s),
    tags = (select coalesce(array_agg(distinct t order by t), '{}') from unnest(tags || %(tags)s::text[]) as t),
    updated_at = %(at)s
where space_id = %(space)s and id = %(id)s
returning *;

-- name: revalue
-- Keeps what is held of a memory now.
update memory set confidence = %(confidence)s, evidence_count = %(evidence_count)s, corroborations = %(corroborations)s,
    contradictions = %(contradictions)s, passive_count = %(passive_count)s, confidence_anchor = %(confidence_anchor)s,
    confidence_ceiling = %(confidence_ceiling)s, weight_ceiling = %(weight_ceiling)s, weight_alpha = %(weight_alpha)s,
    weight_beta = %(weight_beta)s, cause_count = cause_count + %(causes)s, updated_at = %(at)s
where space_id = %(space)s and id = %(id)s
returning *;

-- name: note_accesses
-- Notes that a memory was read and used; only the last times are kept.
update memory set access_count = access_count + cardinality(%(times)s::timestamptz[]),
    last_accessed = greatest(last_accessed, (select max(t) from unnest(%(times)s::timestamptz[]) as t)),
    access_times = (access_times || %(times)s::timestamptz[])
        [greatest(1, cardinality(access_times || %(times)s::timestamptz[]) - %(keep)s::integer + 1):]
where space_id = %(space)s and id = %(id)s;

-- name: add_confirmations
-- Moves the count of confirmations and causes, when a twin is merged or parted.
update memory set confirmation_count = greatest(0, confirmation_count + %(confirmations)s),
    cause_count = greatest(0, cause_count + %(causes)s), updated_at = %(at)s
where space_id = %(space)s and id = %(id)s
returning *;

-- name: set_pending
-- Marks whether a judgement about a memory is open.
update memory set pending = %(pending)s, updated_at = %(at)s
where space_id = %(space)s and id = %(id)s and pending <> %(pending)s;

-- name: pending_memories
-- What is marked as having a judgement open.
select m.id from memory m where m.space_id = %(space)s and m.pending order by m.seq;

-- name: put_sighting
-- Notes that a memory was said again.
insert into memory_sighting (space_id, id, memory_id, agent_id, session_id, day, origin, trust, wording, source,
    episode_id, turn_id, similarity, judgement_id, at, counted, uncounted_because, told)
values (%(space)s, %(id)s, %(memory)s, %(agent)s, %(session)s, %(day)s, %(origin)s, %(trust)s, %(wording)s, %(source)s,
    %(episode)s, %(turn)s, %(similarity)s, %(judgement)s, %(at)s, %(counted)s, %(uncounted)s,
    jsonb_build_object('subject', %(subject)s::text, 'subject_key', %(subject_key)s::text,
        'event_time', %(event_time)s::timestamptz, 'tags', %(tags)s::text[]));

-- name: counted_causes
-- What of a cause has counted for a memory: itself, and all of its agent, day and origin.
select count(*) filter (where s.session_id = %(session)s) as of_cause, count(*) as of_agent_today
from memory_sighting s
where s.space_id = %(space)s and s.memory_id = %(memory)s and s.agent_id = %(agent)s and s.day = %(day)s
  and s.origin = %(origin)s and s.counted;

-- name: births_of_cause
-- How many memories a cause brought since a moment.
select count(*) as births from memory_sighting s
where s.space_id = %(space)s and s.session_id = %(session)s and s.agent_id = %(agent)s and s.origin = %(origin)s
  and s.at > %(since)s and s.id = s.memory_id;

-- name: sightings_of
-- Each time a memory was said, oldest first.
select s.* from memory_sighting s
where s.space_id = %(space)s and s.memory_id = %(memory)s
order by s.at, s.id
limit %(limit)s;

-- name: count_said
-- How often something was learnt or learnt again since a time.
select count(*) as said from memory_sighting s where s.space_id = %(space)s and s.at > %(since)s;

-- name: uncount_sighting
-- Takes the vote of a sighting away.
update memory_sighting set counted = false, uncounted_because = %(because)s
where space_id = %(space)s and id = %(id)s and counted;

-- name: count_sighting
-- Lets a sighting of something that was locked away count after all.
update memory_sighting set counted = true, uncounted_because = null
where space_id = %(space)s and id = %(id)s and not counted;

-- name: move_sightings
-- Gives the sightings of a twin to the memory that stays; the change remembers which merges had brought them before.
with before as (
    select jsonb_object_agg(s.id, s.moved_by) as moved from memory_sighting s
    where s.space_id = %(space)s and s.memory_id = %(duplicate)s and s.moved_by is not null
), noted as (
    update memory_change c set after = c.after || jsonb_build_object('moved', b.moved) from before b
    where c.space_id = %(space)s and c.id = %(change)s and b.moved is not null
)
update memory_sighting s set memory_id = %(into)s, moved_by = %(change)s
where s.space_id = %(space)s and s.memory_id = %(duplicate)s;

-- name: move_sightings_back
-- Takes a merge back; what an earlier merge had brought can be taken back after it.
update memory_sighting s set memory_id = %(duplicate)s, moved_by = (
    select (c.after -> 'moved' ->> s.id::text)::uuid from memory_change c
    where c.space_id = s.space_id and c.id = %(change)s)
where s.space_id = %(space)s and s.memory_id = %(into)s and s.moved_by = %(change)s;

-- name: put_links
-- Joins memories.
insert into memory_link (space_id, from_id, to_id, relation, judgement_id, at)
select %(space)s, %(from)s, l.to_id, %(relation)s, l.judgement_id, %(at)s
from unnest(%(to)s::uuid[], %(judgements)s::uuid[]) as l (to_id, judgement_id)
on conflict (space_id, from_id, to_id, relation) do update set undone_at = null, at = excluded.at;

-- name: undo_links
-- Parts memories again; that they were joined stays known.
update memory_link set undone_at = %(at)s
where space_id = %(space)s and from_id = %(from)s and to_id = any(%(to)s) and relation = %(relation)s
  and undone_at is null;

-- name: links_of
-- How a memory is joined with others, in both directions.
select l.from_id, l.to_id, l.relation, l.judgement_id, l.at from memory_link l
where l.space_id = %(space)s and (l.from_id = %(memory)s or l.to_id = %(memory)s) and l.undone_at is null
order by l.at, l.from_id, l.to_id;

-- name: links_from
-- What a memory points at by one relation.
select l.to_id from memory_link l
where l.space_id = %(space)s and l.from_id = %(memory)s and l.relation = %(relation)s and l.undone_at is null
order by l.at, l.to_id;

-- name: derivation
-- Everything that some memories derive from, however far back, with the trust in it; cycles are cut.
with recursive line (id, depth) as (
    select l.to_id, 1 from memory_link l
    where l.space_id = %(space)s and l.from_id = any(%(memories)s) and l.relation = 'derives_from'
      and l.undone_at is null
    union
    select l.to_id, line.depth + 1 from line
    join memory_link l on l.space_id = %(space)s and l.from_id = line.id and l.relation = 'derives_from'
        and l.undone_at is null
    where line.depth < %(depth)s
)
select line.id, min(line.depth) as depth, min(m.trust) as trust from line
left join memory m on m.space_id = %(space)s and m.id = line.id
group by line.id
order by depth, line.id;

-- name: write_change
-- Writes down what was done to memories.
insert into memory_change (space_id, id, op, memory_ids, before, after, reason, by, cause, judgement_id, at)
values (%(space)s, %(id)s, %(op)s, %(memories)s, %(before)s::jsonb, %(after)s::jsonb, %(reason)s, %(by)s,
    %(cause)s::jsonb, %(judgement)s, %(at)s);

-- name: find_change
-- One change.
select c.* from memory_change c where c.space_id = %(space)s and c.id = %(id)s;

-- name: lock_change
-- One change, kept from changing until the transaction ends.
select c.* from memory_change c where c.space_id = %(space)s and c.id = %(id)s for update;

-- name: changes_of
-- Every change of some memories, oldest first.
select c.* from memory_change c
where c.space_id = %(space)s and c.memory_ids && %(memories)s::uuid[]
order by c.at, c.id;

-- name: changes
-- What was done, newest first; to one memory, or without what was done to other agents' own, if that is asked for.
-- The latest of each kind are read along the index, so that nobody reads all to see some.
select c.* from unnest(%(ops)s::text[]) as o (op)
cross join lateral (
    select c.* from memory_change c
    where c.space_id = %(space)s and c.op = o.op
      and (%(memory)s::uuid is null or c.memory_ids @> array[%(memory)s::uuid])
      and (%(agent)s::text is null or not exists (
          select 1 from memory m where m.space_id = c.space_id and m.id = any(c.memory_ids)
            and m.agent_id is not null and m.agent_id <> %(agent)s))
      and (%(at)s::timestamptz is null or (c.at, c.id) < (%(at)s, %(after)s::uuid))
    order by c.at desc, c.id desc
    limit %(limit)s
) as c
order by c.at desc, c.id desc
limit %(limit)s;

-- name: mark_undone
-- Notes that a change was taken back.
update memory_change set undone_at = %(at)s, undone_by = %(by)s
where space_id = %(space)s and id = %(id)s and undone_at is null;

-- name: believed
-- Which of some memories were believed at a moment, and held in the world at another; none for any moment.
-- A memory's state at a moment is what the last change before it left; before the first one, what that one found.
select m.id from memory m
where m.space_id = %(space)s and m.id = any(%(memories)s)
  and (%(as_of)s::timestamptz is null or (
      m.created_at <= %(as_of)s and 'active' = coalesce(
          (select t.status from (
               select c.at, c.id, 0 as n, c.after -> 'memories' -> (m.id::text) ->> 'status' as status
               from memory_change c where c.space_id = m.space_id and c.memory_ids @> array[m.id]
               union all
               select c.undone_at, c.id, 1, c.before -> 'memories' -> (m.id::text) ->> 'status'
               from memory_change c where c.space_id = m.space_id and c.memory_ids @> array[m.id]
                 and c.undone_at is not null
           ) as t where t.status is not null and t.at <= %(as_of)s order by t.at desc, t.n desc, t.id desc limit 1),
          (select c.before -> 'memories' -> (m.id::text) ->> 'status' from memory_change c
           where c.space_id = m.space_id and c.memory_ids @> array[m.id]
             and c.before -> 'memories' -> (m.id::text) ->> 'status' is not null
           order by c.at, c.id limit 1),
          m.status)))
  and (%(as_of)s::timestamptz is not null or m.status = 'active'
       or (%(valid_at)s::timestamptz is not null and m.status = 'superseded'))
  and (%(valid_at)s::timestamptz is null or (
      (m.valid_from is null or m.valid_from <= %(valid_at)s) and (m.valid_to is null or m.valid_to > %(valid_at)s)));

-- name: wordings_at
-- How memories were worded at a moment, where an edit or its undoing since then gave them other words.
select distinct on (t.id) t.id, t.words from (
    select m.id, c.at, c.id as change, c.before -> 'memories' -> (m.id::text) as words
    from unnest(%(memories)s::uuid[]) as m (id)
    join memory_change c on c.space_id = %(space)s and c.memory_ids @> array[m.id] and c.op = 'edit'
    union all
    select m.id, c.undone_at, c.id, c.after -> 'memories' -> (m.id::text)
    from unnest(%(memories)s::uuid[]) as m (id)
    join memory_change c on c.space_id = %(space)s and c.memory_ids @> array[m.id] and c.op = 'edit'
        and c.undone_at is not null
) as t
where t.at > %(as_of)s and t.words ? 'content'
order by t.id, t.at, t.change;

-- name: chain_back
-- What a memory replaced, and what that replaced, nearest first.
with recursive line (id, depth) as (
    select m.id, 1 from memory m where m.space_id = %(space)s and m.superseded_by = %(memory)s
    union
    select m.id, line.depth + 1 from line
    join memory m on m.space_id = %(space)s and m.superseded_by = line.id
    where line.depth < %(depth)s
)
select m.*, line.depth from line
join memory m on m.space_id = %(space)s and m.id = line.id
order by line.depth, m.superseded_at desc, m.id;

-- name: chain_on
-- What replaced a memory, and what replaced that, nearest first.
with recursive line (id, depth) as (
    select m.superseded_by, 1 from memory m
    where m.space_id = %(space)s and m.id = %(memory)s and m.superseded_by is not null
    union
    select m.superseded_by, line.depth + 1 from line
    join memory m on m.space_id = %(space)s and m.id = line.id and m.superseded_by is not null
    where line.depth < %(depth)s
)
select m.*, line.depth from line
join memory m on m.space_id = %(space)s and m.id = line.id
order by line.depth;

-- part: as_filtered
-- What of some memories a person or an agent asks for.
  and (%(agent)s::text is null or m.agent_id is null or m.agent_id = %(agent)s)
  and (%(statuses)s::text[] is null or m.status = any(%(statuses)s))
  and (%(kinds)s::text[] is null or m.kind = any(%(kinds)s))
  and (%(origins)s::text[] is null or m.origin = any(%(origins)s))
  and (%(subject)s::text is null or m.subject_key = %(subject)s)
  and (%(tag)s::text is null or %(tag)s = any(m.tags))
  and (%(since)s::timestamptz is null or m.created_at >= %(since)s)
  and (%(until)s::timestamptz is null or m.created_at <= %(until)s)

-- name: page
-- Memories as programs list them, newest first.
select m.* from memory m
where m.space_id = %(space)s
  -- use: as_filtered
  and (%(words)s::text is null or m.content_tsv @@ websearch_to_tsquery(m.language, %(words)s))
  and (%(as_of)s::timestamptz is null or m.created_at <= %(as_of)s)
  and (%(after)s::bigint is null or m.seq < %(after)s)
order by m.seq desc
limit %(limit)s;

-- name: browse
-- Memories as people list them, newest first, along the index of their times.
select m.* from memory m
where m.space_id = %(space)s
  -- use: as_filtered
  and (%(at)s::timestamptz is null or (m.created_at, m.id) < (%(at)s, %(after)s::uuid))
order by m.created_at desc, m.id desc
limit %(limit)s;

-- name: weight_histogram
-- How many of the newest active memories have which weight, in ten steps from 0 to 1.
select step, count(w.center) as memories
from generate_series(1, 10) as step
left join (
    select m.weight_alpha / (m.weight_alpha + m.weight_beta) as center from memory m
    where m.space_id = %(space)s and m.status = 'active'
    order by m.created_at desc limit %(newest)s
) as w on least(width_bucket(w.center, 0, 1, 10), 10) = step
group by step order by step;

-- name: owners
-- The agents that have memories of their own, one step along the index for each.
with recursive owner (id) as (
    select (select min(m.agent_id) from memory m where m.space_id = %(space)s)
    union all
    select (select min(m.agent_id) from memory m where m.space_id = %(space)s and m.agent_id > owner.id)
    from owner where owner.id is not null
)
select owner.id from owner where owner.id is not null limit %(limit)s;

-- name: subjects
-- What live memories are about, in order of the alphabet, one step along the index for each.
with recursive subject (key, number) as (
    select (select min(m.subject_key) from memory m where m.space_id = %(space)s
            and m.status in ('active', 'held', 'quarantined') and m.subject_key > %(after)s), 1
    union all
    select (select min(m.subject_key) from memory m where m.space_id = %(space)s
            and m.status in ('active', 'held', 'quarantined') and m.subject_key > subject.key), subject.number + 1
    from subject where subject.key is not null and subject.number < %(limit)s
)
select subject.key, named.name, named.memories from subject
cross join lateral (
    select max(m.subject) as name, count(*) as memories from memory m
    where m.space_id = %(space)s and m.status in ('active', 'held', 'quarantined') and m.subject_key = subject.key
      and (%(agent)s::text is null or m.agent_id is null or m.agent_id = %(agent)s)
) as named
where named.memories > 0
order by subject.key;

-- name: about
-- The live memories of a subject, by their attribute, the newest first.
select m.* from memory m
where m.space_id = %(space)s and m.status in ('active', 'held', 'quarantined') and m.subject_key = %(subject)s
  and (%(agent)s::text is null or m.agent_id is null or m.agent_id = %(agent)s)
order by m.attribute_key nulls last, m.seq desc
limit %(limit)s;

-- name: daily_kinds
-- How many memories of each kind came on each day since a moment.
select (m.created_at at time zone 'UTC')::date as day, m.kind as name, count(*) as number from memory m
where m.space_id = %(space)s and m.created_at >= %(since)s
group by 1, 2 order by 1, 2;

-- part: section_and_place
-- The section of a memory in a brief, and its place there: the heaviest first.
select m.*, kind_of.section,
    row_number() over (partition by kind_of.section order by m.weight_alpha / (m.weight_alpha + m.weight_beta) desc,
        m.cause_count desc, m.seq desc) as place
from m
cross join lateral (select case when m.immutable then 'boundary' when 'goal' = any(m.tags) then 'goal'
    when 'decision' = any(m.tags) then 'decision' when m.kind = 'preference' then 'preference'
    when m.kind = 'procedural' then 'rule' else 'known' end as section) as kind_of

-- name: brief_of_newest
-- The heaviest memories of each section of an agent, its own and the shared ones, among the newest that are marked, that
-- are preferences and rules, and of any kind. Those without an agent are ordered by it too: a planner takes no null for a
-- constant, and would else read them all to sort them.
with m as (
    select distinct on (m.id) m.* from (
    (select m.* from memory m where m.space_id = %(space)s and m.agent_id = %(agent)s and m.status = 'active'
        and (m.immutable or m.tags && array['goal', 'decision']) order by m.seq desc limit %(newest)s)
    union all
    (select m.* from memory m where m.space_id = %(space)s and m.agent_id is null and m.status = 'active'
        and (m.immutable or m.tags && array['goal', 'decision']) order by m.agent_id desc, m.seq desc limit %(newest)s)
    union all
    (select m.* from memory m where m.space_id = %(space)s and m.agent_id = %(agent)s and m.status = 'active'
        and m.kind in ('preference', 'procedural') order by m.seq desc limit %(newest)s)
    union all
    (select m.* from memory m where m.space_id = %(space)s and m.agent_id is null and m.status = 'active'
        and m.kind in ('preference', 'procedural') order by m.agent_id desc, m.seq desc limit %(newest)s)
    union all
    (select m.* from memory m where m.space_id = %(space)s and m.agent_id = %(agent)s and m.status = 'active'
        and m.kind <> 'narrative' order by m.seq desc limit %(others)s)
    union all
    (select m.* from memory m where m.space_id = %(space)s and m.agent_id is null and m.status = 'active'
        and m.kind <> 'narrative' order by m.agent_id desc, m.seq desc limit %(others)s)
    ) as m
)
select * from (
    -- use: section_and_place
) as m
where m.place <= %(limit)s
order by m.section, m.place;

-- name: brief_of_topic
-- The heaviest memories of each section about a topic.
with m as (
    select m.* from memory m
    where m.space_id = %(space)s and m.status = 'active' and m.kind <> 'narrative'
      and (m.agent_id is null or m.agent_id = %(agent)s)
      and (m.subject_key = %(subject)s or m.content_tsv @@ websearch_to_tsquery(m.language, %(topic)s))
)
select * from (
    -- use: section_and_place
) as m
where m.place <= %(limit)s
order by m.section, m.place;

-- name: refuse
-- Keeps a statement that was not learnt, and why.
insert into refusal (space_id, id, reason, detail, text, agent_id, session_id, day, origin, at)
values (%(space)s, %(id)s, %(reason)s, %(detail)s, %(text)s, %(agent)s, %(session)s, %(day)s, %(origin)s, %(at)s);

-- name: twins_of_each
-- What was said in the same words as each statement, or in words of the same gist; the best first.
select said.number, m.* from unnest(%(numbers)s::integer[], %(folds)s::bytea[], %(gists)s::bytea[], %(days)s::date[])
    as said (number, fold, gist, day)
cross join lateral (
    select m.* from memory m
    where m.space_id = %(space)s and m.status in ('active', 'held', 'quarantined') and m.kind = any(%(kinds)s)
      and (m.agent_id is null or m.agent_id = %(owner)s)
      and (m.fold = said.fold or m.gist = said.gist)
      and (m.event_day is null or said.day is null or m.event_day = said.day)
      and (%(except)s::uuid is null or m.id <> %(except)s)
    order by m.fold <> said.fold, m.status <> 'active', m.status <> 'held',
             m.event_day is distinct from said.day, m.agent_id is null, m.seq
    limit %(limit)s
) as m
order by said.number;

-- name: find_keys
-- What calls with these keys did.
select k.key, k.body_hash, k.result from learn_key k
where k.space_id = %(space)s and k.agent_id = %(agent)s and k.key = any(%(keys)s) and k.at > %(since)s;

-- name: lock_key
-- Lets one call with a key be made at a time.
select pg_advisory_xact_lock(hashtextextended('festinger learn ' || %(space)s::text || ' ' || %(agent)s::text || ' '
    || %(key)s::text, 0));

-- name: keep_key
-- Keeps what a call with a key did.
insert into learn_key (space_id, agent_id, key, body_hash, result, at)
values (%(space)s, %(agent)s, %(key)s, %(body_hash)s, %(result)s::jsonb, %(at)s)
on conflict (space_id, agent_id, key) do update
set body_hash = excluded.body_hash, result = excluded.result, at = excluded.at;

-- name: prune_keys
-- Takes away keys that are too old to mean anything.
delete from learn_key where space_id = %(space)s and at < %(before)s;

-- name: waiting_counts
-- How many memories of a space wait for something.
select count(*) filter (where m.pending) as pending, count(*) filter (where m.status = 'held') as held,
       count(*) filter (where m.status = 'quarantined') as quarantined
from memory m where m.space_id = %(space)s and (m.pending or m.status in ('held', 'quarantined'));

-- name: count_unembedded
-- How many memories of a space have no vector of a model, as far as that matters.
select count(*) as missing from (
    select 1 from memory m
    where m.space_id = %(space)s and m.status in ('active', 'held', 'quarantined')
      and not exists (
          select from memory_vector v
          where v.space_id = m.space_id and v.memory_id = m.id and v.model = %(model)s and
          -- use: compares
      )
    limit %(limit)s
) as counted;

-- name: open_episode
-- Opens an episode of a session unless one is open.
insert into episode (space_id, id, agent_id, session_id, title, opened_at, last_at, continues, evaluation)
values (%(space)s, %(id)s, %(agent)s, %(session)s, %(title)s, %(at)s, %(at)s, %(continues)s, %(evaluation)s)
on conflict (space_id, agent_id, session_id) where state = 'open' do nothing
returning *;

-- name: lock_open_episode
-- The open episode of a session, kept from changing until the transaction ends.
select e.* from episode e
where e.space_id = %(space)s and e.agent_id = %(agent)s and e.session_id = %(session)s and e.state = 'open'
for update;

-- name: lock_open_episodes
-- The open episodes of some sessions, kept from changing until the transaction ends.
select e.* from episode e
join unnest(%(agents)s::text[], %(sessions)s::text[]) as wanted (agent, session)
  on e.agent_id = wanted.agent and e.session_id = wanted.session
where e.space_id = %(space)s and e.state = 'open'
order by e.id
for update of e;

-- name: last_episode
-- The episode of a session that was opened last.
select e.id, e.evaluation from episode e
where e.space_id = %(space)s and e.agent_id = %(agent)s and e.session_id = %(session)s
order by e.seq desc limit 1;

-- name: find_episode
-- One episode.
select e.* from episode e where e.space_id = %(space)s and e.id = %(id)s;

-- name: lock_episode
-- One episode, kept from changing until the transaction ends.
select e.* from episode e where e.space_id = %(space)s and e.id = %(id)s for update;

-- name: episodes
-- Episodes as people list them, the newest first.
select e.* from episode e
where e.space_id = %(space)s and (%(agent)s::text is null or e.agent_id = %(agent)s)
  and (%(session)s::text is null or e.session_id = %(session)s)
  and (%(state)s::text is null or e.state = %(state)s)
  and (%(before)s::bigint is null or e.seq < %(before)s)
order by e.seq desc
limit %(limit)s;

-- name: stale_episodes
-- Open episodes in which nothing was said for long, or that have been open for too long, the oldest first.
select e.id, case when e.last_at <= %(idle)s then 'idle' else 'hours' end as closed_by from episode e
where e.space_id = %(space)s and e.state = 'open' and (e.last_at <= %(idle)s or e.opened_at <= %(old)s)
order by e.last_at
limit %(limit)s;

-- name: unfinished_episodes
-- Closed episodes from which nothing was learnt long after they were closed: whoever was to do it has died.
select e.id from episode e
where e.space_id = %(space)s and e.state <> 'open' and e.facts_at is null and e.closed_at < %(before)s
order by e.closed_at
limit %(limit)s;

-- name: add_turns
-- Adds turns to episodes, each once, and notes that something was said in them.
with added as (
    insert into episode_turn (space_id, episode_id, seq, turn_id, at, role, origin, content, surfaced)
    select %(space)s, t.episode, t.seq, t.turn, t.at, t.role, t.origin, t.content, t.surfaced::uuid[]
    from unnest(%(episode)s::uuid[], %(seq)s::integer[], %(turn)s::uuid[], %(at)s::timestamptz[], %(role)s::text[],
        %(origin)s::text[], %(content)s::text[], %(surfaced)s::text[])
        as t (episode, seq, turn, at, role, origin, content, surfaced)
    on conflict (space_id, turn_id) do nothing
)
update episode e set turns = grown.turns, last_at = greatest(e.last_at, grown.at)
from unnest(%(ids)s::uuid[], %(turns)s::integer[], %(times)s::timestamptz[]) as grown (id, turns, at)
where e.space_id = %(space)s and e.id = grown.id;

-- name: close_episode
-- Closes an episode, unless it is.
update episode set state = 'closed', closed_at = %(at)s, closed_by = %(by)s, version = version + 1
where space_id = %(space)s and id = %(id)s and state = 'open'
returning *;

-- name: name_episode
-- Gives an episode the title or the summary that a caller chose.
update episode set title = coalesce(%(title)s, title), summary = coalesce(%(summary)s, summary),
    summarised_by = case when %(summary)s::text is null then summarised_by else 'caller' end, version = version + 1
where space_id = %(space)s and id = %(id)s
returning *;

-- name: summarise_episode
-- Keeps what an episode was about and what is to be learnt from it; what a caller said of it stands.
update episode set state = 'summarised', title = coalesce(title, %(title)s), summary = coalesce(summary, %(summary)s),
    summarised_by = case when summary is null then %(by)s else 'caller' end,
    outcome = %(outcome)s, topics = %(topics)s, prompt_hash = %(prompt_hash)s, lessons = %(lessons)s::jsonb,
    summarised_at = %(at)s, version = version + 1
where space_id = %(space)s and id = %(id)s and state = 'closed' and skipped is null
returning *;

-- name: replace_summary
-- Puts what a model wrote in place of what was only taken out of the words; once.
update episode set title = case when title = %(was_title)s then %(title)s else title end, summary = %(summary)s,
    outcome = %(outcome)s, topics = %(topics)s,
    summarised_by = %(by)s, prompt_hash = %(prompt_hash)s, summarised_at = %(at)s, version = version + 1
where space_id = %(space)s and id = %(id)s and state = 'summarised' and summarised_by = 'extract'
returning *;

-- name: turns_that_said
-- The turns in which something was said, and their episodes.
select t.turn_id, t.episode_id from episode_turn t where t.space_id = %(space)s and t.content ~* %(pattern)s;

-- name: turns_there
-- The turns that came from somewhere as a whole, and their episodes: of a source, those of which it taught something.
select t.turn_id, t.episode_id from episode_turn t
join episode e on e.space_id = t.space_id and e.id = t.episode_id
where t.space_id = %(space)s and e.space_id = %(space)s
  and (%(source)s::text is null or %(source)s = 'episode:' || e.id or t.turn_id in (
      select s.turn_id from memory_sighting s where s.space_id = %(space)s and s.source = %(source)s))
  and (%(session)s::text is null or e.session_id = %(session)s)
  and (%(agent)s::text is null or e.agent_id = %(agent)s)
  and (%(origin)s::text is null or t.origin = %(origin)s)
  and (%(since)s::timestamptz is null or t.at >= %(since)s)
  and (%(until)s::timestamptz is null or t.at < %(until)s);

-- name: leave_words_out
-- Leaves words out of what turns are summed up by.
update episode_turn t set remaining = regexp_replace(coalesce(t.remaining, t.content), %(pattern)s, '', 'gi')
where t.space_id = %(space)s and t.content ~* %(pattern)s;

-- name: leave_turns_out
-- Leaves nothing of turns to be summed up.
update episode_turn t set remaining = '' where t.space_id = %(space)s and t.turn_id = any(%(turns)s::uuid[]);

-- name: bring_turns_back
-- Lets turns be summed up whole again, but for those of which another repair leaves something out.
update episode_turn t set remaining = null
where t.space_id = %(space)s and t.turn_id = any(%(turns)s::uuid[]) and not exists (
    select from memory_change c
    where c.space_id = %(space)s and c.op = 'repair' and c.undone_at is null and c.id <> %(change)s
      and c.after -> 'left_out' -> 'turns' ? t.turn_id::text);

-- name: is_left_out
-- Whether something of an episode is left out.
select exists (
    select from episode_turn t
    where t.space_id = %(space)s and t.episode_id = %(episode)s and t.remaining is not null) as cut;

-- name: image_episode
-- What is said about an episode, to be put back.
select to_jsonb(e) as image, e.memory_id from episode e where e.space_id = %(space)s and e.id = %(id)s;

-- name: put_back_episode
-- Says about an episode again what was said before.
update episode e set title = i.title, summary = i.summary, summarised_by = i.summarised_by,
    summarised_at = i.summarised_at, outcome = i.outcome, topics = i.topics, prompt_hash = i.prompt_hash,
    lessons = i.lessons, version = i.version
from jsonb_populate_record(null::episode, %(image)s::jsonb) as i
where e.space_id = %(space)s and e.id = i.id
returning e.*;

-- name: turns_of_episodes
-- All that was said in some episodes.
select t.turn_id from episode_turn t where t.space_id = %(space)s and t.episode_id = any(%(episodes)s::uuid[]);

-- name: retell_episode
-- Writes anew what an episode was about, in its own words.
update episode set title = %(title)s, summary = %(summary)s, summarised_by = %(by)s, summarised_at = %(at)s,
    outcome = null, topics = '{}', prompt_hash = null, lessons = '[]', version = version + 1
where space_id = %(space)s and id = %(id)s
returning *;

-- name: reword_summary
-- Gives the memory of a summary other words, with nothing that was made of the former ones.
with said as (
    update memory_sighting set wording = %(content)s
    where space_id = %(space)s and memory_id = %(id)s and source = %(source)s
)
update memory set content = %(content)s, compressed = null, fold = %(fold)s,
    gist = %(gist)s, subject = null, subject_key = null, attribute_key = null, value_key = null,
    version = version + 1, updated_at = %(at)s
where space_id = %(space)s and id = %(id)s and source = %(source)s;

-- name: skip_episode
-- Notes that there is nothing to say about an episode, and why.
update episode set skipped = %(reason)s, facts_at = %(at)s, version = version + 1
where space_id = %(space)s and id = %(id)s and state = 'closed' and skipped is null
returning *;

-- name: finish_episode
-- Notes that what an episode teaches was learnt.
update episode set facts_at = %(at)s, memory_id = %(memory)s, version = version + 1
where space_id = %(space)s and id = %(id)s and facts_at is null
returning *;

-- name: give_episode_memory
-- Notes the memory of a summary that was worded after its episode was finished.
update episode set memory_id = %(memory)s, version = version + 1
where space_id = %(space)s and id = %(id)s
returning *;

-- name: turns_of
-- What was said in an episode, in its order.
select t.seq, t.turn_id, t.at, t.role, t.origin, t.content, t.surfaced from episode_turn t
where t.space_id = %(space)s and t.episode_id = %(episode)s
order by t.seq;

-- name: first_words
-- With what words of a user some episodes began.
select e.id, t.words from unnest(%(episodes)s::uuid[]) as e (id)
cross join lateral (
    select left(t.content, %(chars)s) as words from episode_turn t
    where t.space_id = %(space)s and t.episode_id = e.id and t.role = 'user'
    order by t.seq limit 1
) as t;

-- name: turns_left
-- The same without what was left out.
select t.seq, t.turn_id, t.at, t.role, t.origin, coalesce(t.remaining, t.content) as content, t.surfaced
from episode_turn t
where t.space_id = %(space)s and t.episode_id = %(episode)s and coalesce(t.remaining, t.content) <> ''
order by t.seq;

-- name: prompts_of_session
-- What an agent was told in a session to be, and of its tools, the newest first.
select t.content from episode_turn t
join episode e on e.space_id = t.space_id and e.id = t.episode_id
where t.space_id = %(space)s and e.space_id = %(space)s and e.session_id = %(session)s and e.agent_id = %(agent)s
  and t.role = 'system'
order by t.at desc limit %(limit)s;

-- name: latest_turns
-- The newest turns of a space, by these speakers.
select t.role, t.content from episode_turn t
where t.space_id = %(space)s and (%(roles)s::text[] is null or t.role = any(%(roles)s))
order by t.at desc, t.seq desc
limit %(limit)s;

-- name: cut_turns
-- Cuts the words of turns that were kept long enough, of episodes from which everything was learnt.
with cut as (
    update episode e set raw_cut_at = %(at)s
    where e.space_id = %(space)s and e.closed_at < %(before)s and e.facts_at is not null and e.raw_cut_at is null
    returning e.space_id, e.id
)
delete from episode_turn t using cut
where t.space_id = %(space)s and t.space_id = cut.space_id and t.episode_id = cut.id;

-- name: link_episode
-- Ties to an episode what was learnt, decided or replaced in it.
insert into episode_link (space_id, episode_id, target, target_id, relation, at)
select %(space)s, %(episode)s, %(target)s, l.target_id, %(relation)s, %(at)s
from unnest(%(ids)s::uuid[]) as l (target_id)
on conflict do nothing;

-- name: links_of_episode
-- What is tied to an episode.
select l.target, l.target_id, l.relation, l.at from episode_link l
where l.space_id = %(space)s and l.episode_id = %(episode)s
order by l.at, l.target, l.target_id;

-- name: supersessions_of_session
-- Replacements that were made in a session within a stretch of time.
select c.id from memory_change c
where c.space_id = %(space)s and c.op = 'supersede' and c.at between %(since)s and %(until)s
  and c.cause ->> 'session' = %(session)s;

-- name: episode_at
-- The episode of a session that something happened in: the latest one that was open then.
select e.id from episode e
where e.space_id = %(space)s and e.session_id = %(session)s and e.opened_at <= %(at)s
  and (e.closed_at is null or e.closed_at >= %(at)s)
order by e.opened_at desc limit 1;

-- name: count_unsummarised
-- How many closed episodes of a space still wait for their summary.
select count(*) as waiting from episode e
where e.space_id = %(space)s and e.state = 'closed' and e.facts_at is null;

-- name: refused_before
-- Whether the very same words were refused in this session.
select 1 as found from refusal r
where r.space_id = %(space)s and r.session_id = %(session)s and r.text = %(text)s
limit 1;

-- name: add_censor
-- Makes a censor.
insert into censor (space_id, id, agent_id, reason, pattern, meaning, domain, applies_to, action, origin,
    escalation_threshold, created_at)
values (%(space)s, %(id)s, %(agent)s, %(reason)s, %(pattern)s, %(meaning)s, %(domain)s, %(applies_to)s, %(action)s,
    %(origin)s, %(threshold)s, %(at)s)
returning *;

-- name: censors
-- The censors of a space, the newest first.
select c.* from censor c
where c.space_id = %(space)s and (%(active)s::boolean is null or c.active = %(active)s)
  and (%(before)s::bigint is null or c.seq < %(before)s)
order by c.seq desc
limit %(limit)s;

-- name: censors_in_force
-- Every censor of a space that may strike.
select c.* from censor c where c.space_id = %(space)s and c.active order by c.seq;

-- name: find_censor
-- One censor.
select c.* from censor c where c.space_id = %(space)s and c.id = %(id)s;

-- name: lock_censor
-- One censor, kept from changing until the transaction ends, with its rightful strikes until it was last made a
-- warning again, by undoing the stop or by another change.
select c.*, (
    select count(*) from censor_trigger t
    where t.space_id = c.space_id and t.censor_id = c.id and not t.false_positive and t.at <= (
        select max(case when h.after ->> 'action' = 'block' then h.undone_at else h.at end) from censor_change h
        where h.space_id = c.space_id and h.censor_id = c.id
          and ((h.after ->> 'action' = 'block' and h.undone_at is not null)
               or (h.before ->> 'action' = 'block' and h.after ->> 'action' = 'warn' and h.undone_at is null)))
) as pardoned_count
from censor c where c.space_id = %(space)s and c.id = %(id)s for update;

-- name: restate_censor
-- Gives a censor other words, another reach or another force.
update censor set reason = %(reason)s, pattern = %(pattern)s, meaning = %(meaning)s, domain = %(domain)s,
    applies_to = %(applies_to)s, action = %(action)s, escalation_threshold = %(escalation_threshold)s,
    active = %(active)s, version = version + 1
where space_id = %(space)s and id = %(id)s
returning *;

-- name: count_strike
-- Counts that a censor struck: here and nowhere else.
update censor set activation_count = activation_count + 1, last_triggered = %(at)s
where space_id = %(space)s and id = %(id)s
returning *;

-- name: count_misfire
-- Counts that a censor struck and should not have.
update censor set false_positive_count = false_positive_count + 1
where space_id = %(space)s and id = %(id)s
returning *;

-- name: put_trigger
-- Notes that a censor struck.
insert into censor_trigger (space_id, id, censor_id, agent_id, session_id, day, origin, place, matched_by, similarity,
    excerpt, was_blocked, at)
values (%(space)s, %(id)s, %(censor)s, %(agent)s, %(session)s, %(day)s, %(origin)s, %(place)s, %(matched_by)s,
    %(similarity)s, %(excerpt)s, %(was_blocked)s, %(at)s);

-- name: find_trigger
-- One strike of a censor.
select t.* from censor_trigger t where t.space_id = %(space)s and t.id = %(id)s;

-- name: latest_trigger
-- The last strike of a censor that nobody called wrong.
select t.* from censor_trigger t
where t.space_id = %(space)s and t.censor_id = %(censor)s and not t.false_positive
order by t.seq desc limit 1;

-- name: triggers_of
-- When and where a censor struck, the newest first.
select t.* from censor_trigger t
where t.space_id = %(space)s and t.censor_id = %(censor)s and (%(before)s::bigint is null or t.seq < %(before)s)
order by t.seq desc
limit %(limit)s;

-- name: mark_misfire
-- Notes that a strike was wrong, once.
update censor_trigger set false_positive = true
where space_id = %(space)s and id = %(id)s and not false_positive
returning censor_id;

-- name: put_censor_vector
-- Keeps what a censor means as a vector.
insert into censor_vector (space_id, censor_id, model, dims, text_hash, embedding, at)
values (%(space)s, %(censor)s, %(model)s, %(dims)s, %(text_hash)s, %(embedding)s, %(at)s)
on conflict (space_id, censor_id, model) do update
set dims = excluded.dims, text_hash = excluded.text_hash, embedding = excluded.embedding, at = excluded.at;

-- name: censor_vectors
-- What the censors of a space mean, as vectors of one model.
select v.censor_id, v.text_hash, v.embedding from censor_vector v
where v.space_id = %(space)s and v.model = %(model)s;

-- name: write_censor_change
-- Writes down what was done to a censor.
insert into censor_change (space_id, id, censor_id, op, before, after, reason, by, at)
values (%(space)s, %(id)s, %(censor)s, %(op)s, %(before)s::jsonb, %(after)s::jsonb, %(reason)s, %(by)s, %(at)s);

-- name: lock_censor_change
-- One change of a censor, kept from changing until the transaction ends.
select c.* from censor_change c where c.space_id = %(space)s and c.id = %(id)s for update;

-- name: mark_censor_undone
-- Notes that a change of a censor was taken back.
update censor_change set undone_at = %(at)s, undone_by = %(by)s where space_id = %(space)s and id = %(id)s;

-- name: known_turns
-- Which of some turns were kept before, and where.
select t.turn_id, t.episode_id from episode_turn t where t.space_id = %(space)s and t.turn_id = any(%(turns)s::uuid[]);

-- name: brought_up
-- What was brought to mind in some episodes, and with what is said now, in words.
select s.place, m.content from (
    select t.episode_id, memory from episode_turn t, unnest(t.surfaced) as memory
    where t.space_id = %(space)s and t.episode_id = any(%(episodes)s::uuid[]) and t.surfaced <> '{}'
    union all
    select * from unnest(%(turns)s::uuid[], %(memories)s::uuid[])
) as s (place, memory)
join memory m on m.space_id = %(space)s and m.id = s.memory;

-- name: named_memories
-- Memories by their ids, their subject or their words; all that is given must hold.
select m.id from memory m
where m.space_id = %(space)s
  and (%(memories)s::uuid[] is null or m.id = any(%(memories)s))
  and (%(subject)s::text is null or m.subject_key = %(subject)s)
  and (%(words)s::text is null or m.content_tsv @@ plainto_tsquery('english', %(words)s))
order by m.id;

-- name: said_there
-- The sightings that came from somewhere, each with the memory that holds it and the one that it first spoke for.
select s.id, s.memory_id, coalesce((c.after ->> 'from')::uuid, s.memory_id) as home
from memory_sighting s
left join memory_change c on c.space_id = s.space_id and c.id = s.moved_by
where s.space_id = %(space)s
  and (%(source)s::text is null or s.source = %(source)s)
  and (%(session)s::text is null or s.session_id = %(session)s)
  and (%(agent)s::text is null or s.agent_id = %(agent)s)
  and (%(origin)s::text is null or s.origin = %(origin)s)
  and (%(since)s::timestamptz is null or s.at >= %(since)s)
  and (%(until)s::timestamptz is null or s.at < %(until)s)
order by s.memory_id, s.at, s.id;

-- name: messages_there
-- The messages in which a source was heard: turns of which memories were made, turns of the episode that it is, or the
-- message that it is itself.
select s.turn_id::text as message from memory_sighting s
where s.space_id = %(space)s and s.source = %(source)s and s.turn_id is not null
union
select t.turn_id::text from episode_turn t
where t.space_id = %(space)s and %(source)s = 'episode:' || t.episode_id
union
select %(source)s::text
order by message;

-- name: episodes_there
-- The episodes that lie wholly where something came from.
select e.id from episode e
where e.space_id = %(space)s
  and (%(source)s::text is null or %(source)s = 'episode:' || e.id)
  and (%(session)s::text is null or e.session_id = %(session)s)
  and (%(agent)s::text is null or e.agent_id = %(agent)s)
  and (%(since)s::timestamptz is null or e.opened_at >= %(since)s)
  and (%(until)s::timestamptz is null or e.last_at < %(until)s);

-- name: sightings_by_home
-- How often each of some memories was said in all, wherever that is kept now.
select coalesce((c.after ->> 'from')::uuid, s.memory_id) as home, count(*) as said
from memory_sighting s
left join memory_change c on c.space_id = s.space_id and c.id = s.moved_by
where s.space_id = %(space)s and s.memory_id = any(%(memories)s::uuid[])
group by 1;

-- name: standing_on
-- What derives from some memories, or from turns that said them, and from how many others too.
select l.from_id as id, count(*) filter (
    where l.to_id <> all(%(memories)s::uuid[]) and not exists (
        select from memory_sighting s where s.space_id = %(space)s and s.turn_id = l.to_id
          and s.memory_id = any(%(memories)s::uuid[]))) as others
from memory_link l
where l.space_id = %(space)s and l.relation = 'derives_from' and l.undone_at is null
  and l.from_id in (
      select d.from_id from memory_link d
      where d.space_id = %(space)s and d.relation = 'derives_from' and d.undone_at is null
        and d.to_id = any(%(memories)s::uuid[]))
group by l.from_id;

-- name: twins_of
-- What was found to say the same as one of these, and what lives in the same words.
select case when t.from_id = any(%(memories)s::uuid[]) then t.to_id else t.from_id end as id
from memory_link t
where t.space_id = %(space)s and t.relation = 'same_as' and t.undone_at is null
  and (t.from_id = any(%(memories)s::uuid[]) or t.to_id = any(%(memories)s::uuid[]))
union
select m.id from memory m
where m.space_id = %(space)s and m.status in ('active', 'held', 'quarantined')
  and m.fold in (select g.fold from memory g where g.space_id = %(space)s and g.id = any(%(memories)s::uuid[]));

-- name: wordings_of
-- In which words memories were said, wherever that is kept, and in which messages. Of a memory that only loses some
-- sightings, the words of those.
select m.id, m.subject, m.id = any(%(memories)s::uuid[]) as whole,
       array(select distinct w.wording from (
           select m.content as wording where m.id = any(%(memories)s::uuid[])
           union all select m.content_contextualized where m.id = any(%(memories)s::uuid[])
           union all select m.compressed where m.id = any(%(memories)s::uuid[])
           union all select s.wording from memory_sighting s
               where s.space_id = %(space)s and s.memory_id = m.id
                 and (m.id = any(%(memories)s::uuid[]) or s.id = any(%(sightings)s::uuid[]))
           union all select c.before -> 'memories' -> (m.id::text) ->> 'content' from memory_change c
               where c.space_id = %(space)s and c.memory_ids @> array[m.id] and m.id = any(%(memories)s::uuid[])
           union all select c.after -> 'memories' -> (m.id::text) ->> 'content' from memory_change c
               where c.space_id = %(space)s and c.memory_ids @> array[m.id] and m.id = any(%(memories)s::uuid[])
       ) as w where w.wording is not null) as wordings,
       array(select distinct s.turn_id from memory_sighting s
             where s.space_id = %(space)s and s.memory_id = m.id and s.turn_id is not null
               and (m.id = any(%(memories)s::uuid[]) or s.id = any(%(sightings)s::uuid[]))) as turns
from memory m
where m.space_id = %(space)s
  and (m.id = any(%(memories)s::uuid[]) or m.id in (
      select s.memory_id from memory_sighting s where s.space_id = %(space)s and s.id = any(%(sightings)s::uuid[])))
order by m.id;

-- name: erase_sightings
-- Erases single sightings.
delete from memory_sighting where space_id = %(space)s and id = any(%(ids)s::uuid[]);

-- name: orphan_predecessors
-- What forgotten memories had replaced stays as history, and points to nothing.
update memory set status = 'archived', superseded_by = null, superseded_at = null, version = version + 1,
    updated_at = %(at)s
where space_id = %(space)s and superseded_by = any(%(memories)s::uuid[]) and id <> all(%(memories)s::uuid[])
returning id;

-- name: erase_links
-- Erases how forgotten memories were joined with others.
delete from memory_link
where space_id = %(space)s and (from_id = any(%(memories)s::uuid[]) or to_id = any(%(memories)s::uuid[]));

-- name: erase_changes
-- Erases changes that were about forgotten memories alone.
delete from memory_change where space_id = %(space)s and memory_ids <@ %(memories)s::uuid[];

-- name: strip_changes
-- Takes forgotten memories out of changes that were about others too; such a change cannot be undone any more.
update memory_change c set
    memory_ids = array(select each from unnest(c.memory_ids) as each where each <> all(%(memories)s::uuid[])),
    before = jsonb_set(c.before, '{memories}',
        coalesce(c.before -> 'memories', '{}') - (%(memories)s::uuid[])::text[]) - 'images',
    after = jsonb_set(c.after, '{memories}',
        coalesce(c.after -> 'memories', '{}') - (%(memories)s::uuid[])::text[]) - 'images'
        || '{"forgotten": true}'
where c.space_id = %(space)s and c.memory_ids && %(memories)s::uuid[];

-- name: erase_keys
-- Erases what calls with a key did with forgotten memories.
delete from learn_key where space_id = %(space)s and result ->> 'memory' = any((%(memories)s::uuid[])::text[]);

-- name: erase_refusals
-- Erases refusals that were learnt after all, and are forgotten.
delete from refusal where space_id = %(space)s and learnt_id = any(%(memories)s::uuid[]);

-- name: count_companions
-- How many rows go with memories.
select (select count(*) from memory_vector v
        where v.space_id = %(space)s and v.memory_id = any(%(memories)s::uuid[])) as memory_vector,
       (select count(*) from memory_sighting s
        where s.space_id = %(space)s and s.memory_id = any(%(memories)s::uuid[])) as memory_sighting;

-- name: erase_memories
-- Erases memories with their vectors and sightings.
delete from memory where space_id = %(space)s and id = any(%(memories)s::uuid[]);

-- name: erase_vectors
-- Erases the vectors of memories whose words are no longer theirs.
delete from memory_vector where space_id = %(space)s and memory_id = any(%(memories)s::uuid[]);

-- name: quarantine_remade
-- Locks a memory away whose text must be made again; no row if it stands nowhere or is locked away already.
with found as (select m.id, m.status from memory m where m.space_id = %(space)s and m.id = %(id)s for update)
update memory m set status = 'quarantined', pending = false, version = m.version + 1, updated_at = %(at)s
from found f
where m.space_id = %(space)s and m.id = f.id and f.status in ('active', 'held')
returning m.id, f.status as was;

-- name: find_bans
-- Which of some marks are of forgotten words.
select b.mark from forgotten_mark b where b.space_id = %(space)s and b.mark = any(%(marks)s::text[]);

-- name: find_later_bans
-- Which of some marks are of words that were forgotten after a moment.
select b.mark from forgotten_mark b
where b.space_id = %(space)s and b.mark = any(%(marks)s::text[]) and b.at > %(since)s;

-- name: has_bans_since
-- Whether any words were forgotten after a moment.
select exists (
    select from forgotten_mark b where b.space_id = %(space)s and b.at > %(since)s
);

-- name: put_ban
-- Keeps a mark of forgotten words.
insert into forgotten_mark (space_id, mark, at) values (%(space)s, %(mark)s, %(at)s) on conflict do nothing;

-- name: lift_ban
-- Lets words be learnt again that a person said anew.
delete from forgotten_mark where space_id = %(space)s and mark = %(mark)s and at <= %(at)s;

-- name: space_is_there
-- Whether a space still is.
select s.id from space s where s.id = %(space)s;

-- name: voices_of
-- Each time a memory was said, in the order of time, with why it did not count.
select s.*, s.uncounted_because as because from memory_sighting s
where s.space_id = %(space)s and s.memory_id = %(memory)s
order by s.at, s.id;

-- name: recount_sighting
-- Lets a sighting count, or not, by what else is left.
update memory_sighting set counted = %(counted)s, uncounted_because = %(because)s
where space_id = %(space)s and id = %(id)s;

-- name: put_retold
-- Keeps what a memory is by the sightings that are left.
update memory set confidence = %(confidence)s, evidence_count = %(evidence_count)s, corroborations = %(corroborations)s,
    contradictions = %(contradictions)s, passive_count = %(passive_count)s, confidence_anchor = %(confidence_anchor)s,
    confidence_ceiling = %(confidence_ceiling)s, weight_ceiling = %(weight_ceiling)s, weight_alpha = %(weight_alpha)s,
    weight_beta = %(weight_beta)s, cause_count = %(causes)s, confirmation_count = %(confirmations)s,
    last_confirmed = %(last_confirmed)s, updated_at = %(at)s
where space_id = %(space)s and id = %(id)s;

-- name: refill
-- Gives a memory the subject, time and tags that the sightings which are left told.
update memory set subject = %(subject)s, subject_key = %(subject_key)s, event_time = %(event_time)s, tags = %(tags)s
where space_id = %(space)s and id = %(id)s;

-- name: found_anew
-- Lets another sighting be the one by which a memory began.
update memory set content = %(content)s, compressed = null, fold = %(fold)s,
    gist = %(gist)s, subject = %(subject)s, subject_key = %(subject_key)s, attribute_key = %(attribute_key)s,
    value_key = %(value_key)s, origin = %(origin)s, trust = %(trust)s, source = %(source)s,
    session_id = nullif(%(session)s::text, ''), created_at = %(at)s, version = version + 1, updated_at = %(at)s
where space_id = %(space)s and id = %(id)s;

-- name: neighbours
-- Memories to which something was done together with one of these, or that are joined with one.
select n.id from memory n
where n.space_id = %(space)s and n.id in (
    select unnest(c.memory_ids) from memory_change c
    where c.space_id = %(space)s and c.memory_ids && %(memories)s::uuid[]
    union select l.from_id from memory_link l where l.space_id = %(space)s and l.to_id = any(%(memories)s::uuid[])
    union select l.to_id from memory_link l where l.space_id = %(space)s and l.from_id = any(%(memories)s::uuid[])
    union select j.superseded_by from memory j
        where j.space_id = %(space)s and j.id = any(%(memories)s::uuid[]));

-- name: image_memories
-- Memories as they are, to be put back.
select to_jsonb(m) - 'content_tsv' as image from memory m
where m.space_id = %(space)s and m.id = any(%(memories)s::uuid[]) order by m.id;

-- name: image_sightings
-- Their sightings as they are.
select to_jsonb(s) as image from memory_sighting s
where s.space_id = %(space)s and s.memory_id = any(%(memories)s::uuid[]) order by s.id;

-- name: image_links
-- How they are joined.
select to_jsonb(l) as image from memory_link l
where l.space_id = %(space)s and (l.from_id = any(%(memories)s::uuid[]) or l.to_id = any(%(memories)s::uuid[]))
order by l.from_id, l.to_id, l.relation;

-- name: put_back_memory
-- Puts a memory back as it was.
update memory m set content = i.content, content_contextualized = i.content_contextualized, compressed = i.compressed,
    subject = i.subject, subject_key = i.subject_key, attribute_key = i.attribute_key, value_key = i.value_key,
    fold = i.fold, gist = i.gist, origin = i.origin, trust = i.trust, source = i.source, session_id = i.session_id,
    status = i.status, pending = i.pending, superseded_by = i.superseded_by, superseded_at = i.superseded_at,
    valid_from = i.valid_from, valid_to = i.valid_to, immutable = i.immutable, confidence = i.confidence,
    evidence_count = i.evidence_count, corroborations = i.corroborations, contradictions = i.contradictions,
    passive_count = i.passive_count, confidence_anchor = i.confidence_anchor,
    confidence_ceiling = i.confidence_ceiling, weight_ceiling = i.weight_ceiling,
    confirmation_count = i.confirmation_count, last_confirmed = i.last_confirmed, cause_count = i.cause_count,
    weight_alpha = i.weight_alpha, weight_beta = i.weight_beta, version = i.version, created_at = i.created_at,
    updated_at = i.updated_at, event_time = i.event_time, tags = i.tags
from jsonb_populate_record(null::memory, %(image)s::jsonb) as i
where m.space_id = %(space)s and m.id = i.id;

-- name: put_back_sighting
-- Puts a sighting back as it was.
update memory_sighting s set memory_id = i.memory_id, counted = i.counted, uncounted_because = i.uncounted_because,
    moved_by = i.moved_by
from jsonb_populate_record(null::memory_sighting, %(image)s::jsonb) as i
where s.space_id = %(space)s and s.id = i.id;

-- name: put_back_link
-- Joins memories as they were.
insert into memory_link (space_id, from_id, to_id, relation, weight, judgement_id, at, undone_at)
select %(space)s, i.from_id, i.to_id, i.relation, i.weight, i.judgement_id, i.at, i.undone_at
from jsonb_populate_record(null::memory_link, %(image)s::jsonb) as i
on conflict (space_id, from_id, to_id, relation) do update
set weight = excluded.weight, judgement_id = excluded.judgement_id, at = excluded.at, undone_at = excluded.undone_at;

-- name: undo_changes
-- Marks changes that were taken back together.
update memory_change set undone_at = %(at)s, undone_by = %(by)s
where space_id = %(space)s and id = any(%(changes)s::uuid[]) and undone_at is null;

-- name: redo_changes
-- Lets changes count again that were taken back together.
update memory_change set undone_at = null, undone_by = null
where space_id = %(space)s and id = any(%(changes)s::uuid[]);

-- name: take_back_sightings
-- Lets sightings count no more.
update memory_sighting set counted = false, uncounted_because = %(because)s
where space_id = %(space)s and id = any(%(ids)s::uuid[]);

-- name: take_back_confirmations
-- Marks what sightings did that were taken back.
update memory_change set undone_at = %(at)s, undone_by = %(by)s
where space_id = %(space)s and op = 'confirm' and undone_at is null
  and after ->> 'sighting' = any(%(sightings)s::text[])
returning id;

-- name: inherit
-- Lets what stands in place of a bad memory stand in place of what that one had replaced.
update memory o set superseded_by = h.id
from memory h
where o.space_id = %(space)s and o.id = %(id)s and h.space_id = %(space)s and h.id = %(heir)s;

-- name: erase_link
-- Parts two memories as if they had never been joined.
delete from memory_link
where space_id = %(space)s and from_id = %(from)s and to_id = %(to)s and relation = %(relation)s;

-- name: rewind_state
-- Puts a memory back into an earlier state, as if nothing had been.
update memory m set status = coalesce(i.state ->> 'status', m.status),
    pending = coalesce((i.state ->> 'pending')::boolean, m.pending),
    superseded_by = case when i.state ? 'superseded_by' then (i.state ->> 'superseded_by')::uuid
        else m.superseded_by end,
    superseded_at = case when i.state ? 'superseded_at' then (i.state ->> 'superseded_at')::timestamptz
        else m.superseded_at end,
    valid_from = case when i.state ? 'valid_from' then (i.state ->> 'valid_from')::timestamptz else m.valid_from end,
    valid_to = case when i.state ? 'valid_to' then (i.state ->> 'valid_to')::timestamptz else m.valid_to end,
    version = greatest(1, m.version - 1), updated_at = %(at)s
from (select %(state)s::jsonb as state) as i
where m.space_id = %(space)s and m.id = %(id)s;

-- name: stand_again
-- Lets those stand that were held only against some memories.
update memory m set status = 'active', version = greatest(1, m.version - 1), updated_at = %(at)s
where m.space_id = %(space)s and m.status = 'held'
  and exists (select from memory_link l where l.space_id = m.space_id and l.from_id = m.id
              and l.relation = 'contradicts' and l.undone_at is null and l.to_id = any(%(memories)s::uuid[]))
  and not exists (select from memory_link l where l.space_id = m.space_id and l.from_id = m.id
              and l.relation = 'contradicts' and l.undone_at is null and l.to_id <> all(%(memories)s::uuid[]))
returning m.id;

-- name: lock_repaired
-- Locks memories away; what was history stays away.
update memory set status = case when status in ('active', 'held', 'quarantined') then 'quarantined' else 'archived' end,
    pending = false, superseded_by = null, superseded_at = null,
    version = version + 1, updated_at = %(at)s
where space_id = %(space)s and id = any(%(memories)s::uuid[]) and status <> 'archived' and not immutable;

-- name: said_anew
-- Another memory of the same words, owner, kind and day that stands.
select t.id from memory m
join memory t on t.space_id = m.space_id and t.fold = m.fold and t.kind = m.kind and t.id <> m.id
    and t.agent_id is not distinct from m.agent_id and t.event_day is not distinct from m.event_day
where m.space_id = %(space)s and m.id = %(id)s and t.status in ('active', 'held', 'quarantined')
  and t.id <> all(%(bad)s::uuid[])
limit 1;

-- name: refusals
-- What was not learnt, newest first.
select r.* from refusal r
where r.space_id = %(space)s and (%(reason)s::text is null or r.reason = %(reason)s)
  and (%(at)s::timestamptz is null or (r.at, r.id) < (%(at)s, %(after)s::uuid))
order by r.at desc, r.id desc
limit %(limit)s;

-- name: find_refusal
-- One statement that was not learnt.
select r.* from refusal r where r.space_id = %(space)s and r.id = %(id)s;

-- name: mark_learnt
-- Notes that a refused statement was learnt after all.
update refusal set learnt_id = %(memory)s where space_id = %(space)s and id = %(id)s;

-- name: prune_refusals
-- Takes away refusals that are old enough.
delete from refusal where space_id = %(space)s and at < %(before)s;

-- name: refused_lately
-- Of the last statements that were said or refused, how many were refused.
select count(*) as seen, count(*) filter (where latest.refused) as refused from (
    select said.at, said.refused from (
        (select s.at, false as refused from memory_sighting s where s.space_id = %(space)s
         order by s.at desc limit %(limit)s)
        union all
        (select r.at, true from refusal r where r.space_id = %(space)s order by r.at desc limit %(limit)s)
    ) as said order by said.at desc limit %(limit)s
) as latest;

-- name: lightest
-- The active memories beyond a number that are held most lightly, believed least and were not read for longest.
select m.id from memory m
where m.space_id = %(space)s and m.status = 'active' and not m.immutable
order by m.weight_alpha / (m.weight_alpha + m.weight_beta), m.confidence, coalesce(m.last_accessed, m.created_at), m.id
limit least(%(limit)s, greatest(0,
    (select count(*) from memory a where a.space_id = %(space)s and a.status = 'active') - %(most)s));

-- name: count_embedded
-- How many live memories have vectors of a model for searching and comparing, of their present words and context,
-- and how many there are.
select count(*) as total, count(*) filter (where 2 = (
    select sum(case when v.is_bare then 2 else 1 end) from memory_vector v
    where v.space_id = m.space_id and v.memory_id = m.id and v.model = %(model)s
      and v.text_hash = sha256(convert_to(case v.purpose when 'compare' then m.content
          when 'store' then coalesce(m.content_contextualized, m.content) end, 'UTF8')))) as done
from memory m
where m.space_id = %(space)s and m.status in ('active', 'held', 'quarantined');

-- name: drop_vectors
-- Erases the vectors of a model.
delete from memory_vector where space_id = %(space)s and model = %(model)s;

-- name: vector_models
-- How many memories have vectors of each model.
select v.model, count(distinct v.memory_id) as memories from memory_vector v
where v.space_id = %(space)s
group by v.model order by v.model;

-- name: learnt_meanwhile
-- Memories that were learnt with a model since the last vector of another one was made, oldest first.
select m.id from memory m
join memory_vector v on v.space_id = m.space_id and v.memory_id = m.id and v.model = %(model)s
    and v.at = m.created_at and
    -- use: compares
where m.space_id = %(space)s and m.status = 'active'
  and v.at >= (select max(o.at) from memory_vector o where o.space_id = %(space)s and o.model <> %(model)s)
order by m.seq;
