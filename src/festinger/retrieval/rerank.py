"""Does a closer reader change the order?

A reranker reads cue and text together, for the best hits only, and of a long text the passage that shares most words
with the cue: what it costs grows with what it reads. It has a deadline; whoever is late or broken is gone without, and
the order stays.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

from festinger.errors import FestingerError
from festinger.memory.model import Place
from festinger.retrieval.desk import Desk
from festinger.retrieval.fusing import scaled
from festinger.retrieval.hit import Hit, in_order
from festinger.retrieval.wish import Wish
from festinger.settings.retrieval import RetrievalSettings

RERANKER = "reranker"
PASSAGE = 300
"""Characters that are read of a hit. Measured on a third of LoCoMo, 20 hits each: with what stands around a turn recall@1
rises from .40 to .48 at 570 ms of CPU, with 300 characters of the turn alone to .50 at 320 ms."""

_WORD = re.compile(r"\w+")


async def reranked(
    desk: Desk, place: Place, wish: Wish, hits: list[Hit], *, settings: RetrievalSettings
) -> tuple[list[Hit], tuple[str, ...]]:
    """The hits in their order, and what was gone without."""
    reranker, terms = desk.reranker(), desk.terms(place.space)
    if not hits or wish.hurried:
        return hits, ()
    if reranker is None:
        return hits, (RERANKER,) if terms.reranks else ()
    read, rest = hits[: settings.rerank_top], hits[settings.rerank_top :]
    texts = [passage(hit.candidate.content, wish.cue) for hit in read]
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


def passage(text: str, cue: str) -> str:
    """The piece of a text that shares most words with a cue; the first of equals, and a short text whole."""
    asked = set(_WORD.findall(cue.casefold()))
    pieces = [text[at : at + PASSAGE] for at in range(0, len(text), PASSAGE)]
    return max(pieces, key=lambda piece: len(asked.intersection(_WORD.findall(piece.casefold()))))
