"""One memory for LLM agents that keeps itself true."""

__version__ = "0.1.0"
