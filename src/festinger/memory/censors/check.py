"""What do the censors say of a text?

`check` tells which are set off and writes down that they struck, in one short transaction after the answer is known;
`search` only looks. A fault of ours lets the text pass and is counted: memory never breaks the conversation.

Which censors are in force, as this process knows them?

Held in memory and loaded again when another process changes one, so that asking them costs no query. Meanings that
have no vector of the present embedder are embedded as they are loaded; without an embedder patterns alone strike.

Which censors does a text set off?

By pattern, or because it means what a censor means: a plain cosine at or above the threshold of the embedder. A
censor strikes only where it applies, for whom it applies, and in its domain. Pure; what a strike does is left to
`checking`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import numpy as np
import structlog
from numpy.typing import NDArray

from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import Purpose, Threshold
from festinger.embedding.providers.none import NAME as NO_EMBEDDER
from festinger.errors import FestingerError, ProviderDown, ProviderRefused
from festinger.ids import AgentId, Origin, SpaceId
from festinger.memory.censors.censor import Censor, Force, MatchedBy, Where, censor_of, where_of
from festinger.memory.deps import Desk
from festinger.memory.model import Place
from festinger.memory.vectors import EMBEDDER, text_hash
from festinger.observability.metrics import CENSORS_FAILED, DEGRADED, MEMORY_CENSOR_TRIGGERS
from festinger.store.cache_invalidation import Change, raise_version
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.store.vectors import halfvec
from festinger.text.regex import Patterns, Strike, patterns_of, readable
from festinger.text.secrets import Redact, redact

Q = queries_of("festinger.memory")

ROOM = "censors"
"""What changes of censors are counted under."""

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InForce:
    """The censors of a space that may strike."""

    censors: Mapping[UUID, Censor]
    patterns: Patterns[UUID]
    model: str | None
    """Whose vectors the meanings have."""
    meant: tuple[UUID, ...] = ()
    meanings: Matrix | None = None
    """A row for each of `meant`."""
    threshold: float | None = None


@dataclass(slots=True, kw_only=True)
class Watch:
    """The censors of every space, as far as this process was asked of them."""

    desk: Desk
    _held: dict[SpaceId, InForce] = field(default_factory=dict)
    _changes: defaultdict[SpaceId, int] = field(default_factory=lambda: defaultdict(int))

    async def in_force(self, space: SpaceId) -> InForce:
        """The censors of a space, from memory if nothing changed."""
        held = self._held.get(space)
        if held is not None and held.model == _name(embedder_of(self.desk)):
            return held
        before = self._changes[space]
        loaded = await _load(self.desk, space)
        # What changed while it was being read must be read again by the next who asks.
        if self._changes[space] == before:
            self._held[space] = loaded
        return loaded

    def forget(self, space: SpaceId) -> None:
        """Load the censors of a space again when they are asked next."""
        self._changes[space] += 1
        self._held.pop(space, None)

    async def changed(self, change: Change) -> None:
        """Hear that another process changed something."""
        self.forget(change.what.space)


async def tell_of_change(transaction: Transaction, space: SpaceId) -> None:
    """Let every process load the censors of a space again, once this transaction ends well."""
    await raise_version(transaction, space=space, room=ROOM)


def embedder_of(desk: Desk) -> Embedder | None:
    embedder = desk.embedder()
    return None if embedder is None or embedder.name == NO_EMBEDDER else embedder


async def vectors_of(desk: Desk, texts: Sequence[str]) -> Matrix | None:
    """Texts as they are held against meanings; none if nobody can embed them. Not within a transaction."""
    embedder = embedder_of(desk)
    if embedder is None or not texts:
        return None
    try:
        return np.stack(await embedder.embed(texts, Purpose.COMPARE)).astype(np.float32)
    except (ProviderDown, ProviderRefused):
        DEGRADED.labels(EMBEDDER).inc()
        return None


async def _load(desk: Desk, space: SpaceId) -> InForce:
    rows = await desk.store.all(Q["censors_in_force"], space=space)
    censors = {row["id"]: censor_of(row) for row in rows}
    patterns = patterns_of({id_: each.pattern for id_, each in censors.items() if each.pattern})
    embedder = embedder_of(desk)
    meant = {id_: each.meaning for id_, each in censors.items() if each.meaning}
    if embedder is None or not meant:
        return InForce(censors=censors, patterns=patterns, model=_name(embedder))
    vectors = await _vectors(desk, space, embedder, meant)
    return InForce(
        censors=censors,
        patterns=patterns,
        model=embedder.name,
        meant=tuple(vectors),
        meanings=np.stack(list(vectors.values())) if vectors else None,
        threshold=embedder.profile.threshold(Threshold.CENSOR),
    )


async def _vectors(
    desk: Desk, space: SpaceId, embedder: Embedder, meant: Mapping[UUID, str]
) -> dict[UUID, Matrix]:
    """What censors mean, as vectors; those that were missing are made and kept."""
    rows = await desk.store.all(Q["censor_vectors"], space=space, model=embedder.name)
    found = {
        row["censor_id"]: np.asarray(row["embedding"].to_list(), dtype=np.float32)
        for row in rows
        if bytes(row["text_hash"]) == text_hash(meant.get(row["censor_id"], ""))
    }
    missing = [id_ for id_ in meant if id_ not in found]
    made = await vectors_of(desk, [meant[id_] for id_ in missing])
    for place, id_ in enumerate(missing if made is not None else ()):
        assert made is not None
        found[id_] = made[place]
        await desk.store.run(
            Q["put_censor_vector"],
            space=space,
            censor=id_,
            model=embedder.name,
            dims=embedder.dimensions,
            text_hash=text_hash(meant[id_]),
            embedding=halfvec(made[place]),
            at=desk.clock(),
        )
    return {id_: found[id_] for id_ in meant if id_ in found}


def _name(embedder: Embedder | None) -> str | None:
    return embedder.name if embedder else None


LONGEST_EXCERPT = 200
BEFORE = 60
"""Characters of an excerpt that stand before the strike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """Whose text it is, where it stands and what it is about."""

    where: Where
    agent: AgentId
    domain: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A censor that a text sets off."""

    censor: Censor
    matched_by: MatchedBy
    similarity: float | None = None


def applies(censor: Censor, aim: Aim) -> bool:
    return (
        censor.active
        and aim.where in censor.applies_to
        and censor.agent_id in (None, aim.agent)
        and censor.domain in (None, aim.domain)
    )


def wants_meaning(in_force: InForce, aim: Aim) -> bool:
    """Whether any censor must know what the text means."""
    return any(each.meaning and applies(each, aim) for each in in_force.censors.values())


def matches(in_force: InForce, text: str, aim: Aim, *, vector: Matrix | None) -> list[Match]:
    """The censors that a text sets off, stops first; `text` is as patterns read it."""
    struck = in_force.patterns.strikes(text)
    near = _near(in_force, vector)
    found = []
    for id_, censor in in_force.censors.items():
        if not applies(censor, aim):
            continue
        if id_ in struck:
            found.append(Match(censor=censor, matched_by=MatchedBy.PATTERN))
        elif id_ in near:
            found.append(Match(censor=censor, matched_by=MatchedBy.MEANING, similarity=near[id_]))
    return sorted(found, key=lambda match: (match.censor.action is not Force.BLOCK, match.censor.seq))


def _near(in_force: InForce, vector: Matrix | None) -> dict[UUID, float]:
    if vector is None or in_force.meanings is None or in_force.threshold is None:
        return {}
    cosines = [rounded(cosine) for cosine in in_force.meanings @ vector]
    pairs = zip(in_force.meant, cosines, strict=True)
    return {id_: cosine for id_, cosine in pairs if cosine >= in_force.threshold}


def rounded(cosine: float) -> float:
    """A cosine as it is held against a threshold: what stands at the bar must not fail by a digit of float32."""
    return round(float(cosine), 6)


def excerpts(
    in_force: InForce, text: str, found: Iterable[Match], *, redact: Redact = redact
) -> dict[UUID, str]:
    """What of a text each strike is remembered by, without secrets."""
    # Redacted as a whole: half a secret at the edge of an excerpt would not be known for one.
    clean = redact(text).text
    struck = in_force.patterns.strikes(clean)
    return {match.censor.id: _around(clean, struck.get(match.censor.id)) for match in found}


def _around(text: str, strike: Strike | None) -> str:
    start = max(0, strike.start - BEFORE) if strike else 0
    return text[start : start + LONGEST_EXCERPT]


log = structlog.get_logger(room="memory")

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
