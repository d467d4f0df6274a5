"""Sightings of suggestions: fingerprints, intake, vote counting and similarity."""
