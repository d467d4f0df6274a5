"""What people decide: verdicts, the rules for them, reviewers, effects and tasks."""
