"""What was recalled, and why?

Every recall is written down after its answer, without secrets: what was asked, what came, the next ten that did not,
and why each of them stands where it stands. Reads are noted in the same transaction. Nothing here can fail a recall.

Why did this come to mind?

Every hit can say it: its place in each arm, the words that matched, what spoke for it, how good the evidence is, where
it comes from, and one plain sentence. What does not apply is left out: nothing that is told is null. Nothing is decided
here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

import orjson
import structlog

from festinger.clock import iso
from festinger.errors import FestingerError, NotFound
from festinger.ids import SpaceId
from festinger.memory.model import Place
from festinger.observability.metrics import RECALL_UNRECORDED
from festinger.retrieval.association import activation, base_level, keep_company, spreading
from festinger.retrieval.candidate import Candidate
from festinger.retrieval.deps import Desk
from festinger.retrieval.query import Wish, cue_hash
from festinger.retrieval.rank import Hit
from festinger.retrieval.reinforcement import nudge
from festinger.retrieval.result import Recalled
from festinger.retrieval.score import Bar
from festinger.settings.retrieval import RetrievalSettings
from festinger.store.queries import queries_of

DIGITS = 6


def why(hit: Hit, *, bar: Bar, now: datetime, settings: RetrievalSettings) -> dict[str, Any]:
    each, prior = hit.candidate, hit.prior
    terms = sorted(term for term, count in each.held.counts.items() if count)
    told: dict[str, Any] = {
        "arms": dict(hit.places),
        "cosine": _short(each.cosine),
        "bm25": _short(hit.bm25),
        "terms": terms,
        "called": list(hit.called),
        "rrf": _short(hit.rrf),
        "match": _short(hit.match),
        "recency": _short(prior.recency),
        "weight": {
            "alpha": each.weight.alpha,
            "beta": each.weight.beta,
            "center": _short(each.weight.center),
            "effective": _short(each.effective.center),
        },
        "person": prior.person,
        "speaker": prior.speaker,
        "substance": _short(prior.substance),
        "time": prior.time,
        "helped": _short(prior.helped),
        "helped_by": sorted({lesson.cue for lesson in hit.lessons}),
        "confidence_factor": _short(prior.belief),
        "rerank": _short(hit.reranked),
        "blend": hit.blend,
        "evidence": _short(hit.evidence),
        "threshold": bar.threshold,
        "coverage": _short(hit.coverage),
        "hops": list(hit.hops),
        "company": _short(hit.company),
        "activation": activity(each, now=now, settings=settings),
        "newer_first": hit.moved,
        "origin": each.origin,
        "source": each.source,
        "causes": each.causes,
        "said_at": iso(each.said_at),
        "event_time": iso(each.event_time) if each.event_time else None,
        "version": each.version,
    }
    known = {name: value for name, value in told.items() if value is not None}
    return {**known, "sentence": sentence(hit, terms, bar=bar)}


def activity(each: Candidate, *, now: datetime, settings: RetrievalSettings) -> dict[str, float | None]:
    """How active it is at a moment, without chance. It is told, and orders nothing.

    What it tells of is the first time that it was met; reads that were used are the others.
    """
    met = [(now - each.happened).total_seconds(), *(age for age in each.ages if age >= 0)]
    base, near = base_level(met, decay=settings.actr_decay), spreading(each.cosine)
    return {
        "base": _short(base),
        "spreading": _short(near),
        "total": _short(activation(base, near, 0.0, 0.0)),
    }


def sentence(hit: Hit, terms: list[str], *, bar: Bar) -> str:
    each = hit.candidate
    by = []
    if terms:
        by.append("shares " + ", ".join(f"`{term}`" for term in terms[:5]))
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
    what = "This was said" if not each.is_memory else f"This {each.kind} was learnt"
    return f"{what} by a {each.origin} on {each.happened.date().isoformat()}; it {reasons}; the evidence is {enough}."


def _short(number: float | None) -> float | None:
    return None if number is None else round(number, DIGITS)


log = structlog.get_logger(room="retrieval")

Q = queries_of("festinger.retrieval")

NEXT = 10
"""Hits that are written down although they were not shown."""
MOST_PRUNED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a recall gives, and what is written down of it."""

    recalled: Recalled
    hits: tuple[Hit, ...]
    shown: Mapping[int, str]
    bar: Bar
    now: datetime
    settings: RetrievalSettings

    def why(self, place: int) -> dict[str, Any]:
        """Why one of its hits came."""
        return why(self.hits[place], bar=self.bar, now=self.now, settings=self.settings)

    @property
    def searched_for(self) -> list[UUID]:
        """The memories that it gave, without those that only came along: they say nothing new of who belongs to whom."""
        shown = (self.hits[place] for place in self.shown)
        return [hit.candidate.ref for hit in shown if hit.candidate.is_memory and hit.places]


async def keep(
    desk: Desk, place: Place, wish: Wish, answer: Answer, *, door: str, embedder: str, shows: bool = True
) -> None:
    """Write a recall down. What fails here is counted and nothing more: the answer has been given."""
    try:
        async with desk.store.transaction() as transaction:
            await transaction.run(
                Q["keep_recall"], **_row(desk, place, wish, answer, door=door, embedder=embedder)
            )
            memories = [item.id for item in answer.recalled.items if item.type == "memory"]
            await desk.on_read(transaction, place, memories)
            await keep_company(desk, transaction, place, answer.searched_for, recall=answer.recalled.id)
            if desk.terms(place.space).retrieval.mutation_of(place.agent) == "strengthen":
                await nudge(
                    desk, transaction, place, answer.hits, shown=answer.shown, recall=answer.recalled.id
                )
            if shows:
                await desk.on_surfaced(transaction, place, memories, answer.recalled.id)
            recalled = answer.recalled
            await desk.outbox.emit(
                transaction,
                "recall_made",
                space=place.space,
                subject=f"recall:{recalled.id}",
                agent=place.agent,
                session=place.session or None,
                payload={
                    "recall": str(recalled.id),
                    "agent": place.agent,
                    "session": place.session,
                    "hits": len(recalled.items),
                    "abstained": recalled.abstained,
                    "below": recalled.below_threshold,
                },
            )
    except FestingerError as error:
        RECALL_UNRECORDED.inc()
        log.warning("recall not recorded", why=error.message)


def written(hits: Sequence[Hit], shown: Mapping[int, str]) -> Sequence[Hit]:
    """Of all hits those that are written down: up to the last that is shown, and the next ten."""
    return hits[: max([*shown, -1]) + 1 + NEXT]


def settings_hash(settings: RetrievalSettings) -> str:
    return sha256(settings.model_dump_json().encode()).hexdigest()[:16]


def _row(desk: Desk, place: Place, wish: Wish, answer: Answer, *, door: str, embedder: str) -> dict[str, Any]:
    recalled = answer.recalled
    hits = written(answer.hits, answer.shown)
    return {
        "space": place.space,
        "id": recalled.id,
        "at": desk.clock(),
        "agent": place.agent,
        "session": place.session,
        "turn": None,
        "door": door,
        "cue": desk.memory.terms(place.space).redact(wish.cue).text,
        "cue_hash": cue_hash(wish.cue),
        "filters": orjson.dumps(wish.as_json()).decode(),
        "blend": wish.blend.value,
        "seed": wish.seed,
        "settings_hash": settings_hash(desk.terms(place.space).retrieval),
        "embedder": embedder,
        "as_of": wish.as_of,
        "abstained": recalled.abstained,
        "below": recalled.below_threshold,
        "degraded": list(recalled.degraded),
        "took_ms": recalled.took * 1000,
        "positions": list(range(1, len(hits) + 1)),
        "types": [hit.candidate.type for hit in hits],
        "refs": [hit.candidate.ref for hit in hits],
        "scores": [hit.score for hit in hits],
        "evidences": [hit.evidence for hit in hits],
        "whys": [orjson.dumps(answer.why(place)).decode() for place in range(len(hits))],
        "shown": [place in answer.shown for place in range(len(hits))],
        "dropped": [_dropped(place, hit, wish, answer) for place, hit in enumerate(hits)],
    }


def _dropped(place: int, hit: Hit, wish: Wish, answer: Answer) -> str | None:
    if place in answer.shown:
        return None
    if answer.recalled.abstained or (wish.strict and hit.evidence < answer.bar.threshold):
        return "weak"
    return "limit" if len(answer.shown) >= wish.limit else "tokens"


async def recalls(
    desk: Desk,
    space: SpaceId,
    *,
    session: str | None = None,
    memory: UUID | None = None,
    abstained: bool | None = None,
    after: UUID | None = None,
    limit: int = 50,
) -> list[dict[str, Any]]:
    """What was recalled, newest first."""
    rows = await desk.store.all(
        Q["recalls"],
        space=space,
        session=session,
        memory=memory,
        abstained=abstained,
        after=after,
        limit=limit,
    )
    return [{**recall_json(row), "hits": row["hits"]} for row in rows]


async def find_recall(desk: Desk, space: SpaceId, recall: UUID) -> dict[str, Any]:
    """One recall with everything that was written down of it. Raises `NotFound`."""
    row = await desk.store.maybe(Q["find_recall"], space=space, id=recall)
    if row is None:
        raise NotFound(f"There is no recall `{recall}`.")
    hits = await desk.store.all(Q["hits_of"], space=space, id=recall)
    return {**recall_json(row), "hits": [hit_json(hit) for hit in hits]}


def recall_json(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {
        name: row[name] for name in ("cue", "door", "filters", "blend", "seed", "settings_hash", "embedder")
    }
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


async def prune_recalls(desk: Desk, space: SpaceId) -> int:
    """End recalls that were kept long enough; how many."""
    before = desk.clock() - timedelta(days=desk.terms(space).retrieval.keep_recalls_days)
    ended = 0
    while gone := await desk.store.run(Q["prune_recalls"], space=space, before=before, limit=MOST_PRUNED):
        ended += gone
    return ended


def shown_hits(hits: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [hit for hit in hits if hit["shown"]]
