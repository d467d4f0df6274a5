"""The transparent door between a client and its model.

Forwards everything byte for byte to the upstream, streams as it comes, and guards Host, Origin, keys and
limits. It decides nothing about memory: it asks the rooms below, and goes on without them.
"""
