"""Does a closer reader change the order?

A reranker reads cue and text together, for the best hits only. It has a deadline; whoever is late or broken is gone
without, and the order stays.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from festinger.errors import FestingerError
from festinger.memory.memory import Place
from festinger.retrieval.desk import Desk
from festinger.retrieval.fusing import scaled
from festinger.retrieval.hit import Hit, in_order
from festinger.retrieval.wish import Wish
from festinger.settings.tree import RetrievalSettings

RERANKER = "reranker"
MOST_READ = 50


async def reranked(
    desk: Desk, place: Place, wish: Wish, hits: list[Hit], *, settings: RetrievalSettings
) -> tuple[list[Hit], tuple[str, ...]]:
    """The hits in their order, and what was gone without."""
    reranker, terms = desk.reranker(), desk.terms(place.space)
    if not hits or wish.hurried:
        return hits, ()
    if reranker is None:
        return hits, (RERANKER,) if terms.reranks else ()
    most = min(MOST_READ, max(settings.rerank_top, 2 * wish.limit))
    read, rest = hits[:most], hits[most:]
    texts = [read_as(hit) for hit in read]
    try:
        async with asyncio.timeout(terms.rerank_timeout_ms / 1000):
            scores = await reranker.score(wish.cue, texts)
    except (FestingerError, TimeoutError):
        return hits, (RERANKER,)
    return [*reordered(read, scores, share=settings.rerank_share), *rest], ()


def reordered(hits: Sequence[Hit], scores: Sequence[float], *, share: float) -> list[Hit]:
    """Both orders blended, each stretched over these hits."""
    final = [
        replace(hit, score=share * by_reader + (1.0 - share) * by_us, reranked=raw)
        for hit, by_reader, by_us, raw in zip(
            hits, scaled(scores), scaled([hit.score for hit in hits]), scores, strict=True
        )
    ]
    return in_order(final)


def read_as(hit: Hit) -> str:
    """What the reader is given of a hit: what it says, then what stood around it."""
    each = hit.candidate
    return f"{each.content}\n{each.context}" if each.context and not each.is_memory else each.content
