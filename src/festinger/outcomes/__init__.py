"""What became of what was brought to mind.

Will keep surfacings and outcomes, and the arithmetic by which they change a memory. Not built yet.
"""
