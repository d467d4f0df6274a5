"""Analyzes text with pure functions that need no knowledge of the world.

Covers token budgets (`budget`), normalization (`normalize`), secrets (`secrets`), words and names (`tokens`),
the vocabulary (`vocabulary`), explicit statements and retractions (`cues`), and one-line facts (`facts`).
Nothing here reads a user's file, a clock or a row.
"""
