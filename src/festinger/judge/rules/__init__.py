"""Judges two statements by rules alone: pure, local and fast."""
