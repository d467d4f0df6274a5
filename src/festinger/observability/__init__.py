"""Health checks, metrics, logging and request tracing, shared by all packages.

Holds the values of a health check (`checks`), the one list of metrics (`metrics`) and the log setup (`logs`).
It judges nothing: each package makes its own checks and updates its own metrics; the interfaces show them.
"""
