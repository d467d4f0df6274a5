"""Which room owns which table, and which tables belong to no space."""

OWNERS = {
    "space": "store",
    "config": "store",
    "api_key": "store",
    "console_session": "store",
    "run": "store",
    "cache_version": "store",
    "schema_migration": "store",
    "models": "store",
    "cost": "store",
    "master_key": "store",
    "exchange": "store",
    "exchange_message": "store",
    "proxy_session": "store",
    "injection": "store",
    "request_log": "store",
    "event": "events",
    "event_delivery": "events",
    "job_record": "jobs",
    "periodic": "jobs",
    "periodic_run": "jobs",
    "judgement": "judge",
    "soas": "world",
    "soas_sentence": "world",
    "urd": "world",
    "urd_cause": "world",
    "urd_history": "world",
    "urd_outcome": "world",
    "world_version": "world",
    "world_log": "world",
    "world_tombstone": "world",
    "resolution_queue": "world",
    "resolution_run": "consolidation",
    "cue_waiting": "world",
    "cue_quarantine": "world",
    "cue_quarantine_cause": "world",
    "held_session": "world",
    "session_collision": "world",
    "alias": "world",
    "memory": "memory",
    "memory_vector": "memory",
    "memory_sighting": "memory",
    "memory_link": "memory",
    "memory_change": "memory",
    "refusal": "memory",
    "learn_key": "memory",
    "forgotten_mark": "memory",
    "episode": "memory",
    "episode_turn": "memory",
    "episode_link": "memory",
    "censor": "memory",
    "censor_vector": "memory",
    "censor_trigger": "memory",
    "censor_change": "memory",
    "surfacing": "outcomes",
    "staged_read": "outcomes",
    "rhythm": "outcomes",
    "cycle": "outcomes",
    "prediction": "outcomes",
    "outcome": "outcomes",
    "outcome_batch": "outcomes",
}
"""Only its owner writes a table."""

ENGINE = "procrastinate_"
"""Tables of the job engine begin so. They belong to `jobs`, and their shape is the engine's own."""

WITHOUT_SPACE = {
    "space": "the list of spaces itself, small and copied to every shard",
    "run": "processes serve all spaces",
    "schema_migration": "the schema is that of all spaces",
    "master_key": "one key seals the secrets of all spaces",
    "job_record": "follows the engine's jobs, which know no space",
    "periodic": "schedules are those of the whole installation",
    "periodic_run": "schedules are those of the whole installation",
}
"""Tables that are no tenant's, with the reason."""

ACROSS_SPACES = {
    "events.dead_deliveries": "people mend the deliveries of the whole installation",
    "events.lag": "how far a subscriber is behind is one number for all spaces",
    "events.prune_events": "age ends an event in every space",
    "store.cache_versions": "a process compares what it keeps of every space",
    "store.count_requests": "how memory served is one number for all spaces",
    "store.find_key": "which space a key belongs to is the question",
    "store.find_session": "which space a session belongs to is the question",
    "store.has_sessions": "whether anybody ever logged in is asked for the whole installation",
    "store.open_link": "which space a link belongs to is the question",
    "store.prune_requests": "age ends a line of the log in every space",
    "store.prune_sessions": "age ends a session in every space",
    "store.sealed_model_keys": "a new master key seals the secrets of all spaces",
    "store.tally_calls": "limits on calls and money are those of the whole installation",
}
"""Queries that meet rows of many spaces, with the reason."""


def owner(table: str) -> str | None:
    return "jobs" if table.startswith(ENGINE) else OWNERS.get(table)
