-- A vector of the bare words of a memory serves to search by and to compare with; it need not be kept twice.
alter table memory_vector add column is_bare boolean not null default false;
comment on column memory_vector.is_bare is
    'of purpose `store`: a model reads these words alike for comparing, so there is no vector beside it';
