-- What is left of a turn without what came from a source that was taken back.
alter table episode_turn add column remaining text;
comment on column episode_turn.remaining is 'what it is summed up by, without what was taken back; none while that is all of it';
