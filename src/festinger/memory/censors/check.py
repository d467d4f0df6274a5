"""Checks texts against the censors of a space and records which ones trigger.

A censor triggers by pattern, or by meaning if the cosine reaches the embedder's threshold, and only for its
text kinds, agent and domain. `run_censors` records triggers in one short transaction after the result is
known; `preview_censors` records nothing. Internal failures let the text pass and are counted: memory never
breaks the conversation. Active censors are cached per process and reloaded when another process changes one,
so a check costs no query. Missing meaning vectors are embedded on load; without an embedder only patterns
trigger.
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
from festinger.embedding.profiles import EmbeddingPurpose, ThresholdName
from festinger.embedding.providers.none import NAME as NO_EMBEDDER
from festinger.errors import FestingerError, ProviderDown, ProviderRefused
from festinger.ids import AgentId, Origin, Scope, SpaceId, cause_columns
from festinger.memory.censors.censor import (
    Censor,
    CensorAction,
    CensorMatchMethod,
    CensorTextKind,
    censor_from_row,
    parse_text_kinds,
)
from festinger.memory.deps import MemoryDeps
from festinger.memory.vectors import EMBEDDER
from festinger.observability.metrics import CENSORS_FAILED, DEGRADED, MEMORY_CENSOR_TRIGGERS
from festinger.store.cache_invalidation import CacheChange, bump_cache_version
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.store.vectors import to_halfvec
from festinger.text.normalize import exact_hash
from festinger.text.regex import PatternMatch, PatternSet, build_pattern_set, to_searchable
from festinger.text.secrets import Redact, redact

Q = load_queries("festinger.memory")

ROOM = "censors"
"""Cache version key for changes of censors."""

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ActiveCensors:
    """The active censors of one space."""

    censors: Mapping[UUID, Censor]
    patterns: PatternSet[UUID]
    model: str | None
    """Name of the embedder that made the vectors."""
    meant: tuple[UUID, ...] = ()
    meanings: Matrix | None = None
    """One row per id in `meant`."""
    threshold: float | None = None


@dataclass(slots=True, kw_only=True)
class CensorCache:
    """Per-process cache of the active censors, by space."""

    deps: MemoryDeps
    _held: dict[SpaceId, ActiveCensors] = field(default_factory=dict)
    _changes: defaultdict[SpaceId, int] = field(default_factory=lambda: defaultdict(int))

    async def in_force(self, space: SpaceId) -> ActiveCensors:
        """Return the active censors of a space, from the cache if nothing changed."""
        held = self._held.get(space)
        if held is not None and held.model == _name(get_embedder(self.deps)):
            return held
        before = self._changes[space]
        loaded = await _load(self.deps, space)
        # Do not cache a result that was read while a change came in.
        if self._changes[space] == before:
            self._held[space] = loaded
        return loaded

    def forget(self, space: SpaceId) -> None:
        """Drop the cached censors of a space."""
        self._changes[space] += 1
        self._held.pop(space, None)

    async def changed(self, change: CacheChange) -> None:
        """Handle a change notification from another process."""
        self.forget(change.what.space)


async def invalidate_censors(transaction: Transaction, space: SpaceId) -> None:
    """Make every process reload the censors of a space once this transaction commits."""
    await bump_cache_version(transaction, space=space, room=ROOM)


def get_embedder(deps: MemoryDeps) -> Embedder | None:
    embedder = deps.embedder()
    return None if embedder is None or embedder.name == NO_EMBEDDER else embedder


async def embed_for_compare(deps: MemoryDeps, texts: Sequence[str]) -> Matrix | None:
    """Embed texts for comparison with meanings; None if no embedder answers. Call outside transactions."""
    embedder = get_embedder(deps)
    if embedder is None or not texts:
        return None
    try:
        return np.stack(await embedder.embed(texts, EmbeddingPurpose.COMPARE)).astype(np.float32)
    except (ProviderDown, ProviderRefused):
        DEGRADED.labels(EMBEDDER).inc()
        return None


async def _load(deps: MemoryDeps, space: SpaceId) -> ActiveCensors:
    rows = await deps.store.all(Q["censors_in_force"], space=space)
    censors = {row["id"]: censor_from_row(row) for row in rows}
    patterns = build_pattern_set({id_: each.pattern for id_, each in censors.items() if each.pattern})
    embedder = get_embedder(deps)
    meant = {id_: each.meaning for id_, each in censors.items() if each.meaning}
    if embedder is None or not meant:
        return ActiveCensors(censors=censors, patterns=patterns, model=_name(embedder))
    vectors = await _vectors(deps, space, embedder, meant)
    return ActiveCensors(
        censors=censors,
        patterns=patterns,
        model=embedder.name,
        meant=tuple(vectors),
        meanings=np.stack(list(vectors.values())) if vectors else None,
        threshold=embedder.profile.threshold(ThresholdName.CENSOR),
    )


async def _vectors(
    deps: MemoryDeps, space: SpaceId, embedder: Embedder, meant: Mapping[UUID, str]
) -> dict[UUID, Matrix]:
    """Load the meaning vectors of censors, creating and storing the missing ones."""
    rows = await deps.store.all(Q["censor_vectors"], space=space, model=embedder.name)
    found = {
        row["censor_id"]: np.asarray(row["embedding"].to_list(), dtype=np.float32)
        for row in rows
        if bytes(row["text_hash"]) == exact_hash(meant.get(row["censor_id"], ""))
    }
    missing = [id_ for id_ in meant if id_ not in found]
    made = await embed_for_compare(deps, [meant[id_] for id_ in missing])
    for place, id_ in enumerate(missing if made is not None else ()):
        assert made is not None
        found[id_] = made[place]
        await deps.store.run(
            Q["put_censor_vector"],
            space=space,
            censor=id_,
            model=embedder.name,
            dims=embedder.dimensions,
            text_hash=exact_hash(meant[id_]),
            embedding=to_halfvec(made[place]),
            at=deps.clock(),
        )
    return {id_: found[id_] for id_ in meant if id_ in found}


def _name(embedder: Embedder | None) -> str | None:
    return embedder.name if embedder else None


LONGEST_EXCERPT = 200
BEFORE = 60
"""Characters of an excerpt that precede the match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CensorCheckContext:
    """The kind, agent and domain of the text to check."""

    where: CensorTextKind
    agent: AgentId
    domain: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CensorMatch:
    """A censor that a text triggers."""

    censor: Censor
    matched_by: CensorMatchMethod
    similarity: float | None = None


def is_applicable(censor: Censor, aim: CensorCheckContext) -> bool:
    return (
        censor.active
        and aim.where in censor.applies_to
        and censor.agent_id in (None, aim.agent)
        and censor.domain in (None, aim.domain)
    )


def needs_vector(in_force: ActiveCensors, aim: CensorCheckContext) -> bool:
    """Whether any applicable censor needs the embedding of the text."""
    return any(each.meaning and is_applicable(each, aim) for each in in_force.censors.values())


def match_censors(
    in_force: ActiveCensors, text: str, aim: CensorCheckContext, *, vector: Matrix | None
) -> list[CensorMatch]:
    """Return the triggered censors, blocks first. `text` must come from `to_searchable`."""
    struck = in_force.patterns.strikes(text)
    near = _match_meanings(in_force, vector)
    found = []
    for id_, censor in in_force.censors.items():
        if not is_applicable(censor, aim):
            continue
        if id_ in struck:
            found.append(CensorMatch(censor=censor, matched_by=CensorMatchMethod.PATTERN))
        elif id_ in near:
            found.append(CensorMatch(censor=censor, matched_by=CensorMatchMethod.MEANING, similarity=near[id_]))
    return sorted(found, key=lambda match: (match.censor.action is not CensorAction.BLOCK, match.censor.seq))


def _match_meanings(in_force: ActiveCensors, vector: Matrix | None) -> dict[UUID, float]:
    if vector is None or in_force.meanings is None or in_force.threshold is None:
        return {}
    cosines = [round_cosine(cosine) for cosine in in_force.meanings @ vector]
    pairs = zip(in_force.meant, cosines, strict=True)
    return {id_: cosine for id_, cosine in pairs if cosine >= in_force.threshold}


def round_cosine(cosine: float) -> float:
    """Round a cosine for threshold checks so that float32 noise does not fail an exact hit."""
    return round(float(cosine), 6)


def build_excerpts(
    in_force: ActiveCensors, text: str, found: Iterable[CensorMatch], *, redact: Redact = redact
) -> dict[UUID, str]:
    """Return the redacted excerpt to store with each trigger."""
    # Redact the whole text first: half a secret at the edge of an excerpt would not be recognized.
    clean = redact(text).text
    struck = in_force.patterns.strikes(clean)
    return {match.censor.id: _cut_excerpt(clean, struck.get(match.censor.id)) for match in found}


def _cut_excerpt(text: str, strike: PatternMatch | None) -> str:
    start = max(0, strike.start - BEFORE) if strike else 0
    return text[start : start + LONGEST_EXCERPT]


log = structlog.get_logger(room="memory")

CENSORS = "censors"
"""Value of `degraded` when censors could not be checked or triggers could not be recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CensorHit:
    """A triggered censor, with its recorded trigger."""

    censor: Censor
    matched_by: CensorMatchMethod
    similarity: float | None = None
    trigger: UUID | None = None
    """Id of the recorded trigger; None if it was not recorded."""

    @property
    def action(self) -> CensorAction:
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
class CensorCheckResult:
    """The result of checking a text."""

    triggered: tuple[CensorHit, ...] = ()
    degraded: tuple[str, ...] = ()

    @property
    def blocked(self) -> bool:
        return any(hit.action is CensorAction.BLOCK for hit in self.triggered)

    @property
    def guidance(self) -> str:
        """Guidance for the author of the text, one line per censor; empty if nothing triggered."""
        return "\n".join(dict.fromkeys(hit.censor.guidance for hit in self.triggered))

    def as_json(self) -> dict[str, Any]:
        return {
            "triggered": [hit.as_json() for hit in self.triggered],
            "blocked": self.blocked,
            "guidance": self.guidance,
            "degraded": list(self.degraded),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _CensorMatches:
    """A searchable text with its matches."""

    in_force: ActiveCensors
    text: str
    matches: Sequence[CensorMatch]
    degraded: tuple[str, ...]


async def run_censors(
    watch: CensorCache,
    scope: Scope,
    text: str,
    *,
    on: str = CensorTextKind.OUTPUT,
    domain: str | None = None,
    origin: Origin = Origin.MODEL,
) -> CensorCheckResult:
    """Check a text and record triggers. Raises only `BadInput`, for an unknown text kind."""
    [where] = parse_text_kinds(on)
    aim = CensorCheckContext(where=where, agent=scope.agent, domain=domain)
    try:
        seen = await _find_matches(watch, scope, text, aim)
    except FestingerError as error:
        return _failure_result(error)
    hits = [_hit(match) for match in seen.matches]
    if not hits:
        return CensorCheckResult(degraded=seen.degraded)
    try:
        return CensorCheckResult(
            triggered=tuple(await _record_triggers(watch, scope, seen, where=where, origin=origin)),
            degraded=seen.degraded,
        )
    except FestingerError as error:
        # The result still stands; it just was not recorded.
        return replace(_failure_result(error), triggered=tuple(hits))


async def preview_censors(
    watch: CensorCache, scope: Scope, text: str, *, on: str = CensorTextKind.OUTPUT, domain: str | None = None
) -> CensorCheckResult:
    """Check a text without recording anything. Raises `BadInput`, `StoreDown`."""
    [where] = parse_text_kinds(on)
    seen = await _find_matches(watch, scope, text, CensorCheckContext(where=where, agent=scope.agent, domain=domain))
    return CensorCheckResult(triggered=tuple(map(_hit, seen.matches)), degraded=seen.degraded)


async def _find_matches(watch: CensorCache, scope: Scope, text: str, aim: CensorCheckContext) -> _CensorMatches:
    in_force = await watch.in_force(scope.space)
    read = to_searchable(text)
    vector, degraded = None, tuple[str, ...]()
    if needs_vector(in_force, aim) and read.strip():
        found = await embed_for_compare(watch.deps, [read]) if in_force.threshold is not None else None
        vector = found[0] if found is not None else None
        degraded = () if vector is not None and in_force.meanings is not None else (EMBEDDER,)
    return _CensorMatches(
        in_force=in_force, text=read, matches=match_censors(in_force, read, aim, vector=vector), degraded=degraded
    )


async def _record_triggers(
    watch: CensorCache, scope: Scope, seen: _CensorMatches, *, where: CensorTextKind, origin: Origin
) -> list[CensorHit]:
    """Record all triggers of one check; the only place where they are counted."""
    redact = watch.deps.terms(scope.space).redact
    parts = build_excerpts(seen.in_force, seen.text, seen.matches, redact=redact)
    hits = {}
    async with watch.deps.store.transaction() as transaction:
        # Lock in a fixed order so that concurrent checks do not deadlock.
        for match in sorted(seen.matches, key=lambda each: each.censor.id):
            hits[match.censor.id] = await _record_trigger(
                watch, transaction, scope, match, where=where, origin=origin, excerpt=parts[match.censor.id]
            )
    for hit in hits.values():
        MEMORY_CENSOR_TRIGGERS.labels(hit.action.value).inc()
    return [hits[match.censor.id] for match in seen.matches]


async def _record_trigger(
    watch: CensorCache,
    transaction: Transaction,
    scope: Scope,
    match: CensorMatch,
    *,
    where: CensorTextKind,
    origin: Origin,
    excerpt: str,
) -> CensorHit:
    deps, now = watch.deps, watch.deps.clock()
    trigger, cause = deps.new_uuid(), scope.cause(origin, now)
    blocked = match.censor.action is CensorAction.BLOCK
    row = await transaction.one(Q["count_strike"], space=scope.space, id=match.censor.id, at=now)
    await transaction.run(
        Q["put_trigger"],
        space=scope.space,
        id=trigger,
        censor=match.censor.id,
        **cause_columns(cause),
        place=where.value,
        matched_by=match.matched_by.value,
        similarity=match.similarity,
        excerpt=excerpt,
        was_blocked=blocked,
        at=now,
    )
    counted = censor_from_row(row)
    await deps.outbox.emit(
        transaction,
        "censor_triggered",
        space=scope.space,
        subject=f"censor:{match.censor.id}",
        payload={
            "censor": str(match.censor.id),
            # Excludes false positives: escalation is based on this count.
            "activation_count": counted.counted,
            "action": match.censor.action.value,
            "was_blocked": blocked,
            "trigger": str(trigger),
            "agent": scope.agent,
        },
        agent=scope.agent,
        session=scope.session or None,
    )
    return replace(_hit(match), trigger=trigger)


def _hit(match: CensorMatch) -> CensorHit:
    return CensorHit(censor=match.censor, matched_by=match.matched_by, similarity=match.similarity)


def _failure_result(error: FestingerError) -> CensorCheckResult:
    CENSORS_FAILED.inc()
    log.warning("censors could not be asked", why=error.message)
    return CensorCheckResult(degraded=(CENSORS,))
