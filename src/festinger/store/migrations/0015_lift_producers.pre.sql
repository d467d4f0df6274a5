-- Producers whose proposals were mostly rejected are muted; a person may let one speak again.

create table producer_lift (
    space_id text not null references space (id) on delete cascade,
    producer text not null check (length(producer) between 1 and 80),
    category text not null check (length(category) between 1 and 40),
    at       timestamptz not null,
    by       text not null,
    primary key (space_id, producer, category)
);
comment on table producer_lift is 'what was decided before then no longer mutes a producer in a category';
