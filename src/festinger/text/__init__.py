"""What can be said of a text without knowing the world.

Pure functions: how many tokens it costs (`budget`), what it looks like when case and typography are folded
away (`fold`), and what in it is a secret (`redaction`). Nothing here reads a file of the user, a clock or a row.
"""
