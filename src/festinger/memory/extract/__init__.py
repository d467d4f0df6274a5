"""Extracts the statements worth remembering from a person's message."""
