"""Resolves conflicts in the background.

Rules decide what they can, a model the rest within limits (`arbiter`); a run works through the queue of a
space and records the results (`resolution`). The world applies the decisions to the graph.
"""
