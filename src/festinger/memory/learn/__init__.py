"""How a statement becomes a memory: intake, candidates, comparison, decision and writing."""
