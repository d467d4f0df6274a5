-- The counts of words follow the outbox by themselves, many events at a time, instead of being told of each one.

create table words_heard (
    space_id text primary key references space (id) on delete cascade,
    seq      bigint not null
);
comment on table words_heard is 'how far the outbox was read for the counts of words';
comment on column words_heard.seq is 'the last event that was read; a space without a row has been read nowhere';

-- What waited to be told is read now with all that the outbox keeps.
update event_delivery set state = 'dropped', note = 'the counts read the outbox themselves'
where subscriber = 'count_words' and state in ('waiting', 'dead');
