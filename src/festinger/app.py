"""Wiring: the one file where names become objects."""
