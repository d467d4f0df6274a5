-- Preferences and rules are considered for every message, so the newest of an agent must be found at once.
create index memory_standing on memory (space_id, agent_id, seq)
    where status = 'active' and kind in ('preference', 'procedural');
