"""Saves everything to a file and brings it back."""
