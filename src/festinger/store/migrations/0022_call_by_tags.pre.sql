-- The words of the tags of a memory, by which it is called. A tag with a colon is a label that nobody says.
create function tag_words(language regconfig, tags text[]) returns tsvector
    language sql immutable parallel safe
    as $$ select to_tsvector(language, coalesce(string_agg(tag, ' '), '')) from unnest(tags) as tag where tag !~ ':' $$;

alter table memory add column tags_tsv tsvector generated always as (tag_words(language, tags)) stored;
comment on column memory.tags_tsv is 'words of its tags but for labels like `domain:code`';
create index memory_called on memory using gin (tags_tsv) where tags_tsv <> ''::tsvector;
