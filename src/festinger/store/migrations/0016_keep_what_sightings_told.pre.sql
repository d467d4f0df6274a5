-- What each sighting said beside its words, so that a memory can be told again without some of them.
alter table memory_sighting add column told jsonb;
comment on column memory_sighting.told is 'subject, time and tags that came with it; none where that was not kept yet';
