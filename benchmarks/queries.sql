-- What measurements ask of a store that they filled themselves. They read, and write nothing but a large world, at the end.

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

-- name: put_edges
-- Lets many edges stand in free slots, in one go; those that do now.
insert into urd (space_id, id, parent_id, dim_id, is_isa, confidence, last_confirmed, source, origin, person_stated,
                 created_at, version)
select %(space)s, said.id, said.parent_id, said.dim_id, said.is_isa, said.confidence, %(at)s, %(source)s, %(origin)s,
       %(person_stated)s, %(at)s, %(version)s
from unnest(%(ids)s::bigint[], %(parents)s::bigint[], %(dims)s::bigint[], %(isas)s::boolean[],
            %(confidences)s::float8[]) as said (id, parent_id, dim_id, is_isa, confidence)
on conflict do nothing
returning id, parent_id, dim_id;

-- name: add_causes
-- Notes who said many triples.
insert into urd_cause (space_id, id, parent_id, dim_id, agent, session_id, day, origin, at, is_isa, confidence, source,
                       from_quarantine, last_at)
select %(space)s, said.id, said.parent_id, said.dim_id, %(agent)s, %(session)s, %(day)s, %(origin)s, %(at)s,
       said.is_isa, said.confidence, %(source)s, false, %(at)s
from unnest(%(ids)s::bigint[], %(parents)s::bigint[], %(dims)s::bigint[], %(isas)s::boolean[],
            %(confidences)s::float8[]) as said (id, parent_id, dim_id, is_isa, confidence)
on conflict do nothing;

-- name: keep_many_added
-- Writes down that many edges were added.
insert into urd_history (space_id, version, n, op, id, parent_id, dim_id, is_isa, confidence, last_confirmed, source,
                         origin, evidence_count, person_stated, unconfirmed, created_at, reason, by, at)
select u.space_id, u.version, %(first)s + row_number() over (order by u.id, u.dim_id), 'add', u.id, u.parent_id,
       u.dim_id, u.is_isa, u.confidence, u.last_confirmed, u.source, u.origin, u.evidence_count, u.person_stated,
       u.unconfirmed, u.created_at, 'stated', %(by)s, %(at)s
from urd u
where u.space_id = %(space)s and u.version = %(version)s and u.id = any(%(ids)s) and u.id <> u.parent_id;

-- name: edges_in_dimensions
-- Every edge of some dimensions, for a walk over all of them.
select id, parent_id, dim_id from urd
where space_id = %(space)s and dim_id = any(%(dims)s) and id <> parent_id;
