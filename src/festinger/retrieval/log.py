"""Records every recall after its answer, and explains why each hit was recalled.

A record holds, without secrets, what was asked, the hits, the next ten that were not shown, and why each
ranks where it does. Reads are marked in the same transaction. An explanation gives the rank in each arm, the
matching words, the priors, the evidence, the source and one plain sentence; fields that do not apply are left
out, so none is null. Nothing here can fail a recall.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Any
from uuid import UUID

import orjson
import structlog

from festinger.clock import iso
from festinger.errors import FestingerError, NotFound
from festinger.events.catalogue import NewEvent
from festinger.ids import AgentId, Scope, SessionId, SpaceId, TraceId
from festinger.observability.logs import current_request_id
from festinger.observability.metrics import RECALL_UNRECORDED
from festinger.retrieval.association import record_co_access
from festinger.retrieval.deps import RetrievalDeps
from festinger.retrieval.query import RecallQuery, cue_hash
from festinger.retrieval.rank import RecallHit
from festinger.retrieval.result import RecallResult
from festinger.retrieval.score import EvidenceThreshold
from festinger.settings.memory_sections import RetrievalSettings
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

DIGITS = 6
_WORD = re.compile(r"\w+")


def explain_hit(hit: RecallHit, *, bar: EvidenceThreshold) -> dict[str, Any]:
    each, prior = hit.candidate, hit.prior
    terms = sorted(term for term, count in each.held.counts.items() if count)
    facts: dict[str, Any] = {
        "arms": dict(hit.ranks),
        "cosine": _rounded(each.cosine),
        "bm25": _rounded(hit.bm25),
        "terms": terms,
        "called": list(hit.called),
        "rrf": _rounded(hit.rrf),
        "match": _rounded(hit.match),
        "recency": _rounded(prior.recency),
        "weight": {
            "alpha": each.weight.alpha,
            "beta": each.weight.beta,
            "center": _rounded(each.weight.center),
            "effective": _rounded(each.effective.center),
        },
        "person": prior.person,
        "speaker": prior.speaker,
        "substance": _rounded(prior.substance),
        "time": prior.time,
        "helped": _rounded(prior.helped),
        "helped_by": sorted({lesson.cue for lesson in hit.lessons}),
        "confidence_factor": _rounded(prior.belief),
        "rerank": _rounded(hit.reranked),
        "evidence": _rounded(hit.evidence),
        "threshold": bar.threshold,
        "coverage": _rounded(hit.coverage),
        "hops": list(hit.hops),
        "company": _rounded(hit.company),
        "newer_first": hit.moved,
        "origin": each.origin,
        "source": each.source,
        "causes": each.causes,
        "said_at": iso(each.said_at),
        "event_time": iso(each.event_time) if each.event_time else None,
        "version": each.version,
    }
    known = {name: value for name, value in facts.items() if value is not None}
    return {**known, "sentence": explanation_sentence(hit, terms, bar=bar)}


def explanation_sentence(hit: RecallHit, terms: list[str], *, bar: EvidenceThreshold) -> str:
    each = hit.candidate
    by = []
    if terms:
        by.append("shares " + ", ".join(f"`{_find_word_of_stem(term, each.content)}`" for term in terms[:5]))
    if hit.called:
        by.append("is called " + ", ".join(f"`{name}`" for name in hit.called[:5]))
    if each.cosine is not None:
        by.append(f"is {each.cosine:.2f} near in meaning")
    if hit.moved:
        by.append("was set in order of time with what tells of the same")
    if hit.hops:
        by.append("came to mind with " + ", ".join(hit.hops))
    enough = "enough" if hit.evidence >= bar.threshold else "weak"
    reasons = ", ".join(by) or "lies in the time that the cue names"
    what = "This was said" if not each.is_memory else f"This {each.kind} was learned"
    return f"{what} by a {each.origin} on {each.happened.date().isoformat()}; it {reasons}; the evidence is {enough}."


def _find_word_of_stem(stem: str, text: str) -> str:
    """The word of a text that a stem stands for: the stem alone reads like a typing error."""
    words = (word for word in _WORD.findall(text.lower()) if word.startswith(stem[: max(3, len(stem) - 1)]))
    return next(words, stem)


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, DIGITS)


log = structlog.get_logger(room="retrieval")

Q = load_queries("festinger.retrieval")

NEXT = 10
"""Hits recorded although they were not shown."""
MOST_PRUNED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallTrace:
    """What a recall returns, and what is recorded about it."""

    recalled: RecallResult
    hits: tuple[RecallHit, ...]
    shown: Mapping[int, str]
    bar: EvidenceThreshold

    def why(self, place: int) -> dict[str, Any]:
        """Explain one of its hits."""
        return explain_hit(self.hits[place], bar=self.bar)

    @property
    def searched_for(self) -> list[UUID]:
        """The memories returned, without those only associated: they say nothing new about links."""
        shown = (self.hits[place] for place in self.shown)
        return [hit.candidate.ref for hit in shown if hit.candidate.is_memory and hit.ranks]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRecord:
    """What is written down about a recall; as JSON it waits in the spool of a proxy."""

    space: SpaceId
    agent: AgentId
    session: SessionId
    id: UUID
    at: datetime
    trace: TraceId | None
    row: Mapping[str, Any]
    """Its other columns, and its hits with theirs."""
    read: tuple[UUID, ...]
    """The memories returned."""
    searched_for: tuple[UUID, ...]
    shows: bool

    @property
    def scope(self) -> Scope:
        return Scope(space=self.space, agent=self.agent, session=self.session)


KeepRecord = Callable[[RecallRecord], object]
"""Takes a record to write it soon, with others."""


async def record_recall(
    deps: RetrievalDeps,
    scope: Scope,
    query: RecallQuery,
    answer: RecallTrace,
    *,
    door: str,
    embedder: str,
    shows: bool = True,
    keep: KeepRecord | None = None,
) -> None:
    """Record a recall, or have `keep` do so. Failures are only counted, since the answer has been given."""
    request = current_request_id()
    record = RecallRecord(
        space=scope.space,
        agent=scope.agent,
        session=scope.session,
        id=answer.recalled.id,
        at=deps.clock(),
        trace=TraceId(request) if request else None,
        row=_recall_row(deps, scope, query, answer, door=door, embedder=embedder),
        read=tuple(item.id for item in answer.recalled.items if item.type == "memory"),
        searched_for=tuple(answer.searched_for),
        shows=shows,
    )
    if keep is not None:
        keep(record)
        return
    try:
        async with deps.store.transaction() as transaction:
            events = await save_recalls(deps, transaction, scope.space, [record])
            held = [event.subject for event in events]
            await deps.outbox.emit_all(transaction, events, space=scope.space, held=held)
    except FestingerError as error:
        RECALL_UNRECORDED.inc()
        log.warning("recall not recorded", why=error.message)


async def save_recalls(
    deps: RetrievalDeps, transaction: Transaction, space: SpaceId, records: Sequence[RecallRecord]
) -> list[NewEvent]:
    """Write recalls of a space with their reads and links; return the events about those that are new."""
    by_id = {each.id: each for each in records}
    recalls = [
        {"id": each.id, "at": each.at, "agent_id": each.agent, "session_id": each.session, **each.row}
        for each in by_id.values()
    ]
    # One document: as arrays, every quotation mark in the explanations would be escaped by Python.
    rows = await transaction.all(Q["keep_recalls"], space=space, recalls=orjson.dumps(recalls).decode())
    new = {row["id"] for row in rows}
    fresh = [each for key, each in by_id.items() if key in new]
    for each in fresh:
        await deps.on_read(transaction, each.scope, each.read)
        await record_co_access(deps, transaction, each.scope, each.searched_for, recall=each.id, now=each.at)
        if each.shows:
            await deps.on_surfaced(transaction, each.scope, each.read, each.id)
    return [_recall_event(each) for each in fresh]


def _recall_event(record: RecallRecord) -> NewEvent:
    return NewEvent(
        name="recall_made",
        subject=f"recall:{record.id}",
        agent=record.agent,
        session=record.session or None,
        trace=record.trace,
        payload={
            "recall": str(record.id),
            "agent": record.agent,
            "session": record.session,
            "hits": sum(hit["shown"] for hit in record.row["hits"]),
            "abstained": record.row["abstained"],
            "below": record.row["below"],
        },
    )


def hits_to_record(hits: Sequence[RecallHit], shown: Mapping[int, str]) -> Sequence[RecallHit]:
    """Select the hits to record: up to the last one shown, and the next ten."""
    return hits[: max([*shown, -1]) + 1 + NEXT]


@lru_cache(maxsize=16)
def settings_hash(settings: RetrievalSettings) -> str:
    return sha256(settings.model_dump_json().encode()).hexdigest()[:16]


def _recall_row(
    deps: RetrievalDeps, scope: Scope, query: RecallQuery, answer: RecallTrace, *, door: str, embedder: str
) -> dict[str, Any]:
    recalled = answer.recalled
    hits = hits_to_record(answer.hits, answer.shown)
    return {
        "door": door,
        "cue": deps.memory.terms(scope.space).redact(query.cue).text,
        "cue_hash": rf"\x{cue_hash(query.cue).hex()}",
        "filters": query.as_json(),
        "settings_hash": settings_hash(deps.terms(scope.space).retrieval),
        "embedder": embedder,
        "as_of": query.as_of,
        "abstained": recalled.abstained,
        "below": recalled.below_threshold,
        "degraded": recalled.degraded,
        "took_ms": recalled.took * 1000,
        "hits": [_hit_row(place, hit, query, answer) for place, hit in enumerate(hits)],
    }


def _hit_row(place: int, hit: RecallHit, query: RecallQuery, answer: RecallTrace) -> dict[str, Any]:
    return {
        "position": place + 1,
        "type": hit.candidate.type,
        "ref": hit.candidate.ref,
        "score": hit.score,
        "evidence": hit.evidence,
        "why": answer.why(place),
        "shown": place in answer.shown,
        "dropped_because": _drop_reason(place, hit, query, answer),
    }


def _drop_reason(place: int, hit: RecallHit, query: RecallQuery, answer: RecallTrace) -> str | None:
    if place in answer.shown:
        return None
    if answer.recalled.abstained or (query.strict and hit.evidence < answer.bar.threshold):
        return "weak"
    return "limit" if len(answer.shown) >= query.limit else "tokens"


async def load_recalls(
    deps: RetrievalDeps,
    space: SpaceId,
    *,
    session: str | None = None,
    memory: UUID | None = None,
    abstained: bool | None = None,
    after: UUID | None = None,
    limit: int = 50,
) -> list[dict[str, Any]]:
    """List recalls, newest first."""
    rows = await deps.store.all(
        Q["recalls"], space=space, session=session, memory=memory, abstained=abstained, after=after, limit=limit
    )
    return [{**recall_json(row), "hits": row["hits"]} for row in rows]


async def find_recall(deps: RetrievalDeps, space: SpaceId, recall: UUID) -> dict[str, Any]:
    """Return one recall with its full record. Raises `NotFound`."""
    row = await deps.store.maybe(Q["find_recall"], space=space, id=recall)
    if row is None:
        raise NotFound(f"There is no recall `{recall}`.")
    hits = await deps.store.all(Q["hits_of"], space=space, id=recall)
    return {**recall_json(row), "hits": [hit_json(hit) for hit in hits]}


def recall_json(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: row[name] for name in ("cue", "door", "filters", "settings_hash", "embedder")}
    return {
        "id": str(row["id"]),
        "at": iso(row["at"]),
        "agent": row["agent_id"],
        "session": row["session_id"],
        **shown,
        "abstained": row["abstained"],
        "below_threshold": row["below"],
        "degraded": list(row["degraded"]),
        "took_ms": row["took_ms"],
    }


def hit_json(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("position", "type", "score", "evidence", "why", "shown", "dropped_because")
    return {"id": str(row["ref"]), **{name: row[name] for name in names}}


async def prune_recalls(deps: RetrievalDeps, space: SpaceId) -> int:
    """Delete recalls past their retention; returns how many."""
    before = deps.clock() - timedelta(days=deps.terms(space).retrieval.keep_recalls_days)
    ended = 0
    while gone := await deps.store.run(Q["prune_recalls"], space=space, before=before, limit=MOST_PRUNED):
        ended += gone
    return ended


def shown_hits(hits: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [hit for hit in hits if hit["shown"]]
