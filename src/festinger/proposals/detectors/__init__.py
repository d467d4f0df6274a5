"""Who says that something should change, where no model looks?

Detectors read stored rows, each after the event that may make it fire. Their words are fixed, so that the same trouble
is one proposal wherever it is met; nobody's text decides them, so their origin is `job`, and they cite what they saw.
Whether a proposal is ripe is the gate's matter.
"""
