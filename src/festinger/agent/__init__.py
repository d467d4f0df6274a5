"""The mind that uses the memory: attention, gates, context, one turn of thought.

Will be the cognitive agent behind `festinger chat`. Not built yet.
"""
