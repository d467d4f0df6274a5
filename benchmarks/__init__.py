"""How good and how fast is it, side by side with others, in one run?

Keeps the suites behind `festinger bench`: `catalogue` lists them, `suite` says what one is, `run` runs them,
`report` writes down what came out. It drives the doors as a user would, with a throw-away store of its own; it
never touches the spaces of the person who runs it, and speaks to nothing but this machine.
"""
