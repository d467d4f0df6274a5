"""What happens while nobody asks: light ticks, deep sleep, resolution of conflicts.

Will merge, compress and settle what the day has left. Not built yet.
"""
