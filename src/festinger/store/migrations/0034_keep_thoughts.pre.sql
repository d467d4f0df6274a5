-- What an agent thought while nobody talked with it: which memory it came upon, and who was told. The words are turns.
create table thought (
    space_id  text not null references space (id) on delete cascade,
    id        uuid not null,
    agent_id  text not null,
    at        timestamptz not null,
    channel   text not null check (channel in ('goal', 'value', 'connection', 'gut')),
    memory_id uuid not null,
    other_id  uuid,
    loser_id  uuid,
    has_words boolean not null,
    told_at   timestamptz,
    primary key (space_id, id)
);
comment on table thought is 'thoughts of agents while nobody talked with them: ids, never words';
comment on column thought.id is 'of its turn, if it has words';
comment on column thought.channel is 'why it was thought: it bore on a goal or a value, connects what was apart, or a talk felt unusual';
comment on column thought.memory_id is 'the memory that it came upon, or the turn that felt unusual';
comment on column thought.other_id is 'what it was connected with, or reached from it';
comment on column thought.loser_id is 'the memory that came second';
comment on column thought.has_words is 'false if the model had nothing to say';
comment on column thought.told_at is 'when a person was told';
create index thought_order on thought (space_id, agent_id, at);
alter table agent_cycle add column gut double precision;
comment on column agent_cycle.gut is 'how far attention was from what usually matters, from 0 to 1; none without vectors';

-- Lessons from mistakes are few, and asked for in every turn.
create index memory_correction on memory (space_id, agent_id) where status = 'active' and kind = 'correction';
