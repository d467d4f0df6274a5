"""Plain rankings of the turns of a conversation.

Words alone (BM25), vectors alone, and both fused by rank: each turn is one whole text, without its context.
They see the same texts and the same embedder as the product.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import CannotStart
from festinger.runtime.app import App
from festinger.text.words import FUNCTION_WORDS

RANKINGS = ("bm25", "cosine", "rrf")
K1, B, RRF_K = 1.2, 0.75, 60

_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in FUNCTION_WORDS]


class Bm25Ranking:
    """BM25 over the turns of one conversation."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [Counter(words(text)) for text in texts]
        self._lengths = [sum(text.values()) for text in self._texts]
        self._average = sum(self._lengths) / max(1, len(self._lengths)) or 1.0
        self._df = Counter(word for text in self._texts for word in text)

    def scores(self, question: str) -> list[float]:
        asked = {word: self._idf(word) for word in set(words(question)) if self._df[word]}
        return [
            sum(
                idf * text[word] * (K1 + 1) / (text[word] + K1 * (1 - B + B * length / self._average))
                for word, idf in asked.items()
                if text[word]
            )
            for text, length in zip(self._texts, self._lengths, strict=True)
        ]

    def _idf(self, word: str) -> float:
        df = self._df[word]
        return math.log(1 + (len(self._texts) - df + 0.5) / (df + 0.5))


async def ranked(
    names: Sequence[str], app: App, turns: Sequence[Mapping[str, Any]], questions: Sequence[str]
) -> dict[str, list[list[str]]]:
    """For each ranking and question, the ids of the turns of one conversation, best first."""
    ids = [turn["id"] for turn in turns]
    found = await scores_of(names, app, turns, questions)
    return {name: [[ids[place] for place in order_of(each)] for each in found[name]] for name in names}


async def scores_of(
    names: Sequence[str], app: App, turns: Sequence[Mapping[str, Any]], questions: Sequence[str]
) -> dict[str, list[list[float]]]:
    """The score of each turn of one conversation, by ranking and question."""
    if not names or not questions:
        return {name: [] for name in names}
    said = [turn["text"] for turn in turns]
    texts = Bm25Ranking(said)
    found = {"bm25": [texts.scores(question) for question in questions]}
    if set(names) != {"bm25"}:
        found["cosine"] = await _cosines(app, said, questions)
        found["rrf"] = [_joined(*both) for both in zip(found["bm25"], found["cosine"], strict=True)]
    return {name: found[name] for name in names}


async def _cosines(app: App, texts: Sequence[str], questions: Sequence[str]) -> list[list[float]]:
    if app.embedder is None:
        raise CannotStart("Plain rankings need an embedder.")
    stored = np.stack(await app.embedder.embed(texts, EmbeddingPurpose.STORE))
    asked = np.stack(await app.embedder.embed(questions, EmbeddingPurpose.QUERY))
    cosines: list[list[float]] = (asked @ stored.T).tolist()
    return cosines


def order_of(scores: Sequence[float]) -> list[int]:
    """Positions, the best first; ties in order."""
    return sorted(range(len(scores)), key=lambda place: -scores[place])


def _joined(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Both orders fused: a text scores higher the further ahead it is in either."""
    total = [0.0] * len(one)
    for scores in (one, other):
        for rank, place in enumerate(order_of(scores), 1):
            total[place] += 1.0 / (RRF_K + rank)
    return total
