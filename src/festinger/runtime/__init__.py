"""The composition root: builds the open `App` from the packages below.

`app` wires them, `supervisor` keeps the app open while the store comes and goes and runs the health checks.
No package below knows any of this.
"""
