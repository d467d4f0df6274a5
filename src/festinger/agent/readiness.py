"""Tells how far an agent has come: ten milestones, found by queries over what it lived through, verified by a person.

When a milestone was reached is not stored: it is the first day that rows show it.
"""

from typing import Any

from festinger.clock import Clock
from festinger.consolidation.ceilings import GOAL_LIKE
from festinger.consolidation.promote import IDENTITY_LIKE
from festinger.errors import BadInput
from festinger.ids import Scope
from festinger.store.pool import Store
from festinger.store.queries import load_queries

Q = load_queries("festinger.agent")

MILESTONES = {
    "memory": "A first memory was formed.",
    "retrieval": "A memory helped with an answer.",
    "consolidation": "A night made or moved something.",
    "goal_weight": "A memory weighs as much as a goal.",
    "self_prompt": "It acted on a thought of its own about a goal, or you took one up.",
    "identity_weight": "A memory is part of who it is.",
    "conflict": "A contradiction was settled.",
    "association": "It connected what was apart.",
    "goal": "A goal was reached, and it thought about how.",
    "values": "It did something of its own accord, out of a thought about what matters.",
}


async def load_milestones(store: Store, scope: Scope) -> list[dict[str, Any]]:
    """The milestones of an agent in their order, each with when it was reached, and when and by whom verified."""
    who: dict[str, Any] = {"space": scope.space, "agent": scope.agent}
    found = await store.one(Q["milestones"], goal_like=GOAL_LIKE, identity_like=IDENTITY_LIKE, **who)
    verified = {row["name"]: row for row in await store.all(Q["verified_milestones"], **who)}
    return [
        {
            "name": name,
            "what": what,
            "reached_at": found[name],
            "verified_at": verified[name]["verified_at"] if name in verified else None,
            "verified_by": verified[name]["verified_by"] if name in verified else "",
        }
        for name, what in MILESTONES.items()
    ]


async def is_ready(store: Store, scope: Scope) -> bool:
    """Whether a person verified all milestones of an agent."""
    rows = await store.all(Q["verified_milestones"], space=scope.space, agent=scope.agent)
    return {row["name"] for row in rows} >= MILESTONES.keys()


async def verify_milestone(
    store: Store, scope: Scope, name: str, *, by: str, clock: Clock, verified: bool = True
) -> None:
    """Note that a person takes a milestone for reached, or takes that back. Raises `BadInput`."""
    reached = {each["name"] for each in await load_milestones(store, scope) if each["reached_at"]}
    if name not in MILESTONES:
        raise BadInput(f"There is no milestone `{name[:40]}`.", hint=f"There are {', '.join(MILESTONES)}.")
    if verified and name not in reached:
        raise BadInput("This milestone is not reached yet.", hint="What is stored must show it before you confirm it.")
    if verified:
        await store.run(Q["verify_milestone"], space=scope.space, agent=scope.agent, name=name, now=clock(), by=by)
    else:
        await store.run(Q["doubt_milestone"], space=scope.space, agent=scope.agent, name=name)
