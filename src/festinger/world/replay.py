"""Recomputes an edge as if some of its sources had never spoken.

Pure decisions plus loaders of causes, votes, outcomes and edge creations, from the tables or from withdrawn
rows kept as JSON. An edge starts as it was created if that is still believed, else as its first remaining
cause stated it; then every other cause and outcome moves it in order of time, by the original steps. Movement
without a trace is carried over. `repair` decides which sources remain.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from festinger.ids import AgentId, Cause, Origin, SessionId
from festinger.world.edge_statements import corroborate_edge
from festinger.world.learn import PASSIVE_SPAN
from festinger.world.model import ADMITTED, REPAIR, EdgeSource, NoteOutcome, UrdEdge
from festinger.world.model import confidence_after_outcome as world_observed
from festinger.world.quarantine import QuarantineVoteCounts, has_enough_votes
from festinger.world.recollection import VOUCHED
from festinger.world.write import WorldChange

PLAIN = frozenset({"stated", "weak", "repair"})
"""Reasons for which an edge is created as its causes stated it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeCreation:
    """An edge as it came into its slot, when and why."""

    edge: UrdEdge
    at: datetime
    reason: str

    @property
    def is_plain(self) -> bool:
        """Whether it came in without a decision."""
        return self.reason in PLAIN

    def is_believed(self, taken: Iterable[datetime], *, is_kept: bool) -> bool:
        """Whether the edge starts as it was created rather than as its first cause stated it: if it was
        decided, or if the causes' statements were not kept, unless some earlier cause is now withdrawn."""
        is_its_own = not self.is_plain or not is_kept
        return is_its_own and all(at > self.at for at in taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementWithCause:
    """A cause, with what it stated."""

    cause: Cause
    at: datetime
    last_at: datetime
    is_isa: bool
    confidence: float
    source: EdgeSource
    from_quarantine: bool = False
    is_read: bool = False
    """Whether it was read in a text rather than stated."""
    is_kept: bool = True
    """Whether its statement is known, which was not always stored."""
    writing: str | None = None
    """The model call that wrote it; one that read several sessions has a cause for each, but one vote."""

    @property
    def origin(self) -> Origin:
        return self.cause.origin

    @property
    def is_deliberate(self) -> bool:
        return self.source is EdgeSource.GUTASK

    @property
    def is_of_person(self) -> bool:
        return self.origin is Origin.PERSON

    @property
    def can_make_edge_alone(self) -> bool:
        """Whether it makes an edge alone."""
        return self.origin in VOUCHED or not self.is_read


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEdgeOutcome:
    at: datetime
    outcome: NoteOutcome
    is_explicit: bool
    moved: float
    weight: float | None = None
    """None where only the movement is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineVote:
    """A cause that supports a quarantined statement, and its text."""

    cause: Cause
    text: str
    at: datetime


def count_votes(votes: Iterable[QuarantineVote]) -> QuarantineVoteCounts:
    """Count distinct causes, sessions, texts and days."""
    cast = list(votes)
    return QuarantineVoteCounts(
        causes=len({each.cause for each in cast}),
        sessions=len({each.cause.session for each in cast}),
        texts=len({each.text for each in cast}),
        days=len({each.cause.day for each in cast}),
    )


def find_admitting_vote(votes: Sequence[QuarantineVote], *, min_causes: int) -> QuarantineVote | None:
    """Return the vote, in order of time, that made them enough; none if they are not."""
    ordered = sorted(votes, key=lambda vote: (vote.at, vote.cause.session, vote.text))
    for number, vote in enumerate(ordered, start=1):
        if has_enough_votes(count_votes(ordered[:number]), min_causes=min_causes):
            return vote
    return None


def select_effective_causes(
    heard: Iterable[StatementWithCause], votes: Sequence[QuarantineVote], *, min_causes: int
) -> list[StatementWithCause]:
    """Return the causes that made the edge or supported it afterwards, in order of time; empty if they would
    not have made it. What texts said before anybody vouched or there were enough of them was only a vote."""
    voices = sorted(heard, key=_replay_sort_key)
    vouched = next((each.at for each in voices if each.can_make_edge_alone), None)
    tip = find_admitting_vote(votes, min_causes=min_causes)
    if tip is None or (vouched is not None and vouched <= tip.at):
        return [each for each in voices if vouched is not None and each.at >= vouched]
    made = [replace(each, confidence=ADMITTED, from_quarantine=True) for each in voices if each.cause == tip.cause]
    return [*made, *(each for each in voices if each.at > tip.at and each.cause != tip.cause)]


def split_initial_edge(
    birth: EdgeCreation, heard: Sequence[StatementWithCause], *, is_believed: bool
) -> tuple[UrdEdge, list[StatementWithCause]]:
    """Return the initial edge, and the causes that repeated it later."""
    if is_believed or not heard:
        return birth.edge, [each for each in heard if each.at > birth.at]
    first, *others = heard
    edge = birth.edge._replace(
        is_isa=first.is_isa,
        confidence=first.confidence,
        last_confirmed=first.at,
        source=first.source.value,
        origin=first.origin.value,
        evidence_count=0,
        person_stated=first.is_of_person,
        unconfirmed=first.from_quarantine,
        created_at=first.at,
    )
    is_one = [each.writing and (each.writing, each.at) == (first.writing, first.at) for each in others]
    return edge, [each for each, same in zip(others, is_one, strict=True) if not same]


def replay_edge(
    birth: EdgeCreation,
    heard: Iterable[StatementWithCause],
    outcomes: Iterable[RecordedEdgeOutcome],
    *,
    is_believed: bool,
) -> UrdEdge:
    """Replay the edge from the remaining causes; `is_believed` lets it start as it was created."""
    voices = sorted(heard, key=_replay_sort_key)
    edge, again = split_initial_edge(birth, voices, is_believed=is_believed)
    start = birth.at if is_believed else edge.created_at or birth.at
    moves = [each for each in outcomes if each.moved and each.at >= start]
    counted: set[tuple[str, datetime]] = set()
    passive = 0.0
    steps: list[StatementWithCause | RecordedEdgeOutcome] = [*again, *moves]
    for each in sorted(steps, key=lambda step: step.at):
        if isinstance(each, RecordedEdgeOutcome):
            before = edge.confidence
            edge = edge._replace(confidence=_replay_outcome_confidence(edge, each, passive=passive))
            passive = 0.0 if each.is_explicit else passive + edge.confidence - before
        elif each.writing is None or (each.writing, each.at) not in counted:
            edge, passive = corroborate_edge(edge, each, is_new=True), 0.0
            counted |= {(each.writing, each.at)} if each.writing else set()
    return edge._replace(last_confirmed=_last_confirmed(edge, voices, moves))


def _replay_sort_key(heard: StatementWithCause) -> tuple[datetime, bool, str, str]:
    return heard.at, not heard.can_make_edge_alone, heard.cause.agent, heard.cause.session


def _replay_outcome_confidence(edge: UrdEdge, found: RecordedEdgeOutcome, *, passive: float) -> float:
    if found.weight is None:
        return min(max(edge.confidence + found.moved, 0.0), 1.0)
    moved = world_observed(
        edge.confidence, found.outcome, evidence=edge.evidence_count, weight=found.weight, origin=Origin(edge.origin)
    )
    if found.is_explicit:
        return moved
    anchor = edge.confidence - passive
    return min(max(moved, anchor - PASSIVE_SPAN), anchor + PASSIVE_SPAN)


def _last_confirmed(
    edge: UrdEdge, heard: Iterable[StatementWithCause], outcomes: Iterable[RecordedEdgeOutcome]
) -> datetime | None:
    acted = [each.at for each in outcomes if each.is_explicit and each.outcome is NoteOutcome.ACTED]
    moments = [each.last_at for each in heard] + acted
    return max([*moments, *([edge.last_confirmed] if edge.last_confirmed else [])], default=None)


def keep_untraced_movement(present: UrdEdge, edge: UrdEdge, without: UrdEdge) -> UrdEdge:
    """Return the present edge without some sources: `told` is the replay of all traces, `without` that of the
    rest. Movement that left no trace stays."""
    moved = present.confidence - edge.confidence
    confidence = without.confidence if not moved else min(max(without.confidence + moved, 0.0), 1.0)
    evidence = max(without.evidence_count + present.evidence_count - edge.evidence_count, 0)
    is_told = present.last_confirmed == edge.last_confirmed
    return without._replace(
        confidence=confidence,
        evidence_count=evidence,
        last_confirmed=without.last_confirmed if is_told else present.last_confirmed,
        source=without.source if present.source == edge.source else present.source,
        unconfirmed=without.unconfirmed and (present.unconfirmed or not edge.unconfirmed),
        version=present.version,
    )


Triple = tuple[int, int, int]
"""A concept, its parent and the dimension."""


def triple_from_row(row: Mapping[str, Any]) -> Triple:
    return row["id"], row["parent_id"], row["dim_id"]


def triple_parameters(triple: Triple) -> dict[str, int]:
    return dict(zip(("concept", "parent", "dim"), triple, strict=True))


async def load_triple_rows(change: WorldChange, query: str, triple: Triple) -> Sequence[dict[str, Any]]:
    return await change.all(query, **triple_parameters(triple))


async def load_cause_statements(change: WorldChange, triple: Triple) -> list[StatementWithCause]:
    return [cause_statement_from_row(row) for row in await load_triple_rows(change, "heard_of", triple)]


async def load_quarantine_votes(change: WorldChange, triple: Triple) -> list[QuarantineVote]:
    return [vote_from_row(row) for row in await load_triple_rows(change, "votes_for_triple", triple)]


async def load_edge_outcomes(change: WorldChange, triple: Triple) -> list[RecordedEdgeOutcome]:
    """Load the outcomes of notes that showed it."""
    return [edge_outcome_from_row(row) for row in await load_triple_rows(change, "outcomes_of_edge", triple)]


async def load_effective_causes(change: WorldChange, triple: Triple) -> list[StatementWithCause]:
    """Load the causes that would make the edge, in order of time; empty if they would not."""
    voices, votes = await load_cause_statements(change, triple), await load_quarantine_votes(change, triple)
    return select_effective_causes(voices, votes, min_causes=change.terms.quarantine_min_causes)


async def load_edge_creation(change: WorldChange, triple: Triple) -> EdgeCreation | None:
    """Load how a triple last came into its slot; none if it never did."""
    for row in await load_triple_rows(change, "birth_of", triple):
        at, reason = row.pop("at"), row.pop("reason")
        return EdgeCreation(edge=UrdEdge(**row), at=at, reason=reason)
    return None


def creation_from_conflict(row: Mapping[str, Any]) -> EdgeCreation:
    edge = UrdEdge(
        id=row["concept_id"],
        parent_id=row["incoming_parent_id"],
        dim_id=row["dim_id"],
        is_isa=bool(row["incoming_is_isa"]),
        confidence=row["incoming_confidence"] or 0.0,
        last_confirmed=row["created_at"],
        source=row["incoming_source"] or EdgeSource.INFERRED.value,
        origin=row["incoming_origin"] or Origin.JOB.value,
        person_stated=row["incoming_origin"] == Origin.PERSON,
        created_at=row["created_at"],
    )
    return EdgeCreation(edge=edge, at=row["created_at"], reason=REPAIR)


def _cause(row: Mapping[str, Any]) -> Cause:
    return Cause(
        agent=AgentId(row["agent"]),
        session=SessionId(row["session_id"]),
        day=row["day"] if isinstance(row["day"], date) else date.fromisoformat(row["day"]),
        origin=Origin(row["origin"]),
    )


def _parse_datetime(value: datetime | str) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


def cause_statement_from_row(row: Mapping[str, Any]) -> StatementWithCause:
    return StatementWithCause(
        cause=_cause(row),
        at=_parse_datetime(row["at"]),
        last_at=_parse_datetime(row["last_at"] or row["at"]),
        is_isa=row["is_isa"] is not False,
        confidence=row["confidence"] or 0.0,
        source=EdgeSource(row["source"] or EdgeSource.INFERRED),
        from_quarantine=bool(row["from_quarantine"]),
        is_read=row["message_id"] is not None,
        is_kept=row["confidence"] is not None,
        writing=row["prompt_hash"],
    )


def edge_outcome_from_row(row: Mapping[str, Any]) -> RecordedEdgeOutcome:
    return RecordedEdgeOutcome(
        at=_parse_datetime(row["at"]),
        outcome=NoteOutcome(row["outcome"]),
        is_explicit=row["is_explicit"],
        moved=row["moved"],
        weight=row["weight"],
    )


def vote_from_row(row: Mapping[str, Any]) -> QuarantineVote:
    return QuarantineVote(cause=_cause(row), text=row["text_hash"], at=_parse_datetime(row["at"]))
