"""The JSON API under `/admin`, one module per subject."""
