"""The suites behind `festinger bench`: quality and speed, compared with other systems in one run.

`catalogue` lists them, `suite` defines one, `run` runs them, `report` writes the results. They drive the
public interfaces as a user would, with a throwaway store; they never touch the spaces of the person who runs
them, and connect only to this machine.
"""
