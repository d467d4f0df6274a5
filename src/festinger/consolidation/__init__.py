"""Consolidates memories and resolves conflicts in the background.

A night (`night`, `run`) plans units of work and applies them through the operations of `memory` (`apply`): insights
with citations (`reflect`), promotions (`promote`), and what lost its ground, within limits (`ceilings`). It can
be previewed, told and undone. Conflicts are decided by rules, else by a model (`resolution`); the world applies those
decisions to the graph.
"""
