"""How good and how fast is it, side by side with others, in one run?

Keeps the suites behind `festinger bench`. It drives the doors as a user would and opens a throw-away store of
its own; it never touches the spaces of the person who runs it.
"""
