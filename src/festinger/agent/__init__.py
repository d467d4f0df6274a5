"""The cognitive agent that uses the memory: attention, gates, context, one turn of thought.

Will be behind `festinger chat`. Not built yet.
"""
