"""Why does the world believe what it believes of a concept?

Everything that is known of one word: the parts of its score, its edges with who said them, what became of them,
what is disputed and what is kept apart. An unknown word is answered with the nearest known spellings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

from festinger.errors import NoSuchConcept
from festinger.ids import SpaceId
from festinger.store.queries import queries_of
from festinger.world.concept import SoasRow, effective
from festinger.world.conflicts import Conflict, conflicts
from festinger.world.desk import Desk
from festinger.world.quarantine import Quarantined, quarantined

Q = queries_of("festinger.world")

MOST_SPELLINGS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Believed:
    """An edge in words, with who said it."""

    edge: Mapping[str, Any]
    causes: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    concept: SoasRow
    effective: float
    edges: Sequence[Believed]
    history: Sequence[Mapping[str, Any]]
    conflicts: Sequence[Conflict]
    quarantine: Sequence[Quarantined]


def why_json(found: Why) -> dict[str, Any]:
    """All of it as every door shows it."""
    return {**asdict(found), "concept": found.concept._asdict()}


async def why(desk: Desk, space: SpaceId, token: str) -> Why:
    """Everything that is known of a word."""
    rows = await desk.store.all(Q["rows_of_tokens"], space=space, tokens=[token])
    if not rows:
        raise await unknown_concept(desk, space, token)
    names = ("name", "is_alias")
    row = max(rows, key=lambda found: bool(found["is_alias"]))
    concept = SoasRow(**{name: value for name, value in row.items() if name not in names})
    return Why(
        concept=concept,
        effective=effective(concept),
        edges=await _believed(desk, space, concept.id),
        history=await desk.store.all(Q["history_of"], space=space, concept=concept.id),
        conflicts=await conflicts(
            desk, space, statuses=("pending", "resolved", "dismissed"), concept=concept.id
        ),
        quarantine=await quarantined(desk, space, statuses=None, concept=concept.token),
    )


async def _believed(desk: Desk, space: SpaceId, concept: int) -> list[Believed]:
    found = []
    for edge in await desk.store.all(Q["edges_named"], space=space, concept=concept):
        causes = await desk.store.all(
            Q["causes_of"], space=space, concept=concept, parent=edge["parent_id"], dim=edge["dim_id"]
        )
        found.append(Believed(edge=edge, causes=causes))
    return found


async def unknown_concept(desk: Desk, space: SpaceId, token: str) -> NoSuchConcept:
    """What to say of a word that is not there."""
    rows = await desk.store.all(Q["nearest_tokens"], space=space, beginning=f"{_escaped(token[:1])}%")
    near = get_close_matches(token, [row["token"] for row in rows], n=MOST_SPELLINGS, cutoff=0.5)
    listed = ", ".join(f"`{one}`" for one in near)
    return NoSuchConcept(
        f"There is no concept `{token[:64]}`.",
        hint=f"The nearest known are {listed}." if near else None,
        nearest=near,
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
