-- What measurements ask of a store that they filled themselves. They read, and write nothing.

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

-- name: texts_said
-- How often each text of a person was captured.
select m.text, count(*) as times from exchange_message m
where m.space_id = %(space)s and m.origin = 'person' group by m.text;
