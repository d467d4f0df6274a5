"""The JSON API under `/admin`, one module a subject."""
