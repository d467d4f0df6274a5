"""Recalls memories and turns for a cue.

The whole pipeline on one screen: parse the cue, search by meaning, words and time, score, fuse, apply priors,
order, fold duplicates, rerank, and abstain if nothing is relevant. No LLM is asked and nothing is written
before the answer. A reranker reads cue and text together, for the best hits and the passage that shares most
words with the cue only; if it is late or fails, the order stays. A recall can be rerun without counting, to
compare it with its record and name the plainest reason for each hit that came, went or moved.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.errors import FestingerError, StoreDown
from festinger.ids import AgentId, Scope, SessionId, SpaceId
from festinger.observability.metrics import RECALL_DEGRADED, RECALL_SECONDS, RECALLS
from festinger.retrieval.bm25 import scale_scores
from festinger.retrieval.candidate import TURN
from festinger.retrieval.deps import RetrievalDeps
from festinger.retrieval.log import KeepRecord, RecallTrace, find_recall, record_recall, settings_hash, shown_hits
from festinger.retrieval.query import MOMENTS, IncludableStatus, RecallQuery, parse_cue, parse_recall_query
from festinger.retrieval.rank import (
    RecallHit,
    drop_retold_hits,
    fold_duplicates,
    prefer_newer,
    prefer_trusted,
    prefer_verbatim,
    sort_hits,
)
from festinger.retrieval.result import RecallItem, RecallResult, pack_hits
from festinger.retrieval.score import (
    EvidenceThreshold,
    ScoringContext,
    Thresholds,
    discount_question_repeats,
    has_enough_evidence,
    score_candidates,
    thresholds_from_profile,
)
from festinger.retrieval.search import EMBEDDER, describe_missing_vectors, embed_cue, search, usable_embedder
from festinger.settings.memory_sections import RetrievalSettings
from festinger.store.queries import load_queries

RERANKER = "reranker"
PASSAGE = 300
"""Characters read of a hit. Measured on a third of LoCoMo, 20 hits each: with the surroundings of a turn
recall@1 rises from .40 to .48 at 570 ms of CPU, with 300 characters of the turn alone to .50 at 320 ms."""

_WORD = re.compile(r"\w+")


async def rerank_hits(
    deps: RetrievalDeps, scope: Scope, query: RecallQuery, hits: list[RecallHit], *, settings: RetrievalSettings
) -> tuple[list[RecallHit], tuple[str, ...]]:
    """Rerank the hits; returns them in order, and what was degraded."""
    reranker, terms = deps.reranker(), deps.terms(scope.space)
    if not hits or query.hurried:
        return hits, ()
    if reranker is None:
        return hits, (RERANKER,) if terms.reranks else ()
    read, rest = hits[: settings.rerank_top], hits[settings.rerank_top :]
    texts = [best_passage(hit.candidate.content, query.cue) for hit in read]
    try:
        async with asyncio.timeout(terms.rerank_timeout_ms / 1000):
            scores = await reranker.score(query.cue, texts)
    except (FestingerError, TimeoutError):
        return hits, (RERANKER,)
    return [*blend_rerank_scores(read, scores, share=settings.rerank_share), *rest], ()


def blend_rerank_scores(hits: Sequence[RecallHit], scores: Sequence[float], *, share: float) -> list[RecallHit]:
    """Blend both orders, each scaled over these hits."""
    final = [
        replace(hit, score=share * by_reader + (1.0 - share) * by_us, reranked=raw)
        for hit, by_reader, by_us, raw in zip(
            hits, scale_scores(scores), scale_scores([hit.score for hit in hits]), scores, strict=True
        )
    ]
    return sort_hits(final)


def best_passage(text: str, cue: str) -> str:
    """Return the piece of a text that shares most words with a cue, the first on ties; short texts whole."""
    asked = set(_WORD.findall(cue.casefold()))
    pieces = [text[at : at + PASSAGE] for at in range(0, len(text), PASSAGE)]
    return max(pieces, key=lambda piece: len(asked.intersection(_WORD.findall(piece.casefold()))))


TOKENS = "tokens"
ANYWHERE = "library"


async def recall(
    deps: RetrievalDeps,
    scope: Scope,
    query: RecallQuery,
    *,
    door: str = ANYWHERE,
    counts: bool = True,
    shows: bool = True,
    keep: KeepRecord | None = None,
) -> RecallResult:
    """Return the few memories worth showing, or none. Raises `StoreDown`.

    `counts`: whether it is recorded and its hits count as read; comparing and replaying do not count.
    `shows`: whether all hits are shown to a model; an interface that may drop some reports itself what it
    showed. `keep`: who takes the record; otherwise it is written from here, after the answer.
    """
    began = deps.stopwatch()
    settings = deps.terms(scope.space).retrieval
    cue = parse_cue(query.cue, now=query.as_of or deps.clock())
    embedder = usable_embedder(deps.embedder())
    thresholds = thresholds_from_profile(embedder.profile if embedder else None)
    probe = None if query.by_words else await embed_cue(embedder, cue)
    try:
        searched = await search(deps, scope, query, cue=cue, probe=probe, settings=settings)
    except StoreDown:
        RECALLS.labels(door, "failed").inc()
        raise
    if searched.probe is None:
        thresholds = Thresholds()
    asked = searched.read.asked
    hits = score_candidates(
        discount_question_repeats(searched.candidates, asked.cue.text),
        asked,
        found=searched.found.arms,
        settings=settings,
        thresholds=thresholds,
        reached=searched.reached,
    )
    ordered = _arrange_hits(hits, asked, settings=settings, thresholds=thresholds)
    ordered, late = await rerank_hits(deps, scope, query, ordered, settings=settings)
    gated, below = _filter_by_evidence(ordered, query, bar=thresholds.bar, settings=settings)
    shown = pack_hits(
        [(hit.candidate.content, hit.candidate.compressed) for hit in gated], tokens=query.tokens, limit=query.limit
    )
    degraded = (
        *query.degraded,
        *((EMBEDDER,) if probe is None else ()),
        *searched.without,
        *describe_missing_vectors(searched.size),
        *late,
        *((TOKENS,) if gated and not shown else ()),
    )
    answer = RecallTrace(
        recalled=RecallResult(
            id=deps.new_id(), items=(), abstained=not gated, below_threshold=below, degraded=degraded
        ),
        hits=tuple(gated or ordered),
        shown=dict(shown) if gated else {},
        bar=thresholds.bar,
    )
    answer = _fill_items(answer, query, took=deps.stopwatch() - began)
    _record_metrics(answer.recalled, query, door)
    if counts:
        model = probe.model.name if probe else ""
        deps.later(record_recall(deps, scope, query, answer, door=door, embedder=model, shows=shows, keep=keep))
    return answer.recalled


def _arrange_hits(
    hits: Sequence[RecallHit], asked: ScoringContext, *, settings: RetrievalSettings, thresholds: Thresholds
) -> list[RecallHit]:
    """Order by score, newer and trusted first; fold duplicates and summaries, and drop verbatim sources."""
    ordered = sort_hits(hits)
    if settings.newer_first and asked.cue.wants_newest:
        ordered = prefer_newer(
            ordered, window=settings.newer_first_window, bar=thresholds.cluster, worth=asked.statistics[TURN].idf
        )
    ordered = prefer_trusted(ordered, window=settings.newer_first_window, bar=thresholds.cluster)
    return drop_retold_hits(prefer_verbatim(fold_duplicates(ordered, bar=thresholds.same)))


def _filter_by_evidence(
    hits: Sequence[RecallHit], query: RecallQuery, *, bar: EvidenceThreshold, settings: RetrievalSettings
) -> tuple[list[RecallHit], int]:
    """Return the hits to show, and how many were too weak. Dormant ones come only if nothing else does."""
    awake = [hit for hit in hits if not hit.is_dormant or IncludableStatus.DORMANT in query.include]
    if query.ungated or not settings.abstain:
        return awake, 0
    for among in (awake, list(hits)):
        if has_enough_evidence(bar, [hit.evidence for hit in among]):
            strong = [hit for hit in among if hit.evidence >= bar.threshold]
            return (strong, len(among) - len(strong)) if query.strict else (among, 0)
    return [], len(hits)


def _fill_items(answer: RecallTrace, query: RecallQuery, *, took: float) -> RecallTrace:
    items = tuple(
        _build_item(answer.hits[place], text, bar=answer.bar, why=answer.why(place) if query.explain else None)
        for place, text in answer.shown.items()
    )
    return replace(answer, recalled=replace(answer.recalled, items=items, took=took))


def _build_item(hit: RecallHit, text: str, *, bar: EvidenceThreshold, why: Mapping[str, object] | None) -> RecallItem:
    each = hit.candidate
    return RecallItem(
        id=each.ref,
        type=each.type,
        kind=each.kind,
        text=text,
        compressed=each.compressed,
        score=hit.score,
        evidence=hit.evidence,
        weak=hit.evidence < bar.threshold,
        origin=each.origin,
        trust=each.trust,
        confidence=each.confidence,
        weight=each.effective.center,
        event_time=each.event_time,
        learned_at=each.learned_at,
        disputed=each.disputed,
        source=each.source,
        version=each.version,
        cosine=each.best,
        also=hit.also,
        why=why,
    )


def _record_metrics(recalled: RecallResult, query: RecallQuery, door: str) -> None:
    RECALL_SECONDS.observe(recalled.took)
    RECALLS.labels(door, "abstained" if recalled.abstained else "items").inc()
    for what in recalled.degraded:
        RECALL_DEGRADED.labels(what.split()[0]).inc()


Q = load_queries("festinger.retrieval")


async def rerun_and_compare_recall(deps: RetrievalDeps, space: SpaceId, recall_id: UUID) -> dict[str, Any]:
    """Return `then`, `now` and what `changed` between them. Raises `NotFound`."""
    kept = await find_recall(deps, space, recall_id)
    scope = Scope(space=space, agent=AgentId(kept["agent"]), session=SessionId(kept["session"]))
    asked = dict(kept["filters"])
    asked |= {name: datetime.fromisoformat(asked[name]) if asked[name] else None for name in MOMENTS}
    asked["exclude"] = [UUID(each) for each in asked["exclude"]]
    query = parse_recall_query(kept["cue"], now=deps.clock(), explain=True, **asked)
    now = await recall(deps, scope, query, counts=False)
    then = shown_hits(kept["hits"])
    was = {hit["id"]: hit["position"] for hit in then}
    is_now = {str(item.id): position for position, item in enumerate(now.items, 1)}
    moved = [ref for ref in {**was, **is_now} if was.get(ref) != is_now.get(ref)]
    states = await _load_states(deps, space, moved)
    return {
        "then": {"items": then, "abstained": kept["abstained"], "below_threshold": kept["below_threshold"]},
        "now": now.as_json(),
        "changed": [
            {
                "ref": ref,
                "was": was.get(ref),
                "is": is_now.get(ref),
                "because": explain_rank_change(
                    states.get(ref), kept, since=kept["at"], elsewhere=_global_difference(deps, space, kept)
                ),
            }
            for ref in moved
        ],
    }


def _global_difference(deps: RetrievalDeps, space: SpaceId, kept: Mapping[str, Any]) -> str | None:
    """Name a difference that affects all hits alike."""
    embedder = usable_embedder(deps.embedder())
    if kept["embedder"] != (embedder.name if embedder else ""):
        return "other embedder"
    if kept["settings_hash"] != settings_hash(deps.terms(space).retrieval):
        return "other settings"
    return None


def explain_rank_change(
    state: Mapping[str, Any] | None, kept: Mapping[str, Any], *, since: str, elsewhere: str | None
) -> str:
    """Return the plainest reason why a hit came, went or moved."""
    if state is None:
        return "forgotten"
    if state["status"] != "active":
        return str(state["status"])
    if iso(state["created_at"]) > since:
        return "new memory"
    if state["outcome_at"] is not None and iso(state["outcome_at"]) > since:
        return "outcome"
    return elsewhere or ("other memories" if kept["hits"] else "other settings")


async def _load_states(deps: RetrievalDeps, space: SpaceId, refs: list[str]) -> dict[str, Mapping[str, Any]]:
    if not refs:
        return {}
    rows = await deps.store.all(Q["states_of"], space=space, refs=[UUID(ref) for ref in refs])
    return {str(row["ref"]): row for row in rows}
