"""The cognitive agent that uses the memory: attention, gates, context, one turn of thought.

It is behind `festinger chat`. Decisions are pure functions of state, clock, chance and settings; `mind` runs
them as one cycle.
"""
