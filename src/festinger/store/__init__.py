"""Postgres: embedded by default, any Postgres by URL, and nothing else.

Keeps the connection pool, the named queries, the schema and its migrations, the embedded server's life, and
the tables that belong to no single room: spaces, config, models, keys, costs, runs, cache versions. Only this room imports psycopg,
and it translates every database error once. What the other rooms' rows mean is theirs.
"""
