"""What should a person be asked?

Will keep proposals with their sightings, the gate that lets ripe ones through, and verdicts. Not built yet.
"""
