"""Detectors that propose changes from stored rows, without a model.

Each runs after the event that may make it fire. Its wording is fixed, so that the same problem is one
proposal wherever it occurs; no outside text influences it, so its origin is `job`, and it cites its evidence.
The gate decides whether a proposal is ripe.
"""
