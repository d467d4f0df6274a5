-- What measurements ask of a store that they filled themselves, and will throw away.

-- name: derived_from_turns
-- Which memories were learnt from some turns.
select l.from_id, l.to_id from memory_link l
where l.space_id = %(space)s and l.to_id = any(%(turns)s) and l.relation = 'derives_from' and l.undone_at is null
order by l.from_id, l.at, l.to_id;

-- name: learns_that_ask
-- How often something was learnt, and of how much of it no judge at hand was sure: of that a model is asked.
select (select count(*) from memory_sighting s where s.space_id = %(space)s) as learns,
       (select count(distinct e.payload ->> 'new') from event e
        where e.space_id = %(space)s and e.name = 'judgement_waiting') as asking;

-- name: nearest_by_index
-- How far the nearest vector lies, as the index of its model tells.
select v.embedding::halfvec({dims}) <=> %(probe)s as distance from memory_vector v
where v.space_id = %(space)s and v.model = {model} and v.purpose = 'store'
order by v.embedding::halfvec({dims}) <=> %(probe)s
limit 1;

-- name: nearest_of_all
-- The same by reading them all.
select min(v.embedding::halfvec({dims}) <=> %(probe)s) as distance from memory_vector v
where v.space_id = %(space)s and v.model = {model} and v.purpose = 'store';

-- name: remembered_rows
-- Everything that is remembered, row by row: its name, and a mark of all that stands in it but for when it was touched.
select 'memory ' || m.id as row, md5((to_jsonb(m) - 'updated_at')::text) as mark
from memory m where m.space_id = %(space)s
union all
select 'sighting ' || s.id, md5(to_jsonb(s)::text) from memory_sighting s where s.space_id = %(space)s
union all
select 'link ' || l.from_id || ' ' || l.relation || ' ' || l.to_id, md5(to_jsonb(l)::text)
from memory_link l where l.space_id = %(space)s
union all
select 'vector ' || v.memory_id || ' ' || v.purpose || ' ' || v.model, md5(v.embedding::text)
from memory_vector v where v.space_id = %(space)s;

-- name: count_recalls
-- How many recalls were written down.
select count(*) as recalls from recall r where r.space_id = %(space)s;

-- name: multiply_recalls
-- Writes the records of all recalls down again, so many times, as if each had been made by itself.
with again as (
    select r.id as was, gen_random_uuid() as id from recall r, generate_series(1, %(times)s)
    where r.space_id = %(space)s
), copied as (
    insert into recall (space_id, id, at, agent_id, session_id, door, cue, cue_hash, settings_hash, embedder, abstained,
        below, took_ms)
    select r.space_id, a.id, r.at, r.agent_id, r.session_id, r.door, r.cue, r.cue_hash, r.settings_hash, r.embedder,
        r.abstained, r.below, r.took_ms
    from again a join recall r on r.space_id = %(space)s and r.id = a.was
)
insert into recall_hit (space_id, recall_id, position, type, ref, score, evidence, why, shown, dropped_because)
select h.space_id, a.id, h.position, h.type, h.ref, h.score, h.evidence, h.why, h.shown, h.dropped_because
from again a join recall_hit h on h.space_id = %(space)s and h.recall_id = a.was;
