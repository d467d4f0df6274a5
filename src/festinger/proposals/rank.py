"""Which ripe proposal comes first?

The one that more causes have seen, a little more or less by what its producer's proposals were worth before. Pure.
"""

SWAY = 0.5
"""How far the worth of a producer moves the rank of what it proposes."""


def rank(seen_count: int, value: float = 0.0) -> float:
    return seen_count * (1 + max(-SWAY, min(SWAY, value)))
