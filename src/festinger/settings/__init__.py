"""What can be set, where it was set, and what is in force now.

Keeps one frozen tree (`tree`) whose leaves can be found by name (`keys`), reads it from defaults, a YAML file
(`file`), the config table, the environment and the command line in that order (`sources`), and holds the tree
in force while rows and files change (`live`, `watch`).
A wrong edit changes nothing. Also holds the master key and the boxes that secrets lie in (`vault`).
It leaves to the rooms what a value means, and to `store` the table in which changed values are kept.
"""
