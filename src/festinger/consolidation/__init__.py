"""What is done while nobody waits: conflicts are resolved.

Rules decide what decides itself (`rules`), a model what is left, within its limits (`arbiter`); a run goes through
the queue of a space and keeps what it came to (`resolution`). What a decision does to the graph is the world's matter.
"""
