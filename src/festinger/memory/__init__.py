"""Facts, episodes and censors, and how deeply each is held.

Will keep the unit of remembering with its provenance, learning, superseding and forgetting. Not built yet.
"""
