"""Use cases of the interfaces, on an open app: access, models, spaces, conflicts, reviews and status."""
