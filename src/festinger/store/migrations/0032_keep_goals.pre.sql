-- Which goals stood in the context of a turn of thought; and goals that were reached or dropped, which are few among all
-- that is archived.
alter table agent_cycle add column goals uuid[] not null default '{}';
comment on column agent_cycle.goals is 'open goals that stood in the context';
create index memory_settled_goal on memory (space_id, updated_at) where status = 'archived' and tags && array['goal'];
