"""Loads, validates and watches the settings.

One frozen tree (`tree`) whose leaves are found by name (`keys`) is read from defaults, a YAML file, the
config table, the environment and the command line, in that order (`sources`), and kept current while rows and
files change (`live`, `watch`). A bad edit changes nothing. Also holds the master key (`master_key`) and the
encryption of secrets (`vault`). `store` owns the table of changed values.
"""
