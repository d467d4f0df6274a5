"""Consolidates memories and resolves conflicts in the background.

A night (`night`, `run`) plans units of work and applies them through the operations of `memory` (`apply`): insights
with citations (`reflect`), promotions (`promote`), and what lost its ground (`reconsider`), within limits (`ceilings`).
It can be previewed, told (`report`) and undone. Conflicts are decided by rules, else by a model (`arbiter`,
`resolution`); the world applies those decisions to the graph.
"""
