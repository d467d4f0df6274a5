"""Erases memories permanently, and withdraws everything that came from a bad source."""
