"""Work that must happen, later, once, whatever crashes.

Keeps the queues, retries, dead letters, schedules and progress, on procrastinate in the same Postgres. It
knows no job's meaning: rooms register their deeds at wiring.
"""
