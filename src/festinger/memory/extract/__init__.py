"""Reads what a person's message states that is worth remembering."""
