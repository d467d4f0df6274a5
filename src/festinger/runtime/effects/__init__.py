"""What an approved proposal does, one effect a type."""
