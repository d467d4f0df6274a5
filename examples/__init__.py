"""Demos: a minute each, in which the real server shows what it does and says why.

A demo runs on a throwaway store, with a clock that stands still and a model that reads from a script, so it
needs nothing, changes nothing and prints the same bytes each time. `ground` is the environment, `model`
answers, `scene` formats; the others are one demo each.
"""
