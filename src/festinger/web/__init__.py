"""The pages and the API under `/admin`.

Server-rendered pages with a JSON twin, health, metrics and the administration of settings, jobs and events.
It parses, calls and renders; it decides nothing.
"""
