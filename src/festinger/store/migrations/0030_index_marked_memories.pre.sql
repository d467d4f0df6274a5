-- Boundaries, goals and decisions are few and stand in every brief: they are found without reading all memories.
create index memory_marked on memory (space_id, agent_id, seq)
    where status = 'active' and (immutable or tags && array['goal', 'decision']);
