-- What people asked to forget, as marks by which the same words are known when they come back by themselves.

create table forgotten_mark (
    space_id text not null references space (id) on delete cascade,
    mark     text not null check (length(mark) = 64),
    at       timestamptz not null,
    primary key (space_id, mark)
);
comment on table forgotten_mark is 'keyed hashes of forgotten words; the key is kept outside of the database';
