-- Retrieval's statements: reading a cue, finding and fetching what might answer it, counting words, making turns
-- searchable, and keeping what was recalled.

-- name: read_cue
-- The words of a cue as they are searched, how common each is among memories and turns, whether one is a piece of an
-- identifier, what must and must not stand in a hit, and the episode that is still going on. And how the transaction
-- plans `then`, and how widely it looks for what is near.
with words as materialized (
    -- Read once: a plan that is kept would read the cue anew for every row.
    select tsvector_to_array(to_tsvector('english', %(cue)s)) as terms
)
select terms.term, terms.memory_df, terms.turn_df,
    (select t.docs from words_total t where t.space_id = %(space)s and t.source = 'memory') as memory_docs,
    (select t.total_len from words_total t where t.space_id = %(space)s and t.source = 'memory') as memory_len,
    (select t.docs from words_total t where t.space_id = %(space)s and t.source = 'turn') as turn_docs,
    (select t.total_len from words_total t where t.space_id = %(space)s and t.source = 'turn') as turn_len,
    (select e.id from episode e where e.space_id = %(space)s and e.agent_id = %(agent)s and e.state = 'open'
        and e.session_id = %(session)s limit 1) as open_episode,
    exists (select 1 from identifier_part p where p.space_id = %(space)s
        and p.part = any((select w.terms from words w)::text[])) as has_pieces,
    (select string_agg('(' || asked.q || ')', ' & ') from (
        select phraseto_tsquery('english', p.phrase)::text as q from unnest(%(phrases)s::text[]) as p (phrase)
        where numnode(phraseto_tsquery('english', p.phrase)) > 0
        union all
        select '!(' || plainto_tsquery('english', w.word)::text || ')' from unnest(%(without)s::text[]) as w (word)
        where numnode(plainto_tsquery('english', w.word)) > 0
    ) as asked) as must,
    (select set_config('plan_cache_mode', %(then)s, true)) as plan,
    (select set_config('hnsw.ef_search', %(looked_at)s, true)) as looked_at
from (select 1) as always
left join (
    select l.term, coalesce(m.df, 0) as memory_df, coalesce(t.df, 0) as turn_df
    from unnest((select w.terms from words w)::text[]) as l (term)
    left join words_term m on m.space_id = %(space)s and m.source = 'memory' and m.term = l.term
    left join words_term t on t.space_id = %(space)s and t.source = 'turn' and t.term = l.term
) as terms on true;

-- name: count_parts
-- How many parts of turns a space has with vectors of a model; as far as that matters.
select count(*) from (
    select 1 from turn_index t where t.space_id = %(space)s and t.model = %(model)s limit %(limit)s) as counted;

-- name: count_searchable
-- How many memories an embedder's vectors could find, how many they do, how many of them an agent sees, how many parts
-- of turns they find, how many there are, and how many have no vector at all; as far as that matters. Also about how many
-- memories the whole store has.
select
    (select count(*) from (select 1 from memory m where m.space_id = %(space)s and m.status = 'active'
        limit %(limit)s) as counted) as memories,
    (select count(*) from (select 1 from memory_vector v where v.space_id = %(space)s and v.model = %(model)s
        and v.purpose = 'store' limit %(limit)s) as counted) as vectors,
    (select count(*) from (select 1 from memory m where m.space_id = %(space)s and m.status = 'active'
        and (m.agent_id is null or m.agent_id = %(agent)s) limit %(limit)s) as counted) as seen,
    (select count(*) from (select 1 from turn_index t where t.space_id = %(space)s and t.agent_id = %(agent)s
        and t.model = %(model)s limit %(limit)s) as counted) as parts,
    (select count(*) from (select 1 from turn_index t where t.space_id = %(space)s and t.agent_id = %(agent)s
        limit %(limit)s) as counted) as turns,
    (select count(*) from (select 1 from turn_index t where t.space_id = %(space)s and t.agent_id = %(agent)s
        and t.model is null limit %(limit)s) as counted) as bare,
    (select greatest(c.reltuples, 0)::bigint from pg_class c where c.oid = 'memory'::regclass) as stored;

-- part: seen_memories
-- Which memories `m` an agent sees that fit a wish, as they stood at its moment. One that had been put away by then
-- must not take the place of one that had not; how each stood is told exactly by what is fetched.
(m.agent_id is null or m.agent_id = %(agent)s)
and (m.status = any(%(statuses)s) or (%(disputing)s and m.status = 'held' and m.origin = 'person' and (
     -- A person's later word stands beside the earlier one that it disputes, until somebody decides.
     select bool_and(o.trust <= m.trust and not o.immutable) from memory_link l
     join memory o on o.space_id = l.space_id and o.id = l.to_id and o.status = 'active'
     where l.space_id = m.space_id and l.from_id = m.id and l.relation = 'contradicts' and l.undone_at is null)))
and %(with_memories)s
-- when: excluding
and m.id <> all(%(exclude)s::uuid[])
-- end
-- when: narrowed
and (%(kinds)s::text[] is null or m.kind = any(%(kinds)s))
and (%(since)s::timestamptz is null or coalesce(m.event_time, m.created_at) >= %(since)s)
and (%(until)s::timestamptz is null or coalesce(m.event_time, m.created_at) <= %(until)s)
and (%(subject)s::text is null or m.subject_key = %(subject)s)
and (%(tags)s::text[] is null or m.tags @> %(tags)s)
and (%(origins)s::text[] is null or m.origin = any(%(origins)s))
and (%(as_of)s::timestamptz is null
     or (m.created_at <= %(as_of)s and (m.superseded_at is null or m.superseded_at > %(as_of)s)))
and (%(as_of)s::timestamptz is null or m.status not in ('archived', 'held') or 'active' = coalesce(
     (select c.after -> 'memories' -> (m.id::text) ->> 'status' from memory_change c
      where c.space_id = m.space_id and c.memory_ids @> array[m.id] and c.at <= %(as_of)s
        and (c.undone_at is null or c.undone_at > %(as_of)s)
        and c.after -> 'memories' -> (m.id::text) ->> 'status' is not null
      order by c.at desc, c.id desc limit 1), 'active'))
and (%(valid_at)s::timestamptz is null or ((m.valid_from is null or m.valid_from <= %(valid_at)s)
     and (m.valid_to is null or m.valid_to > %(valid_at)s)))
-- end

-- part: nearest_memories
-- Eligible memories by the index of their model. The index knows nobody's filters and goes on until enough were met.
select e.id, v.embedding::halfvec({dims}) <=> %(probe)s::halfvec as far
from memory_vector v join eligible e on e.space_id = v.space_id and e.id = v.memory_id
where v.space_id = %(space)s and v.model = {model} and v.purpose = 'store'

-- part: nearest_parts
-- Parts of what was said by the index of their model.
select s.turn_id, s.embedding::halfvec({dims}) <=> %(probe)s::halfvec as far from said s
where s.space_id = %(space)s and s.model = {model}

-- name: candidates
-- What each way of searching finds: by meaning, by words, by time, by a tag, by a piece of an identifier; only the
-- ways that are named stand in it. Who may be seen is said once for memories and once for turns, and holds for every
-- way. By meaning few are read whole and many by the index, which is told apart; where nearly all may be seen, that is
-- asked of the nearest alone, and where a filter may leave few of many, it is looked how many are left. Each says how
-- good it is in its way, where that is known here.
with eligible as not materialized (
    -- `is true` keeps the server from reading a whole space beside a few rare words. Ways that go by the space name it.
    select m.space_id, m.id, m.content_tsv, m.tags_tsv, coalesce(m.event_time, m.created_at) as happened from memory m
    where (m.space_id = %(space)s) is true and
      -- use: seen_memories
      -- when: narrowed
      and (%(must)s::text is null or m.content_tsv @@ %(must)s::tsquery)
      -- end
), said as not materialized (
    select t.space_id, t.turn_id, t.part, t.content_tsv, t.len, t.at, t.embedding, t.model from turn_index t
    where (t.space_id = %(space)s) is true and t.agent_id = %(agent)s and %(with_turns)s
      and (%(open_episode)s::uuid is null or t.episode_id <> %(open_episode)s)
      -- when: excluding
      and t.turn_id <> all(%(exclude)s::uuid[])
      -- end
      -- when: narrowed
      and (%(since)s::timestamptz is null or t.at >= %(since)s)
      and (%(until)s::timestamptz is null or t.at <= %(until)s)
      and (%(origins)s::text[] is null or t.origin = any(%(origins)s))
      and (%(as_of)s::timestamptz is null or t.at <= %(as_of)s)
      and (%(must)s::text is null or exists (
          select 1 from turn_index w where w.space_id = %(space)s and w.turn_id = t.turn_id and w.part = 0
            and w.content_tsv @@ %(must)s::tsquery))
      -- end
), asked as materialized (
    -- Read once: a plan that is kept would read the queries anew for every row.
    select * from unnest(%(queries)s::tsquery[], %(memory_idf)s::double precision[], %(turn_idf)s::double precision[])
        as w (q, memory_idf, turn_idf)
-- when: memories_counted
), left_memories as materialized (
    select e.space_id, e.id from eligible e where e.space_id = %(space)s limit %(few)s + 1
-- end
-- when: turns_counted
), left_parts as materialized (
    select s.turn_id, s.embedding from said s where s.space_id = %(space)s and s.model = {model} limit %(few)s + 1
-- end
-- when: memories_called
), bearers as materialized (
    -- Looked up first: ordered at once, the table would be walked by its key in search of a few names.
    select e.id from eligible e
    where e.tags_tsv <> ''::tsvector and e.tags_tsv @@ %(called)s::tsquery
    limit %(close)s
-- end
), memory_pool as (
    select e.id, e.content_tsv, length(e.content_tsv) as len from eligible e
    where e.content_tsv @@ %(memory_pool)s::tsquery
    order by (select sum(a.memory_idf) from asked a where e.content_tsv @@ a.q) desc nulls last, len, e.id
    limit %(close)s
), turn_pool as (
    select s.turn_id, s.content_tsv, s.len from said s
    where s.part = 0 and s.content_tsv @@ %(turn_pool)s::tsquery
    order by (select sum(a.turn_idf) from asked a where s.content_tsv @@ a.q) desc nulls last, s.len, s.turn_id
    limit %(close)s
)
-- A row without a hit: what follows is done alike whatever was found, and is planned once for all.
select 'planned' as arm, set_config('plan_cache_mode', %(then)s, true) as type, null::uuid as ref,
    null::double precision as score
-- when: memories_whole
union all
select 'vector', 'memory', near.id, -near.far from (
    select e.id, (v.embedding <=> %(probe)s::halfvec) + 0 as far
    from memory_vector v join eligible e on e.space_id = v.space_id and e.id = v.memory_id
    where v.space_id = %(space)s and v.model = {model} and v.purpose = 'store'
    order by far, e.id limit {near}
) as near
-- end
-- when: memories_ranked
union all
select 'indexed', 'memory', near.id, -near.far from (
    select e.id, ranked.far from (
        select v.memory_id, (v.embedding <=> %(probe)s::halfvec) + 0 as far from memory_vector v
        where v.space_id = %(space)s and v.model = {model} and v.purpose = 'store'
        order by far, v.memory_id limit 4 * {near}
    ) as ranked join eligible e on e.space_id = %(space)s and e.id = ranked.memory_id
    order by ranked.far, e.id limit {near}
) as near
-- end
-- when: memories_indexed
union all
select 'indexed', 'memory', near.id, -near.far from (
    -- use: nearest_memories
    order by far limit {near}
) as near
-- end
-- when: memories_counted
union all
select 'vector', 'memory', near.id, -near.far from (
    select l.id, (v.embedding <=> %(probe)s::halfvec) + 0 as far
    from left_memories l join memory_vector v on v.space_id = l.space_id and v.memory_id = l.id
    where (select count(*) from left_memories) <= %(few)s
      and v.space_id = %(space)s and v.model = {model} and v.purpose = 'store'
    order by far, l.id limit {near}
) as near
union all
select 'indexed', 'memory', near.id, -near.far from (
    -- use: nearest_memories
      and (select count(*) from left_memories) > %(few)s
    order by far limit {near}
) as near
-- end
-- when: turns_whole
union all
select 'vector', 'turn', near.turn_id, -min(near.far) from (
    select s.turn_id, (s.embedding <=> %(probe)s::halfvec) + 0 as far from said s
    where s.model = {model}
    order by far, s.turn_id limit 2 * {near}
) as near group by near.turn_id
-- end
-- when: turns_indexed
union all
select 'vector', 'turn', near.turn_id, -min(near.far) from (
    -- use: nearest_parts
    order by far limit 2 * {near}
) as near group by near.turn_id
-- end
-- when: turns_counted
union all
select 'vector', 'turn', near.turn_id, -min(near.far) from (
    select l.turn_id, (l.embedding <=> %(probe)s::halfvec) + 0 as far from left_parts l
    where (select count(*) from left_parts) <= %(few)s
    order by far, l.turn_id limit 2 * {near}
) as near group by near.turn_id
union all
select 'vector', 'turn', near.turn_id, -min(near.far) from (
    -- use: nearest_parts
      and (select count(*) from left_parts) > %(few)s
    order by far limit 2 * {near}
) as near group by near.turn_id
-- end
-- when: memory_words
union all
select 'words', 'memory', best.id, best.bm25 from (
    select p.id, sum(w.idf * held.tf * (%(k1)s::double precision + 1) / (held.tf + %(k1)s::double precision
        * (1 - %(b)s::double precision + %(b)s::double precision * p.len
            / %(memory_average)s::double precision))) as bm25
    from memory_pool p
    cross join lateral unnest(p.content_tsv) as u (lexeme, positions, weights)
    join unnest(%(terms)s::text[], %(memory_idfs)s::double precision[]) as w (term, idf) on w.term = u.lexeme
    cross join lateral (select coalesce(cardinality(u.positions), 1) as tf) as held
    group by p.id, p.len
    order by bm25 desc, p.id
    limit %(arm)s
) as best
-- end
-- when: turn_words
union all
select 'words', 'turn', best.turn_id, best.bm25 from (
    select p.turn_id, sum(w.idf * held.tf * (%(k1)s::double precision + 1) / (held.tf + %(k1)s::double precision
        * (1 - %(b)s::double precision + %(b)s::double precision * p.len
            / %(turn_average)s::double precision))) as bm25
    from turn_pool p
    cross join lateral unnest(p.content_tsv) as u (lexeme, positions, weights)
    join unnest(%(terms)s::text[], %(turn_idfs)s::double precision[]) as w (term, idf) on w.term = u.lexeme
    cross join lateral (select cardinality(array_positions(u.weights, 'A'))
        + %(beside)s::double precision * cardinality(array_positions(u.weights, 'D')) as tf) as held
    where held.tf > 0
    group by p.turn_id, p.len
    order by bm25 desc, p.turn_id
    limit %(arm)s
) as best
-- end
-- when: memories_dated
union all
select 'time', 'memory', dated.id, null::double precision from (
    select e.id from eligible e
    where e.space_id = %(space)s and e.happened >= %(from)s and e.happened < %(to)s
    order by (select sum(a.memory_idf) from asked a where e.content_tsv @@ a.q) desc nulls last,
        e.happened desc, e.id limit %(arm)s
) as dated
-- end
-- when: turns_dated
union all
select 'time', 'turn', dated.turn_id, null::double precision from (
    select s.turn_id from said s
    where s.space_id = %(space)s and s.at >= %(from)s and s.at < %(to)s and s.part = 0
    order by (select sum(a.turn_idf) from asked a where s.content_tsv @@ a.q) desc nulls last,
        s.at desc, s.turn_id limit %(arm)s
) as dated
-- end
-- when: memories_named
union all
select 'named', 'memory', named.id, null::double precision from (
    select e.id from (select p.ref from identifier_part p where p.space_id = %(space)s
        and p.type = 'memory' and p.part = any(%(terms)s) limit %(close)s) as p
    join eligible e on e.space_id = %(space)s and e.id = p.ref
    group by e.id order by count(*) desc, e.id limit %(arm)s
) as named
-- end
-- when: memories_called
union all
select 'called', 'memory', called.id, null::double precision from (
    select b.id from bearers b order by b.id limit %(arm)s
) as called
-- end
-- when: turns_named
union all
select 'named', 'turn', named.turn_id, null::double precision from (
    select s.turn_id from (select p.ref from identifier_part p where p.space_id = %(space)s
        and p.type = 'turn' and p.part = any(%(terms)s) limit %(close)s) as p
    join said s on s.space_id = %(space)s and s.turn_id = p.ref and s.part = 0
    group by s.turn_id order by count(*) desc, s.turn_id limit %(arm)s
) as named
-- end
;

-- name: fetch
-- Everything that is known of some memories and turns, with their vectors, the words of the cue that they hold and
-- what helped with such a cue; and of what the first of them lead on to, along what came to mind together.
with recursive walk (source, id, strength, step) as (
    select null::uuid, seed.id, null::double precision, 0 from unnest(%(seeds)s::uuid[]) as seed (id)
    union
    select w.id, near.id, near.strength, w.step + 1 from walk w
    cross join lateral (
        select link.id, link.strength from (
            select each.id, least(1.0, each.times / %(full)s::double precision) * power(0.5,
                greatest(0, extract(epoch from %(at)s::timestamptz - each.last)) / (86400 * %(half_life)s)) as strength
            from (
                select c.memory_id_b as id, c.co_access_count + c.temporal_count as times, c.last_co_accessed as last
                from memory_co_access c where c.space_id = %(space)s and c.memory_id_a = w.id
                union all
                select c.memory_id_a, c.co_access_count + c.temporal_count, c.last_co_accessed
                from memory_co_access c where c.space_id = %(space)s and c.memory_id_b = w.id
            ) as each
            -- In order before they are looked up: only the strongest are.
            order by strength desc, each.id
        ) as link
        join memory m on m.space_id = %(space)s and m.id = link.id
        where
          -- use: seen_memories
          -- when: narrowed
          and (%(must)s::text is null or m.content_tsv @@ %(must)s::tsquery)
          -- end
        order by link.strength desc, link.id
        limit %(partners)s
    ) as near
    where w.step <= %(hops)s
)
select 'memory' as type, m.id as ref, m.kind, m.content, m.compressed, m.content_contextualized as context,
    m.origin, m.trust, m.confidence, m.weight_alpha, m.weight_beta, m.access_count, m.immutable, m.status,
    m.event_time, m.created_at as learned_at,
    -- One by one, and `is true`: a server without statistics would read all turns of the space for each memory.
    (select max(said.at) from unnest(sources.ids) as source (id) cross join lateral (
        select t.at from turn_index t
        where t.space_id = m.space_id and t.turn_id = source.id and (t.part = 0) is true limit 1) as said) as said_at,
    m.last_accessed, m.last_confirmed, m.source, m.session_id,
    m.subject_key, m.attribute_key, m.tags, m.version, m.seq as place, coalesce(m.agent_id, '') as owner,
    m.subject as speaker, m.cause_count as causes,
    length(m.content_tsv) as len, held.terms, held.own, held.beside,
    halfvec_send(v.embedding::halfvec) as vector, null::double precision as best,
    sources.ids as derives_from,
    m.status = 'held' or exists (select 1 from resolution_queue r where r.space_id = m.space_id and r.about = 'memory'
            and r.status = 'pending' and r.old_memory = m.id) as disputed,
    case when m.status = 'held' then array(
        select l.to_id from memory_link l where l.space_id = m.space_id and l.from_id = m.id
          and l.relation = 'contradicts' and l.undone_at is null) end as disputes,
    links.partners, links.strengths, lessons.rewards, lessons.weights, lessons.likenesses, lessons.cues
from memory m
left join memory_vector v on v.space_id = m.space_id and v.memory_id = m.id and v.model = {model}
    and v.purpose = 'store'
cross join lateral (
    -- `is true` as above: or it reads all links of that relation.
    select array(select l.to_id from memory_link l where l.space_id = m.space_id and l.from_id = m.id
                 and (l.relation = 'derives_from') is true and l.undone_at is null) || m.turn_id as ids
    offset 0 -- looked up once, though it is used twice
) as sources
cross join lateral (
    select array_agg(h.lexeme) as terms, array_agg(h.times) as own, null::integer[] as beside from (
        select u.lexeme, coalesce(cardinality(u.positions), 1) as times
        from unnest(m.content_tsv) as u (lexeme, positions, weights) where u.lexeme = any(%(terms)s)
        union all
        select u.lexeme, 1 from unnest(m.tags_tsv) as u (lexeme, positions, weights)
        where m.tags_tsv <> ''::tsvector and u.lexeme = any(%(terms)s)
          and u.lexeme <> all(tsvector_to_array(m.content_tsv))
        -- when: named
        union all
        select p.part, 1 from identifier_part p
        where m.id = any(%(named)s) and p.space_id = %(space)s and p.type = 'memory' and p.ref = m.id
          and p.part = any(%(terms)s) and p.part <> all(tsvector_to_array(m.content_tsv))
        -- end
    ) as h
) as held
cross join lateral (
    select array_agg(l.id) as partners, array_agg(l.strength) as strengths
    from (select distinct w.id, w.strength from walk w where w.source = m.id) as l
) as links
cross join lateral (
    select array_agg(o.reward) as rewards, array_agg(o.weight) as weights, array_agg(o.cue_hash) as cues,
        array_agg(case when o.cue_hash = %(cue_hash)s then 1.0
            when o.model = {model} and %(probe)s::halfvec is not null
            then 1 - (o.cue_vector::halfvec({dims}) <=> %(probe)s::halfvec) else 0.0 end) as likenesses
    from (select c.* from cue_outcome c where c.space_id = %(space)s and c.memory_id = m.id
          order by c.at desc, c.id limit %(lessons)s) as o
) as lessons
where m.space_id = %(space)s and m.id = any(%(memories)s::uuid[] || array(select w.id from walk w))
-- when: turns
union all
select 'turn', t.turn_id, 'turn', whole.content, null, t.context,
    t.origin, t.trust, 0.5, 1.0, 4.0, 0, false, 'active',
    t.at, t.at, t.at, null, null, t.episode_id::text, t.session_id,
    null, null, '{}', 1, t.seq, t.agent_id, t.speaker, 1,
    t.len, held.terms, held.own, held.beside,
    halfvec_send(case when t.model = {model} then t.embedding end), whole.best,
    '{}'::uuid[], false, null,
    null, null, null, null, null, null
from turn_index t
cross join lateral (
    select string_agg(p.content, '' order by p.part) as content,
        max(case when p.model = {model} and %(probe)s::halfvec is not null
            then 1 - (p.embedding::halfvec({dims}) <=> %(probe)s::halfvec) end) as best
    from turn_index p where p.space_id = %(space)s and p.turn_id = t.turn_id
) as whole
cross join lateral (
    select array_agg(h.lexeme) as terms, array_agg(h.own) as own, array_agg(h.beside) as beside from (
        select u.lexeme, cardinality(array_positions(u.weights, 'A')) as own,
            cardinality(array_positions(u.weights, 'D')) as beside
        from unnest(t.content_tsv) as u (lexeme, positions, weights) where u.lexeme = any(%(terms)s)
        union all
        select p.part, 1, 0 from identifier_part p
        where t.turn_id = any(%(named)s) and p.space_id = %(space)s and p.type = 'turn' and p.ref = t.turn_id
          and p.part = any(%(terms)s) and p.part <> all(tsvector_to_array(t.content_tsv))
    ) as h
) as held
where t.space_id = %(space)s and t.turn_id = any(%(turns)s::uuid[]) and t.part = 0
-- end
;

-- name: wait_for_counting
-- Notes that texts came, went or changed, for the next count of words.
insert into words_waiting (space_id, source, ref, at)
select %(space)s, %(source)s, each.ref, %(at)s from unnest(%(refs)s::uuid[]) as each (ref)
on conflict do nothing;

-- name: begin_hearing
-- Has a place in the outbox for a space of which nothing was read yet.
insert into words_heard (space_id, seq) values (%(space)s, 0) on conflict do nothing;

-- name: heard_until
-- How far the outbox was read; one reader at a time.
select h.seq from words_heard h where h.space_id = %(space)s for update;

-- name: hear_until
-- Notes how far it was read now.
update words_heard set seq = %(seq)s where space_id = %(space)s and seq < %(seq)s;

-- name: take_waiting
-- Takes some of the texts that wait to be counted.
delete from words_waiting w using (
    select x.source, x.ref from words_waiting x where x.space_id = %(space)s
    order by x.at, x.ref limit %(limit)s for update skip locked
) as taken
where w.space_id = %(space)s and w.source = taken.source and w.ref = taken.ref
returning w.source, w.ref;

-- name: lock_counts
-- Lets one process move the counts of a space at a time.
select pg_advisory_xact_lock(hashtextextended('festinger words ' || %(space)s::text, 0));

-- name: count_words
-- Brings the counts up to what some texts say now: what was counted of them is taken out, what they hold is put in. What
-- nights derived repeats the words of its sources, which would make them look more common than they are.
with wanted as (
    select m.id as ref, length(m.content_tsv) as len, strip(m.content_tsv) as terms from memory m
    where %(source)s = 'memory' and m.space_id = %(space)s and m.id = any(%(refs)s) and m.status = 'active'
      and m.kind not in ('insight', 'narrative', 'tension')
    union all
    select t.turn_id, t.len, strip(t.content_tsv) from turn_index t
    where %(source)s = 'turn' and t.space_id = %(space)s and t.turn_id = any(%(refs)s) and t.part = 0
), before as (
    select c.ref, c.len, c.terms from words_counted c
    where c.space_id = %(space)s and c.source = %(source)s and c.ref = any(%(refs)s)
), gone as (
    delete from words_counted c where c.space_id = %(space)s and c.source = %(source)s and c.ref = any(%(refs)s)
      and not exists (select 1 from wanted w where w.ref = c.ref)
), kept as (
    insert into words_counted (space_id, source, ref, len, terms)
    select %(space)s, %(source)s, w.ref, w.len, w.terms from wanted w
    on conflict (space_id, source, ref) do update set len = excluded.len, terms = excluded.terms
), moved as (
    select each.term, sum(each.by)::bigint as by from (
        select u.lexeme as term, 1 as by from wanted w cross join lateral unnest(w.terms) as u
        union all
        select u.lexeme, -1 from before b cross join lateral unnest(b.terms) as u
    ) as each group by each.term having sum(each.by) <> 0
), terms as (
    insert into words_term as t (space_id, source, term, df)
    select %(space)s, %(source)s, m.term, m.by from moved m order by m.term
    on conflict (space_id, source, term) do update set df = t.df + excluded.df
), totals as (
    select (select count(*) from wanted) - (select count(*) from before) as docs,
        coalesce((select sum(w.len) from wanted w), 0) - coalesce((select sum(b.len) from before b), 0) as total_len
)
insert into words_total as t (space_id, source, docs, total_len)
select %(space)s, %(source)s, totals.docs, totals.total_len from totals
on conflict (space_id, source) do update
set docs = t.docs + excluded.docs, total_len = t.total_len + excluded.total_len;

-- name: forget_counts
-- Empties the counts of a space, to count all anew.
with totals as (delete from words_total t where t.space_id = %(space)s),
    terms as (delete from words_term t where t.space_id = %(space)s),
    waiting as (delete from words_waiting w where w.space_id = %(space)s)
delete from words_counted c where c.space_id = %(space)s;

-- name: recount_words
-- Counts the words of all texts of a space whose counts were emptied.
with texts as (
    select 'memory' as source, m.id as ref, length(m.content_tsv) as len, strip(m.content_tsv) as terms from memory m
    where m.space_id = %(space)s and m.status = 'active' and m.kind not in ('insight', 'narrative', 'tension')
    union all
    select 'turn', t.turn_id, t.len, strip(t.content_tsv) from turn_index t
    where t.space_id = %(space)s and t.part = 0
), kept as (
    insert into words_counted (space_id, source, ref, len, terms)
    select %(space)s, t.source, t.ref, t.len, t.terms from texts t
), terms as (
    insert into words_term (space_id, source, term, df)
    select %(space)s, t.source, u.lexeme, count(*) from texts t cross join lateral unnest(t.terms) as u
    group by t.source, u.lexeme
)
insert into words_total (space_id, source, docs, total_len)
select %(space)s, t.source, count(*), sum(t.len) from texts t group by t.source
returning docs;

-- name: unindexed_episodes
-- Episodes in which something was said that cannot be searched yet.
select e.id, e.agent_id, e.session_id, coalesce(p.turns, 0) as done from episode e
left join turn_progress p on p.space_id = e.space_id and p.episode_id = e.id
where e.space_id = %(space)s and e.turns > coalesce(p.turns, 0) and not e.evaluation and e.raw_cut_at is null
order by e.last_at desc
limit %(limit)s;

-- name: turns_from
-- What was said in an episode from a place on.
select t.seq, t.turn_id, t.at, t.role, t.origin, t.content from episode_turn t
where t.space_id = %(space)s and t.episode_id = %(episode)s and t.seq >= %(seq)s
order by t.seq
limit %(limit)s;

-- name: put_turn_part
-- Makes a part of what was said searchable, in place of what stood there.
insert into turn_index (space_id, turn_id, part, episode_id, seq, agent_id, session_id, at, role, origin, trust,
    speaker, content, context, content_tsv, len, model, text_hash, embedding)
values (%(space)s, %(turn)s, %(part)s, %(episode)s, %(seq)s, %(agent)s, %(session)s, %(at)s, %(role)s, %(origin)s,
    %(trust)s, %(speaker)s, %(content)s, %(context)s,
    case when %(part)s = 0 then setweight(to_tsvector('english', %(words)s), 'A')
        || setweight(to_tsvector('english', %(around)s), 'D') end,
    case when %(part)s = 0 then (select coalesce(sum(cardinality(u.positions)), 0)
        from unnest(to_tsvector('english', %(words)s)) as u (lexeme, positions, weights)) else 0 end,
    %(model)s, %(text_hash)s, %(embedding)s)
on conflict (space_id, turn_id, part) do update
set content = excluded.content, context = excluded.context, content_tsv = excluded.content_tsv, len = excluded.len,
    model = excluded.model, text_hash = excluded.text_hash, embedding = excluded.embedding;

-- name: advance_turns
-- Notes how far the turns of an episode are searchable.
insert into turn_progress (space_id, episode_id, turns) values (%(space)s, %(episode)s, %(turns)s)
on conflict (space_id, episode_id) do update set turns = excluded.turns;

-- name: unembedded_turns
-- Parts of turns that have no vector of a model.
select t.turn_id, t.part, t.at, t.content, t.context from turn_index t
where t.space_id = %(space)s and t.model is distinct from %(model)s
order by t.at desc, t.turn_id, t.part
limit %(limit)s;

-- name: put_turn_vector
-- Keeps the vector of a part.
update turn_index t set model = %(model)s, text_hash = %(text_hash)s, embedding = %(embedding)s
where t.space_id = %(space)s and t.turn_id = %(turn)s and t.part = %(part)s;

-- name: keep_recalls
-- Writes down recalls with what they gave and what they left out; which ones were not there yet.
with given as materialized (
    select * from jsonb_to_recordset(%(recalls)s::jsonb) as r (id uuid, at timestamptz, agent_id text, session_id text,
        door text, cue text, cue_hash bytea, filters jsonb, settings_hash text, embedder text, as_of timestamptz,
        abstained boolean, below integer, degraded text[], took_ms double precision, hits jsonb)
), kept as (
    insert into recall (space_id, id, at, agent_id, session_id, door, cue, cue_hash, filters, settings_hash, embedder,
        as_of, abstained, below, degraded, took_ms)
    select %(space)s, g.id, g.at, g.agent_id, g.session_id, g.door, g.cue, g.cue_hash, g.filters, g.settings_hash,
        g.embedder, g.as_of, g.abstained, g.below, g.degraded, g.took_ms
    from given g
    on conflict do nothing
    returning id
), hits as (
    insert into recall_hit (space_id, recall_id, position, type, ref, score, evidence, why, shown, dropped_because)
    select %(space)s, g.id, h.position, h.type, h.ref, h.score, h.evidence, h.why, h.shown, h.dropped_because
    from kept join given g on g.id = kept.id
    cross join lateral jsonb_to_recordset(g.hits) as h (position integer, type text, ref uuid, score double precision,
        evidence double precision, why jsonb, shown boolean, dropped_because text)
)
select kept.id from kept;

-- name: recalls
-- What was recalled, newest first.
select r.*, (select count(*) from recall_hit h where h.space_id = %(space)s and h.recall_id = r.id and h.shown) as hits
from recall r
where r.space_id = %(space)s
  and (%(session)s::text is null or r.session_id = %(session)s)
  and (%(abstained)s::boolean is null or r.abstained = %(abstained)s)
  and (%(memory)s::uuid is null or exists (select 1 from recall_hit h where h.space_id = %(space)s
       and h.recall_id = r.id and h.ref = %(memory)s and h.shown))
  and (%(after)s::uuid is null or r.id < %(after)s)
order by r.id desc
limit %(limit)s;

-- name: find_recall
-- One recall.
select r.* from recall r where r.space_id = %(space)s and r.id = %(id)s;

-- name: hits_of
-- What a recall gave and left out, in its order.
select h.* from recall_hit h where h.space_id = %(space)s and h.recall_id = %(id)s order by h.position;

-- name: prune_recalls
-- Ends recalls that were kept long enough, some at a time.
delete from recall r using (
    select x.id from recall x where x.space_id = %(space)s and x.at < %(before)s limit %(limit)s
) as old
where r.space_id = %(space)s and r.id = old.id;

-- name: unindex_cut_turns
-- Takes turns out of the index that words were cut out of, and those right beside them, and has the episode indexed
-- anew from there.
with cut as (
    select distinct t.episode_id, t.seq from turn_index t
    where t.space_id = %(space)s and position(%(mark)s in t.content) > 0
), back as (
    update turn_progress p set turns = least(p.turns, from_here.turns)
    from (select c.episode_id, greatest(0, min(c.seq) - 2) as turns from cut c group by c.episode_id) as from_here
    where p.space_id = %(space)s and p.episode_id = from_here.episode_id
), gone as (
    delete from turn_index t using cut c
    where t.space_id = %(space)s and t.episode_id = c.episode_id and t.seq between c.seq - 1 and c.seq + 1
    returning t.turn_id
)
select distinct g.turn_id from gone g;

-- name: unindex_old_turns
-- Takes turns out of the index whose words are not kept any longer; which.
with gone as (
    delete from turn_index t using episode e
    where t.space_id = %(space)s and e.space_id = %(space)s and e.id = t.episode_id and e.raw_cut_at is not null
    returning t.turn_id
)
select distinct g.turn_id from gone g;

-- name: forget_recalls
-- Erases the recalls that brought some memories or turns to mind, with what was asked.
delete from recall r using (
    select distinct h.recall_id from recall_hit h
    where h.space_id = %(space)s and h.ref = any(%(refs)s) and h.shown
) as told
where r.space_id = %(space)s and r.id = told.recall_id;

-- name: forget_hits
-- Erases them where they were looked at and not told.
delete from recall_hit h where h.space_id = %(space)s and h.ref = any(%(refs)s);

-- name: forget_parts
-- Erases the pieces of identifiers that they held.
delete from identifier_part p where p.space_id = %(space)s and p.ref = any(%(refs)s);

-- name: drop_words
-- Lets go of words that stand in no text any more.
delete from words_term t where t.space_id = %(space)s and t.df <= 0;

-- name: states_of
-- In which state memories and turns are now, since when they are there, and when an outcome last moved them.
select m.id as ref, m.status, m.created_at,
    (select max(o.at) from outcome o where o.space_id = %(space)s and o.memory_id = m.id and o.counted) as outcome_at
from memory m where m.space_id = %(space)s and m.id = any(%(refs)s)
union all
select t.turn_id, 'active', t.at, null from turn_index t
where t.space_id = %(space)s and t.turn_id = any(%(refs)s) and t.part = 0;

-- name: holds_memories
-- Whether anything was ever learnt in a space and is still there.
select exists (select 1 from memory m where m.space_id = %(space)s) as found;

-- name: standings
-- What stands today in the place of some memories: they themselves, or what replaced them.
with recursive line (asked, id, depth) as (
    select m.id, m.id, 0 from memory m where m.space_id = %(space)s and m.id = any(%(memories)s::uuid[])
    union all
    select line.asked, m.superseded_by, line.depth + 1 from line
    join memory m on m.space_id = %(space)s and m.id = line.id and m.superseded_by is not null
    where line.depth < %(depth)s
), last as (
    select distinct on (line.asked) line.asked, line.id from line order by line.asked, line.depth desc
)
select last.asked, m.id, m.content, m.compressed, m.version, coalesce(m.event_time, m.created_at) as noted_at,
    exists (select 1 from resolution_queue r where r.space_id = m.space_id and r.about = 'memory'
            and r.status = 'pending' and r.old_memory = m.id) as disputed
from last
join memory m on m.space_id = %(space)s and m.id = last.id
where m.status = 'active' and (m.agent_id is null or m.agent_id = %(agent)s);

-- name: standing_notes
-- The newest preferences and rules of an agent, its own and the shared ones, each by its own part of the index.
select * from (
    (select m.id, m.seq, m.content, m.compressed, m.version, coalesce(m.event_time, m.created_at) as noted_at, false as disputed from memory m
     where m.space_id = %(space)s and m.agent_id = %(agent)s and m.status = 'active'
       and m.kind in ('preference', 'procedural')
     order by m.seq desc limit %(limit)s)
    union all
    (select m.id, m.seq, m.content, m.compressed, m.version, coalesce(m.event_time, m.created_at) as noted_at, false as disputed from memory m
     where m.space_id = %(space)s and m.agent_id is null and m.status = 'active'
       and m.kind in ('preference', 'procedural')
     order by m.seq desc limit %(limit)s)
) as standing
order by seq desc
limit %(limit)s;

-- name: companions
-- What else was said in the turn that taught a memory, in its order.
select m.id, m.content, m.compressed, m.version, coalesce(m.event_time, m.created_at) as noted_at, false as disputed
from memory best
join memory m on m.space_id = %(space)s and m.turn_id = best.turn_id and m.id <> best.id
where best.space_id = %(space)s and best.id = %(memory)s and m.status = 'active'
  and (m.agent_id is null or m.agent_id = %(agent)s)
order by m.seq
limit %(limit)s;

-- name: likely_updates
-- What was said later and probably replaces some memories, as long as that is not decided, the newest of each; what may
-- replace them only if it is one of them.
select distinct on (j.old_ref) j.old_ref as asked, m.id, m.content, m.compressed, m.version, coalesce(m.event_time, m.created_at) as noted_at, false as disputed
from judgement j
join memory old on old.space_id = %(space)s and old.id = j.old_ref and not old.immutable
join memory m on m.space_id = %(space)s and m.id = j.new_ref and m.trust >= old.trust
where j.space_id = %(space)s and j.old_ref = any(%(memories)s::uuid[]) and j.current = 'new'
  and (not j.final and j.confidence >= 0.5 or j.relation in ('unrelated', 'unsure') and j.new_ref = any(%(memories)s::uuid[]))
  and j.overruled_by is null
  and m.status = 'active' and (m.agent_id is null or m.agent_id = %(agent)s)
order by j.old_ref, m.seq desc;

-- name: best_of_recall_before
-- The best that the recall before brought to mind in the same session.
select h.ref from (
    select r.id from recall r
    where r.space_id = %(space)s and r.session_id = %(session)s and r.agent_id = %(agent)s and r.at >= %(since)s
      and r.id < %(recall)s
    order by r.at desc, r.id desc
    limit 1
) as before
join recall_hit h on h.space_id = %(space)s and h.recall_id = before.id and h.shown and h.type = 'memory'
order by h.position
limit %(limit)s;

-- name: keep_company
-- Counts pairs of memories that came to mind together or one after the other; each once per cause.
insert into memory_co_access as c (space_id, memory_id_a, memory_id_b, co_access_count, temporal_count,
    last_co_accessed, last_cause)
select %(space)s, p.one, p.other, p.together, 1 - p.together, %(at)s, %(cause)s
from unnest(%(one)s::uuid[], %(other)s::uuid[], %(together)s::integer[]) as p (one, other, together)
join memory a on a.space_id = %(space)s and a.id = p.one
join memory b on b.space_id = %(space)s and b.id = p.other
order by p.one, p.other
on conflict (space_id, memory_id_a, memory_id_b) do update
set co_access_count = c.co_access_count + excluded.co_access_count,
    temporal_count = c.temporal_count + excluded.temporal_count,
    last_co_accessed = excluded.last_co_accessed, last_cause = excluded.last_cause
where c.last_cause <> excluded.last_cause
returning c.xmax = 0 as is_new;

-- name: let_the_weakest_go
-- Lets partners of memories go beyond those that they may have: the weakest of those that are not new.
delete from memory_co_access c using (
    select x.memory_id_a, x.memory_id_b, row_number() over (
        partition by each.id
        order by x.last_co_accessed = %(at)s desc,
            least(1.0, (x.co_access_count + x.temporal_count) / %(full)s::double precision) * power(0.5,
                extract(epoch from %(at)s::timestamptz - x.last_co_accessed) / (86400 * %(half_life)s)) desc,
            x.memory_id_a, x.memory_id_b) as place
    from unnest(%(memories)s::uuid[]) as each (id)
    cross join lateral (
        -- Counted first, which is cheap: few have too many.
        select (select count(*) from memory_co_access a where a.space_id = %(space)s and a.memory_id_a = each.id)
            + (select count(*) from memory_co_access b where b.space_id = %(space)s and b.memory_id_b = each.id) as partners
        offset 0
    ) as has
    cross join lateral (
        select a.* from memory_co_access a where a.space_id = %(space)s and a.memory_id_a = each.id
        union all
        select b.* from memory_co_access b where b.space_id = %(space)s and b.memory_id_b = each.id
    ) as x
    where has.partners > %(partners)s
) as ranked
where c.space_id = %(space)s and ranked.place > %(partners)s
  and c.memory_id_a = ranked.memory_id_a and c.memory_id_b = ranked.memory_id_b;

-- name: keep_cue_outcomes
-- Keeps what became of a memory for the questions that it was brought to mind for; once per question and cause, the
-- last word counts.
insert into cue_outcome as c (space_id, id, agent_id, memory_id, cue_hash, cause, reward, weight, at)
select distinct on (r.cue_hash, told.cause) o.space_id, o.id, o.agent_id, o.memory_id, r.cue_hash, told.cause,
    worth.reward, o.w, o.at
from outcome o
join recall r on r.space_id = %(space)s and r.id = o.recall_id
join unnest(%(outcomes)s::text[], %(rewards)s::double precision[]) as worth (outcome, reward)
    on worth.outcome = o.outcome
cross join lateral (select concat_ws('|', o.agent_id, o.session_id, o.day::text, o.origin) as cause) as told
where o.space_id = %(space)s and o.memory_id = %(memory)s and o.counted and o.replaced_by is null
  and exists (select 1 from memory m where m.space_id = %(space)s and m.id = %(memory)s)
order by r.cue_hash, told.cause, o.at desc, o.id desc
on conflict (space_id, memory_id, cue_hash, cause) do update
set reward = excluded.reward, weight = excluded.weight, at = excluded.at
where (c.reward, c.weight, c.at) is distinct from (excluded.reward, excluded.weight, excluded.at);

-- name: unembedded_cues
-- Questions that have no vector of a model, as far as their words are still kept.
select distinct on (c.cue_hash) c.cue_hash, r.cue from cue_outcome c
join outcome o on o.space_id = %(space)s and o.id = c.id
join recall r on r.space_id = %(space)s and r.id = o.recall_id
where c.space_id = %(space)s and c.model is distinct from %(model)s
order by c.cue_hash
limit %(limit)s;

-- name: put_cue_vector
-- Keeps the vector of a question wherever it was asked.
update cue_outcome c set model = %(model)s, cue_vector = %(vector)s
where c.space_id = %(space)s and c.cue_hash = %(cue_hash)s;

-- name: texts_of
-- What some memories or turns say now, as far as they are searched.
select m.id as ref, m.content from memory m
where %(source)s = 'memory' and m.space_id = %(space)s and m.id = any(%(refs)s) and m.status = 'active'
union all
select t.turn_id, string_agg(t.content, '' order by t.part) from turn_index t
where %(source)s = 'turn' and t.space_id = %(space)s and t.turn_id = any(%(refs)s)
group by t.turn_id;

-- name: every_text
-- All that is searched in a space, by source.
select 'memory' as source, m.id as ref from memory m where m.space_id = %(space)s and m.status = 'active'
union all
select 'turn', t.turn_id from turn_index t where t.space_id = %(space)s and t.part = 0;

-- name: keep_pieces
-- Puts the pieces of some texts in the place of those that stood there, as words are searched.
with wanted as (
    select distinct o.ref, word.lexeme as part
    from unnest(%(owners)s::uuid[], %(pieces)s::text[]) as o (ref, piece)
    cross join lateral unnest(tsvector_to_array(to_tsvector('english', o.piece))) as word (lexeme)
), gone as (
    delete from identifier_part p where p.space_id = %(space)s and p.type = %(source)s and p.ref = any(%(refs)s)
      and not exists (select 1 from wanted w where w.ref = p.ref and w.part = p.part)
)
insert into identifier_part (space_id, part, type, ref)
select %(space)s, w.part, %(source)s, w.ref from wanted w
on conflict do nothing;

-- name: count_dormant
-- How many memories sleep: faded below a center, of kinds that may, and no person's word. Fading as it is read.
select count(*) as sleeping from memory m
cross join lateral (
    select greatest(0, extract(epoch from %(at)s::timestamptz
        - greatest(m.created_at, m.last_accessed, m.last_confirmed))) / 86400 as days
) as idle
where m.space_id = %(space)s and m.status = 'active' and m.kind = any(%(kinds)s) and m.origin <> 'person'
  and not m.immutable
  and m.weight_alpha / (m.weight_alpha + m.weight_beta + %(lost_a_day)s * idle.days
      + case when idle.days >= %(stale_after)s and m.access_count < %(stale_below)s then %(lost_when_stale)s else 0 end)
      < %(below)s;

-- name: counts_differ
-- How many of some words stand in as many texts as was counted, and how many do not; without texts that wait.
with sample as (
    select t.source, t.term, t.df from words_term t where t.space_id = %(space)s
    order by md5(t.term) limit %(limit)s
), exact as (
    select s.source, s.term, s.df, case s.source
        when 'memory' then (select count(*) from memory m where m.space_id = %(space)s and m.status = 'active'
            and m.content_tsv @@ quote_literal(s.term)::tsquery)
        else (select count(*) from turn_index t where t.space_id = %(space)s and t.part = 0
            and t.content_tsv @@ quote_literal(s.term)::tsquery) end as found
    from sample s
)
select count(*) as looked, count(*) filter (where e.df <> e.found) as wrong,
    (select count(*) from words_waiting w where w.space_id = %(space)s) as waiting
from exact e;
