"""What comes to mind for a cue?

The whole way on one screen: read the cue, search by meaning, words and time, score every candidate both ways, fuse,
weigh, set what tells of the same thing in order, fold twins, rerank, and say nothing if nothing is relevant. No model
is asked, nothing is written before the answer; the record is kept afterwards and never fails a recall.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from festinger.errors import StoreDown
from festinger.memory.model import Place
from festinger.observability.metrics import RECALL_DEGRADED, RECALL_SECONDS, RECALLS
from festinger.retrieval.arms import EMBEDDER, embed_cue, missing_vectors, usable
from festinger.retrieval.beside import with_beside
from festinger.retrieval.candidate import TURN
from festinger.retrieval.cue import read_cue
from festinger.retrieval.desk import Desk
from festinger.retrieval.echo import discount_echoes
from festinger.retrieval.gate import Bar, is_open
from festinger.retrieval.hit import (
    Hit,
    in_exact_words,
    in_order,
    newer_first,
    prefer_trusted,
    without_sources,
    without_twins,
)
from festinger.retrieval.mind import NO_SHIFT, cold_start, drawn, taught, weighed_by
from festinger.retrieval.packing import packed
from festinger.retrieval.recalled import Item, Recalled
from festinger.retrieval.record import Answer, keep
from festinger.retrieval.rerank import reranked
from festinger.retrieval.scoring import Asked, Thresholds, scored, thresholds_of
from festinger.retrieval.searching import Searched, search
from festinger.retrieval.wish import Blend, Include, Wish
from festinger.settings.retrieval import RetrievalSettings

TOKENS = "tokens"
ANYWHERE = "library"
SEEDS = 2**62
"""The last bits of an id are chance."""


async def recall(
    desk: Desk, place: Place, wish: Wish, *, door: str = ANYWHERE, counts: bool = True, shows: bool = True
) -> Recalled:
    """The few memories worth showing, or none. Raises `StoreDown`.

    `counts`: whether it is written down and what it gave counts as read; comparing and replaying count nothing.
    `shows`: whether all that it gives is put before a model; a door that may leave some out tells by itself what was.
    """
    began = desk.stopwatch()
    wish = _seeded(desk, wish)
    settings = desk.terms(place.space).retrieval
    cue = read_cue(wish.cue, now=wish.as_of or desk.clock())
    embedder = usable(desk.embedder())
    thresholds = thresholds_of(embedder.profile if embedder else None)
    probe = None if wish.by_words else await embed_cue(embedder, cue)
    try:
        searched = await search(desk, place, wish, cue=cue, probe=probe, settings=settings)
    except StoreDown:
        RECALLS.labels(door, "failed").inc()
        raise
    if searched.probe is None:
        thresholds = Thresholds()
    hits = _weighed(desk, place, wish, searched, settings=settings, thresholds=thresholds)
    ordered = _arranged(hits, searched.read.asked, settings=settings, thresholds=thresholds)
    ordered, late = await reranked(desk, place, wish, ordered, settings=settings)
    gated, below = _gated(ordered, wish, bar=thresholds.bar, settings=settings)
    shown = packed(
        [(hit.candidate.content, hit.candidate.compressed) for hit in gated],
        tokens=wish.tokens,
        limit=wish.limit,
    )
    degraded = (
        *wish.degraded,
        *((EMBEDDER,) if probe is None else ()),
        *searched.without,
        *missing_vectors(searched.size),
        *late,
        *((TOKENS,) if gated and not shown else ()),
    )
    answer = Answer(
        recalled=Recalled(
            id=desk.new_id(), items=(), abstained=not gated, below_threshold=below, degraded=degraded
        ),
        hits=tuple(gated or ordered),
        shown=dict(shown) if gated else {},
        bar=thresholds.bar,
        now=searched.read.asked.now,
        settings=settings,
    )
    answer = _answered(answer, wish, took=desk.stopwatch() - began)
    _measure(answer.recalled, wish, door)
    if counts:
        model = probe.model.name if probe else ""
        desk.later(keep(desk, place, wish, answer, door=door, embedder=model, shows=shows))
    if counts and shows:
        return with_beside(answer.recalled, await desk.beside(place, wish), wish)
    return answer.recalled


def _seeded(desk: Desk, wish: Wish) -> Wish:
    """With what chance begins with, so that it can be asked again."""
    if wish.seed is not None:
        return wish
    return replace(wish, seed=desk.new_id().int % SEEDS if wish.blend is Blend.MIND else 0)


def _weighed(
    desk: Desk,
    place: Place,
    wish: Wish,
    searched: Searched,
    *,
    settings: RetrievalSettings,
    thresholds: Thresholds,
) -> list[Hit]:
    """Every candidate with its score; where the mind of the agent is asked, with what that gives it."""
    read = searched.read
    hits = scored(
        discount_echoes(searched.candidates, read.asked.cue.text),
        read.asked,
        found=searched.found.arms,
        settings=settings,
        thresholds=thresholds,
        reached=searched.reached,
    )
    if wish.blend is not Blend.MIND:
        return hits
    chance = random.Random(wish.seed)  # noqa: S311 - no secret; a recall must be repeatable
    alphas = taught(cold_start(read.remembered, settings), read.shifts or NO_SHIFT)
    return weighed_by(hits, drawn(alphas, chance), feeling=desk.feeling(place), chance=chance)


def _arranged(
    hits: Sequence[Hit], asked: Asked, *, settings: RetrievalSettings, thresholds: Thresholds
) -> list[Hit]:
    """By score, the newer of what tells of the same first, twins, summaries and second tellings folded."""
    ordered = in_order(hits)
    if settings.newer_first and asked.cue.wants_newest:
        ordered = newer_first(
            ordered,
            window=settings.newer_first_window,
            bar=thresholds.cluster,
            worth=asked.statistics[TURN].idf,
        )
    ordered = prefer_trusted(ordered, window=settings.newer_first_window, bar=thresholds.cluster)
    return without_sources(in_exact_words(without_twins(ordered, bar=thresholds.same)))


def _gated(
    hits: Sequence[Hit], wish: Wish, *, bar: Bar, settings: RetrievalSettings
) -> tuple[list[Hit], int]:
    """What may be told, and how many were found that may not. What sleeps comes only if nothing else does."""
    awake = [hit for hit in hits if not hit.is_dormant or Include.DORMANT in wish.include]
    if wish.ungated or not settings.abstain:
        return awake, 0
    for among in (awake, list(hits)):
        if is_open(bar, [hit.evidence for hit in among]):
            strong = [hit for hit in among if hit.evidence >= bar.threshold]
            return (strong, len(among) - len(strong)) if wish.strict else (among, 0)
    return [], len(hits)


def _answered(answer: Answer, wish: Wish, *, took: float) -> Answer:
    items = tuple(
        _item(answer.hits[place], text, bar=answer.bar, told=answer.why(place) if wish.explain else None)
        for place, text in answer.shown.items()
    )
    return replace(answer, recalled=replace(answer.recalled, items=items, took=took))


def _item(hit: Hit, text: str, *, bar: Bar, told: Mapping[str, object] | None) -> Item:
    each = hit.candidate
    return Item(
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
        why=told,
    )


def _measure(recalled: Recalled, wish: Wish, door: str) -> None:
    RECALL_SECONDS.labels(wish.blend.value).observe(recalled.took)
    RECALLS.labels(door, "abstained" if recalled.abstained else "items").inc()
    for what in recalled.degraded:
        RECALL_DEGRADED.labels(what.split()[0]).inc()
