"""Detects agents that loop, within a reply or across turns, and decides on countermeasures.

The decisions are pure: messages, characters, settings and times come in, findings and plans go out.
"""
