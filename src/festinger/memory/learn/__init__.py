"""Turns a statement into a memory: intake, candidates, comparison, decision and writing."""
