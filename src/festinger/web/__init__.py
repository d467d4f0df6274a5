"""The pages and the API under `/admin`.

Server-rendered pages, each with a JSON version, plus health, metrics and administration of settings, jobs and
events. It parses, calls and renders; it makes no decisions.
"""
