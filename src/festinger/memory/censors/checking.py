"""What do the censors say of a text?

`check` tells which are set off and writes down that they struck, in one short transaction after the answer is known;
`search` only looks. A fault of ours lets the text pass and is counted: memory never breaks the conversation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import structlog

from festinger.errors import FestingerError
from festinger.ids import Origin
from festinger.memory.censors.censor import Censor, Force, MatchedBy, Where, censor_of, where_of
from festinger.memory.censors.matching import Aim, Match, excerpts, matches, wants_meaning
from festinger.memory.censors.watch import InForce, Watch, vectors_of
from festinger.memory.memory import Place
from festinger.memory.vectors import EMBEDDER
from festinger.observability.metrics import CENSORS_FAILED, MEMORY_CENSOR_TRIGGERS
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.regex import readable

log = structlog.get_logger(room="memory")

Q = queries_of("festinger.memory")

CENSORS = "censors"
"""What a result went on without: nobody could be asked, or what was found could not be written down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A censor that a text set off."""

    censor: Censor
    matched_by: MatchedBy
    similarity: float | None = None
    trigger: UUID | None = None
    """The strike as it was written down; none if it was not."""

    @property
    def action(self) -> Force:
        return self.censor.action

    @property
    def reason(self) -> str:
        return self.censor.reason

    def as_json(self) -> dict[str, Any]:
        return {
            "censor": str(self.censor.id),
            "action": self.action.value,
            "reason": self.reason,
            "matched_by": self.matched_by.value,
            "similarity": self.similarity,
            "trigger": str(self.trigger) if self.trigger else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the censors say of a text."""

    triggered: tuple[Hit, ...] = ()
    degraded: tuple[str, ...] = ()

    @property
    def blocked(self) -> bool:
        return any(hit.action is Force.BLOCK for hit in self.triggered)

    @property
    def guidance(self) -> str:
        """What whoever wrote the text should know, a line each; nothing if it may stand."""
        return "\n".join(dict.fromkeys(hit.censor.guidance for hit in self.triggered))

    def as_json(self) -> dict[str, Any]:
        return {
            "triggered": [hit.as_json() for hit in self.triggered],
            "blocked": self.blocked,
            "guidance": self.guidance,
            "degraded": list(self.degraded),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A text as the censors saw it."""

    in_force: InForce
    text: str
    matches: Sequence[Match]
    degraded: tuple[str, ...]


async def check(
    watch: Watch,
    place: Place,
    text: str,
    *,
    on: str = Where.OUTPUT,
    domain: str | None = None,
    origin: Origin = Origin.MODEL,
) -> Checked:
    """What the censors say of a text, with its effects. Raises `BadInput` for an unknown place, and nothing else."""
    [where] = where_of(on)
    aim = Aim(where=where, agent=place.agent, domain=domain)
    try:
        seen = await _look(watch, place, text, aim)
    except FestingerError as error:
        return _failed(error)
    hits = [_hit(match) for match in seen.matches]
    if not hits:
        return Checked(degraded=seen.degraded)
    try:
        return Checked(
            triggered=tuple(await _strike(watch, place, seen, where=where, origin=origin)),
            degraded=seen.degraded,
        )
    except FestingerError as error:
        # The answer is known and stands; only that it was given is not written down.
        return replace(_failed(error), triggered=tuple(hits))


async def search(
    watch: Watch, place: Place, text: str, *, on: str = Where.OUTPUT, domain: str | None = None
) -> Checked:
    """What the censors would say of a text; nothing is written down. Raises `BadInput`, `StoreDown`."""
    [where] = where_of(on)
    seen = await _look(watch, place, text, Aim(where=where, agent=place.agent, domain=domain))
    return Checked(triggered=tuple(map(_hit, seen.matches)), degraded=seen.degraded)


async def _look(watch: Watch, place: Place, text: str, aim: Aim) -> _Seen:
    in_force = await watch.in_force(place.space)
    read = readable(text)
    vector, degraded = None, tuple[str, ...]()
    if wants_meaning(in_force, aim) and read.strip():
        found = await vectors_of(watch.desk, [read]) if in_force.threshold is not None else None
        vector = found[0] if found is not None else None
        degraded = () if vector is not None and in_force.meanings is not None else (EMBEDDER,)
    return _Seen(
        in_force=in_force,
        text=read,
        matches=matches(in_force, read, aim, vector=vector),
        degraded=degraded,
    )


async def _strike(watch: Watch, place: Place, seen: _Seen, *, where: Where, origin: Origin) -> list[Hit]:
    """Write down that censors struck: the one place where that is counted."""
    redact = watch.desk.terms(place.space).redact
    parts = excerpts(seen.in_force, seen.text, seen.matches, redact=redact)
    hits = {}
    async with watch.desk.store.transaction() as transaction:
        # In one order everywhere, or two who strike the same censors would wait for each other.
        for match in sorted(seen.matches, key=lambda each: each.censor.id):
            hits[match.censor.id] = await _write(
                watch, transaction, place, match, where=where, origin=origin, excerpt=parts[match.censor.id]
            )
    for hit in hits.values():
        MEMORY_CENSOR_TRIGGERS.labels(hit.action.value).inc()
    return [hits[match.censor.id] for match in seen.matches]


async def _write(
    watch: Watch,
    transaction: Transaction,
    place: Place,
    match: Match,
    *,
    where: Where,
    origin: Origin,
    excerpt: str,
) -> Hit:
    desk, now = watch.desk, watch.desk.clock()
    trigger, cause = desk.new_uuid(), place.cause(origin, now)
    blocked = match.censor.action is Force.BLOCK
    row = await transaction.one(Q["count_strike"], space=place.space, id=match.censor.id, at=now)
    await transaction.run(
        Q["put_trigger"],
        space=place.space,
        id=trigger,
        censor=match.censor.id,
        agent=cause.agent,
        session=cause.session,
        day=cause.day,
        origin=cause.origin.value,
        place=where.value,
        matched_by=match.matched_by.value,
        similarity=match.similarity,
        excerpt=excerpt,
        was_blocked=blocked,
        at=now,
    )
    counted = censor_of(row)
    await desk.outbox.emit(
        transaction,
        "censor_triggered",
        space=place.space,
        subject=f"censor:{match.censor.id}",
        payload={
            "censor": str(match.censor.id),
            # Without those that were called wrong: this is the count by which a censor becomes stronger.
            "activation_count": counted.counted,
            "action": match.censor.action.value,
            "was_blocked": blocked,
            "trigger": str(trigger),
            "agent": place.agent,
        },
        agent=place.agent,
        session=place.session or None,
    )
    return replace(_hit(match), trigger=trigger)


def _hit(match: Match) -> Hit:
    return Hit(censor=match.censor, matched_by=match.matched_by, similarity=match.similarity)


def _failed(error: FestingerError) -> Checked:
    CENSORS_FAILED.inc()
    log.warning("censors could not be asked", why=error.message)
    return Checked(degraded=(CENSORS,))
