-- What was said in one breath is found together.
create index memory_turn on memory (space_id, turn_id) where status = 'active' and turn_id is not null;
