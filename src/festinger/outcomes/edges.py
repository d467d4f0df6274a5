"""What of a report is about notes that are edges of the world?

Such a note is named as it reads: `concept [dimension] parent`. Its outcome goes to the world, within the same
transaction; the world keeps its own log of it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from festinger.ids import Cause
from festinger.outcomes.desk import Desk, Reporter
from festinger.outcomes.effects import weight_of
from festinger.outcomes.observed import Report
from festinger.store.pool import Transaction
from festinger.world.observing import MOVING, observe_in
from festinger.world.recollection import Note
from festinger.world.writing import begin

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


def edge_of(id_: str) -> EdgeNote | None:
    """The edge that an id names; none if it names none."""
    found = _EDGE.fullmatch(id_)
    return EdgeNote(**found.groupdict()) if found else None


async def observe_edges(
    desk: Desk,
    transaction: Transaction,
    reporter: Reporter,
    report: Report,
    *,
    edges: Mapping[str, EdgeNote],
    cause: Cause,
) -> list[str]:
    """Hand outcomes of edges to the world; the ids of those that moved."""
    told = {id_: edge for id_, edge in edges.items() if report.outcome_of(id_) in MOVING}
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
            weight=weight_of(reporter.how, report.q.get(id_, 1.0), terms),
            is_explicit=not reporter.how.is_passive,
        )
        if found is not None:
            moved.append(id_)
    await change.finish()
    return moved
