"""Inserts blocks of notes into requests without changing anything else.

Injection is pure: text is inserted at offsets of the original bytes, and nothing is re-serialized.
"""
