"""What can be said of a text without knowing the world.

Pure functions: how many tokens it costs (`budget`), what it looks like when case and typography are folded away
(`fold`), what in it is a secret (`redaction`), which words and names stand in it (`tokens`), which of them count
(`vocabulary`), what it says outright (`cues`) or takes back (`retractions`), and how a fact is written in one line
(`facts`). Nothing here reads a file of the user, a clock or a row.
"""
