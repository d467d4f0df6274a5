"""Verdicts of people on proposals: rules, reviewers, effects and tasks."""
