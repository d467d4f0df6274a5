"""Backs up the whole database to a file and restores it."""
