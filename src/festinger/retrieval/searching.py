"""How is everything found that might answer a cue, and what if one way of searching fails?

All ways are gone at once, in one transaction. Where that takes too long or meets a damaged index, it is tried without
vectors, and then by vectors alone; what was gone without is told. If nothing answers the store is down, and nobody may
take that for "nothing known". What the best lead on to comes with them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from festinger.errors import StoreDown
from festinger.memory.model import Place
from festinger.retrieval.arms import CueRead, Found, Probe, fetch, find, read_words, size_of
from festinger.retrieval.candidate import MEMORY, Candidate
from festinger.retrieval.cue import Cue
from festinger.retrieval.desk import Desk, Size
from festinger.retrieval.fusing import rrf
from festinger.retrieval.scoring import TIME_ARM, VECTOR_ARM, WORDS_ARM
from festinger.retrieval.spreading import Reached, best_reached, spread
from festinger.retrieval.wish import Blend, Wish
from festinger.settings.retrieval import RetrievalSettings
from festinger.store.connection import DAMAGED, HELD, TOO_SLOW
from festinger.store.pool import Plan

MOST_SEEDS = 5
"""Best memories of which it is asked what they lead on to."""
PARTIAL = (TOO_SLOW, HELD, DAMAGED)
"""Troubles of a store that another way of searching may not meet."""
WITHOUT: tuple[tuple[str, ...], ...] = ((), (VECTOR_ARM,), (WORDS_ARM, TIME_ARM))
"""What is gone without, try by try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    candidates: list[Candidate]
    read: CueRead
    found: Found
    reached: Mapping[UUID, Reached]
    size: Size | None
    probe: Probe | None
    without: tuple[str, ...] = ()
    """Ways of searching that failed."""


async def search(
    desk: Desk, place: Place, wish: Wish, *, cue: Cue, probe: Probe | None, settings: RetrievalSettings
) -> Searched:
    """What might answer a cue, by every way that works. Raises `StoreDown`."""
    trouble: StoreDown | None = None
    for without in WITHOUT:
        if without == (WORDS_ARM, TIME_ARM) and probe is None:
            break
        try:
            return await _search(desk, place, wish, cue=cue, probe=probe, settings=settings, without=without)
        except StoreDown as error:
            if error.details.get("kind") not in PARTIAL:
                raise
            trouble = trouble or error
    assert trouble is not None
    raise trouble


async def _search(
    desk: Desk,
    place: Place,
    wish: Wish,
    *,
    cue: Cue,
    probe: Probe | None,
    settings: RetrievalSettings,
    without: tuple[str, ...],
) -> Searched:
    probe = None if VECTOR_ARM in without else probe
    async with desk.store.transaction(hot=True, plan=Plan.KEPT) as transaction:
        size = await size_of(desk, transaction, place, probe.model) if probe else None
        read = await read_words(desk, transaction, place, cue, probe=probe, by_mind=wish.blend is Blend.MIND)
        if wish.as_of is not None:
            read = replace(read, asked=replace(read.asked, now=wish.as_of))
        if WORDS_ARM in without:
            read = replace(read, asked=replace(read.asked, terms=(), cue=replace(cue, span=None)))
        found = await find(
            transaction, place, wish, read=read, probe=probe, size=size, settings=settings, few=desk.few
        )
        seeds = seeds_of(found, wish, k=settings.rrf_k)
        candidates = await fetch(
            desk,
            transaction,
            place,
            wish,
            read=read,
            found=found,
            probe=probe,
            settings=settings,
            seeds=list(seeds),
        )
    reached = spread(
        seeds,
        {each.ref: each.partners for each in candidates if each.partners},
        hops=wish.hops,
        top=settings.partners_top,
    )
    kept = _within_reach(candidates, found, reached, wish)
    return Searched(
        candidates=kept, read=read, found=found, reached=reached, size=size, probe=probe, without=without
    )


def seeds_of(found: Found, wish: Wish, *, k: int) -> dict[UUID, float]:
    """What is in mind: what the caller says is, and the best memories that were found, by their places."""
    places: dict[UUID, list[int]] = {}
    for refs in found.arms.values():
        for place, ref in enumerate((ref for ref in refs if found.types[ref] == MEMORY), 1):
            places.setdefault(ref, []).append(place)
    scores = {ref: rrf(stood, arms=len(found.arms), k=k) for ref, stood in places.items()}
    best = sorted(scores, key=lambda ref: (-scores[ref], ref))[:MOST_SEEDS]
    return {**{ref: scores[ref] for ref in best}, **dict.fromkeys(wish.active, 1.0)}


def _within_reach(
    candidates: list[Candidate], found: Found, reached: Mapping[UUID, Reached], wish: Wish
) -> list[Candidate]:
    """Without what was walked over on the way and is not worth coming by it."""
    searched_for = {ref for refs in found.arms.values() for ref in refs}
    only_reached = {ref: way for ref, way in reached.items() if ref not in searched_for}
    kept = set(only_reached) if wish.blend is Blend.MIND else best_reached(only_reached)
    return [each for each in candidates if each.ref in searched_for or each.ref in kept]
