"""Demos: a minute each, in which the real server shows what it does and says why.

A demo runs on a store that is thrown away, with a clock that stands still and a model that reads from a script, so it
needs nothing, changes nothing and prints the same bytes each time. `ground` is what they stand on, `model` is who
answers, `scene` is how they are told; the others are one demo each.
"""
