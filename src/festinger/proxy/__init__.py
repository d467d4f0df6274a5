"""Transparent HTTP proxy between a client and its model.

Forwards everything byte for byte, streams responses as they arrive, and checks Host, Origin, keys and limits.
If memory fails, the request is forwarded without it.
"""
