"""Forgets for good, and takes back what came from a bad source."""
