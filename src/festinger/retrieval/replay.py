"""What did a recall give then, what would it give now, and why is that different?

What it gave is read from its record, as it was written. Asking again counts nothing. For each hit that came, went or
moved the plainest reason is named.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.ids import AgentId, SessionId, SpaceId
from festinger.memory.model import Place
from festinger.retrieval.arms import usable
from festinger.retrieval.desk import Desk
from festinger.retrieval.recall import recall
from festinger.retrieval.record import find_recall, settings_hash, shown_hits
from festinger.retrieval.wish import wished
from festinger.store.queries import queries_of

Q = queries_of("festinger.retrieval")

MOMENTS = ("as_of", "valid_at", "since", "until")


async def replay(desk: Desk, space: SpaceId, recall_id: UUID) -> dict[str, Any]:
    """`then`, `now` and what `changed` between them. Raises `NotFound`."""
    kept = await find_recall(desk, space, recall_id)
    place = Place(space=space, agent=AgentId(kept["agent"]), session=SessionId(kept["session"]))
    asked = dict(kept["filters"])
    asked |= {name: datetime.fromisoformat(asked[name]) if asked[name] else None for name in MOMENTS}
    asked["exclude"] = [UUID(each) for each in asked["exclude"]]
    wish = wished(
        kept["cue"], now=desk.clock(), blend=kept["blend"], seed=kept["seed"], explain=True, **asked
    )
    now = await recall(desk, place, wish, counts=False)
    then = shown_hits(kept["hits"])
    was = {hit["id"]: hit["position"] for hit in then}
    is_now = {str(item.id): position for position, item in enumerate(now.items, 1)}
    moved = [ref for ref in {**was, **is_now} if was.get(ref) != is_now.get(ref)]
    states = await _states(desk, space, moved)
    return {
        "then": {"items": then, "abstained": kept["abstained"], "below_threshold": kept["below_threshold"]},
        "now": now.as_json(),
        "changed": [
            {
                "ref": ref,
                "was": was.get(ref),
                "is": is_now.get(ref),
                "because": because(
                    states.get(ref), kept, since=kept["at"], elsewhere=_elsewhere(desk, space, kept)
                ),
            }
            for ref in moved
        ],
    }


def _elsewhere(desk: Desk, space: SpaceId, kept: Mapping[str, Any]) -> str | None:
    """What differs for all hits alike."""
    embedder = usable(desk.embedder())
    if kept["embedder"] != (embedder.name if embedder else ""):
        return "other embedder"
    if kept["settings_hash"] != settings_hash(desk.terms(space).retrieval):
        return "other settings"
    return None


def because(
    state: Mapping[str, Any] | None, kept: Mapping[str, Any], *, since: str, elsewhere: str | None
) -> str:
    """The plainest reason why a hit came, went or moved."""
    if state is None:
        return "forgotten"
    if state["status"] != "active":
        return str(state["status"])
    if iso(state["created_at"]) > since:
        return "new memory"
    if state["outcome_at"] is not None and iso(state["outcome_at"]) > since:
        return "outcome"
    return elsewhere or ("other memories" if kept["hits"] else "other settings")


async def _states(desk: Desk, space: SpaceId, refs: list[str]) -> dict[str, Mapping[str, Any]]:
    if not refs:
        return {}
    rows = await desk.store.all(Q["states_of"], space=space, refs=[UUID(ref) for ref in refs])
    return {str(row["ref"]): row for row in rows}
