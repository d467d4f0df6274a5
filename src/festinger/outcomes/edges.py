"""What of a report is about notes that are edges of the world?

Such a note is named as it reads: `concept [dimension] parent`. Its outcome goes to the world, within the same
transaction; the world keeps its own log of it. What a text says against an edge is read as the world reads texts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from festinger.ids import Cause, Origin
from festinger.outcomes.desk import Desk, Reporter
from festinger.outcomes.effects import weight_of
from festinger.outcomes.observed import Report
from festinger.store.pool import Transaction
from festinger.text.vocabulary import is_common
from festinger.world.claims import Claim
from festinger.world.collision import is_same_name
from festinger.world.observing import MOVING, observe_in
from festinger.world.reading import claims, read
from festinger.world.recollection import Note
from festinger.world.world import World
from festinger.world.writing import begin

COMMON_ZIPF = 4.0
"""From here on a word is no name that anything could be claimed of."""

_EDGE = re.compile(r"(?P<concept>[^\[\]]+) \[(?P<dimension>[^\[\]]+)\] (?P<parent>[^\[\]]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeNote:
    concept: str
    dimension: str
    parent: str

    @property
    def note(self) -> Note:
        return Note(concept=self.concept, dimension=self.dimension, parent=self.parent, version=0)

    @property
    def sentence(self) -> str:
        """The edge as somebody would say it."""
        return f"{self.concept.replace('_', ' ')} is {self.parent.replace('_', ' ')}"

    def is_denied_by(self, said: Iterable[Claim]) -> bool:
        """Whether something gives its place to another parent, or takes this one out of it."""
        return any(
            claim.is_retraction == (claim.parent == self.parent or is_same_name(claim.parent, self.parent))
            for claim in said
            if (claim.concept, claim.dimension) == (self.concept, self.dimension)
        )


def edge_of(id_: str) -> EdgeNote | None:
    """The edge that an id names; none if it names none."""
    found = _EDGE.fullmatch(id_)
    return EdgeNote(**found.groupdict()) if found else None


def claimed(text: str) -> Sequence[Claim]:
    """What a text claims of names, whatever the world knows of them."""
    nowhere = World()
    found = read(text, Origin.MODEL, nowhere)
    return claims(found, nowhere, is_common=lambda word: is_common(word, COMMON_ZIPF))


def moving(report: Report, edges: Mapping[str, EdgeNote]) -> dict[str, EdgeNote]:
    """Those of some edges that the report moves."""
    return {id_: edge for id_, edge in edges.items() if report.outcome_of(id_) in MOVING}


async def observe_edges(
    desk: Desk,
    transaction: Transaction,
    reporter: Reporter,
    report: Report,
    *,
    edges: Mapping[str, EdgeNote],
    cause: Cause,
    credit: Mapping[str, float],
) -> list[str]:
    """Hand outcomes of edges to the world; the ids of those that moved. `credit` is the share of each that helped."""
    told = moving(report, edges)
    if not told:
        return []
    terms = desk.terms(reporter.place.space)
    change = await begin(desk.world, transaction, reporter.place.space, by="outcome", cause=cause)
    moved = []
    for id_ in sorted(told):
        found = await observe_in(
            change,
            told[id_].note,
            report.outcome_of(id_),
            cause=cause,
            weight=weight_of(reporter.how, report.q.get(id_, 1.0), terms) * credit.get(id_, 1.0),
            is_explicit=not reporter.how.is_passive,
        )
        if found is not None:
            moved.append(id_)
    await change.finish()
    return moved
