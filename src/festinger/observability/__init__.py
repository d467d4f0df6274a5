"""Seeing inside: what every room uses to say how it is.

Keeps the values of a health check (`checks`), the one list of metrics (`metrics`) and the set-up of the log
(`logs`). It decides nothing about health: each room makes its own checks and moves its own counters; the
doors show them.
"""
