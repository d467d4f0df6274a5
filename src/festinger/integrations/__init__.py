"""Connects other people's agents to this memory: the hook command, and the configuration of coding agents."""
