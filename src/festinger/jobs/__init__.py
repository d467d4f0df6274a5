"""Durable background work: it runs later, once, whatever crashes.

Holds queues, retries, dead letters, schedules and progress, on procrastinate in the same Postgres. It knows
nothing about what a job means: packages register their functions when the app is wired.
"""
