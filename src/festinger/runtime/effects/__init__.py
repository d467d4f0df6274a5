"""The effects of approved proposals, one per type."""
