-- A memory that replaced others is also found by their words: "Since June I'm in Bologna" tells where somebody lives only
-- because it replaced "I live in Porto". The first two of its line stand before it in what is searched. Triggers keep that
-- true whatever happens to the line: replaced, undone, reworded, forgotten.
create function contextualize(of_space text, successor uuid, content text) returns text
    language sql stable
    as $$
    with recursive line (id, depth) as (
        select m.id, 1 from memory m
        where m.space_id = of_space and m.superseded_by = successor and m.status = 'superseded'
        union
        select m.id, line.depth + 1 from line
        join memory m on m.space_id = of_space and m.superseded_by = line.id and m.status = 'superseded'
        where line.depth < 20
    ), first as (
        select m.seq, left(m.content, 200) as said from line join memory m on m.space_id = of_space and m.id = line.id
        order by m.seq limit 2
    )
    select nullif(string_agg(first.said, E'\n' order by first.seq), '') || E'\n' || content from first
    $$;

create function contextualize_successors() returns trigger
    language plpgsql
    as $$
    begin
        with recursive later (space, id) as (
            select coalesce(new.space_id, old.space_id), next.id
            from unnest(array[old.superseded_by, new.superseded_by]) as next (id) where next.id is not null
            union
            select m.space_id, m.superseded_by from later
            join memory m on m.space_id = later.space and m.id = later.id where m.superseded_by is not null
        )
        update memory m set content_contextualized = contextualize(m.space_id, m.id, m.content)
        from later where m.space_id = later.space and m.id = later.id;
        return null;
    end
    $$;

create function contextualize_reworded() returns trigger
    language plpgsql
    as $$
    begin
        new.content_contextualized := contextualize(new.space_id, new.id, new.content);
        return new;
    end
    $$;

create trigger memory_arrives_replaced after insert on memory
    for each row when (new.superseded_by is not null) execute function contextualize_successors();
create trigger memory_replaced after update of superseded_by, content on memory
    for each row when (old.superseded_by is distinct from new.superseded_by
        or new.superseded_by is not null and old.content <> new.content) execute function contextualize_successors();
create trigger memory_forgotten after delete on memory
    for each row when (old.superseded_by is not null) execute function contextualize_successors();
create trigger memory_reworded before update of content on memory
    for each row when (old.content <> new.content) execute function contextualize_reworded();

update memory m set content_contextualized = contextualize(m.space_id, m.id, m.content)
where exists (select 1 from memory o where o.space_id = m.space_id and o.superseded_by = m.id and o.status = 'superseded');
comment on column memory.content_contextualized is 'what is searched and embedded instead, if it replaced others: their words, then its own';
