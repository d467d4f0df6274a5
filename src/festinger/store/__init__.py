"""Stores everything in Postgres, embedded by default or any server by URL.

Holds the connection pool, the named queries, the schema and its migrations, the embedded server, and the
tables that belong to no single package: spaces, config, models, keys, costs, runs and cache versions. Only
this package imports psycopg, and it translates every database error once.
"""
