"""Matches requests to conversations and keeps their state.

Matching is pure; the state is bounded in number, size and age and lives in memory. `persistence` converts it
for the store, so that another process can insert the same blocks.
"""
