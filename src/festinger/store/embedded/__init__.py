"""Runs the embedded Postgres server: binaries, cluster, start, stop and upgrade."""
