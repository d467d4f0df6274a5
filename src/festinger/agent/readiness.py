"""Tells how far an agent has come: ten milestones, found by queries over what it lived through.

Nothing is stored for them: a milestone is reached on the first day that rows show it. Those that need parts which do
not exist say so.
"""

from typing import Any

from festinger.consolidation.ceilings import GOAL_LIKE
from festinger.consolidation.promote import IDENTITY_LIKE
from festinger.ids import Scope
from festinger.store.pool import Store
from festinger.store.queries import queries_of

Q = queries_of("festinger.agent")

MILESTONES = (
    ("memory", "A first memory was formed.", ""),
    ("retrieval", "A memory helped with an answer.", ""),
    ("consolidation", "A night made or moved something.", ""),
    ("goal_weight", "A memory weighs as much as a goal.", ""),
    ("self_prompt", "It spoke of a thought of its own about a goal.", ""),
    ("identity_weight", "A memory is part of who it is.", ""),
    ("conflict", "A contradiction was settled.", ""),
    ("association", "It connected what was apart.", ""),
    ("goal", "A goal was reached.", ""),
    ("values", "It decided by itself, in line with its values.", "It does nothing that nobody asked for."),
)
"""Each with what it says, and why it cannot be reached yet."""


async def load_readiness(store: Store, scope: Scope) -> list[dict[str, Any]]:
    """The milestones of an agent in their order, each with the moment at which it was reached."""
    asked: dict[str, Any] = {"goal_like": GOAL_LIKE, "identity_like": IDENTITY_LIKE}
    found = await store.one(Q["milestones"], space=scope.space, agent=scope.agent, **asked)
    return [
        {"name": name, "what": what, "reached_at": found.get(name), "not_built": not_built}
        for name, what, not_built in MILESTONES
    ]
