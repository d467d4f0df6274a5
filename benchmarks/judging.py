"""Runs the judges and plain baselines on pairs of public data.

The product runs as shipped and without an LLM: rules, the bundled reader, the bundled embedder's cosines and its
profile; what counts is what it would act on. The baselines see the same texts and cosines. A judge sees only the
texts of an item and their order. Each suite computes its own numbers from the answers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import numpy as np

from benchmarks.result import System, SystemKind
from benchmarks.sameness import score_sameness
from festinger.embedding.embedder import Embedder, EmbedderOptions, Vector
from festinger.embedding.profiles import EmbeddingPurpose, ThresholdName
from festinger.embedding.registry import open_embedder
from festinger.embedding.trained_encoder import open_text_classifier
from festinger.ids import Origin
from festinger.judge.cascade import judge_locally
from festinger.judge.model import (
    ACCEPT,
    Judgement,
    JudgeStatement,
    PairFeatures,
    Relation,
    SimilarityThresholds,
    StatementPair,
)
from festinger.judge.pair_reader import PairReader, reader_path
from festinger.judge.rules.parse import parse_statement

EMBEDDER = "onnx:all-minilm-l6-v2"
AT_ONCE = 256

AGAINST = frozenset({Relation.CONTRADICTS, Relation.UPDATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingTexts:
    """Vectors of texts, the thresholds of the model that made them, and what the judges said of pairs."""

    vectors: Mapping[str, Vector]
    bars: SimilarityThresholds
    verdicts: dict[tuple[str, str], Judgement] = field(default_factory=dict)

    def cosine(self, one: str, other: str) -> float:
        return float(np.dot(self.vectors[one], self.vectors[other]))

    def features(self, one: str, other: str) -> PairFeatures:
        return PairFeatures(similarity=self.cosine(one, other), bars=self.bars)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingPair:
    """Two texts of a set with their label, which no judge sees."""

    id: str
    a: str
    b: str
    label: str
    group: str = ""
    category: str = ""


async def embedded(texts: Iterable[str]) -> JudgingTexts:
    """The vectors of all texts by the bundled embedder."""
    embedder = await open_embedder(EMBEDDER, EmbedderOptions(offline=True))
    try:
        return JudgingTexts(vectors=await _vectors(embedder, texts), bars=bars_of(embedder))
    finally:
        await embedder.close()


async def _vectors(embedder: Embedder, texts: Iterable[str]) -> dict[str, Vector]:
    # By length, so that a batch holds texts of similar size and little padding.
    distinct = sorted({text for text in texts if text.strip()}, key=lambda text: (len(text), text))
    found: dict[str, Vector] = {}
    for start in range(0, len(distinct), AT_ONCE):
        batch = distinct[start : start + AT_ONCE]
        found |= zip(batch, await embedder.embed(batch, EmbeddingPurpose.COMPARE), strict=True)
    return found


def bars_of(embedder: Embedder) -> SimilarityThresholds:
    profile = embedder.profile
    return SimilarityThresholds(
        same=profile.threshold(ThresholdName.SAME), check=profile.threshold(ThresholdName.CHECK)
    )


def pairs_of(rows: Iterable[Mapping[str, str]]) -> list[JudgingPair]:
    return [
        JudgingPair(
            id=str(row["id"]),
            a=row["a"],
            b=row["b"],
            label=row["label"],
            group=row.get("group") or "",
            category=row.get("category") or "",
        )
        for row in rows
    ]


async def judge_pairs(texts: JudgingTexts, pairs: Iterable[tuple[str, str]]) -> None:
    """Judge pairs, the first text said before the second, as learning does at once."""
    distinct = [pair for pair in dict.fromkeys(pairs) if pair not in texts.verdicts]
    asked = [
        StatementPair(
            old_ref=uuid4(),
            new_ref=uuid4(),
            old=JudgeStatement(text=one, order=1, origin=Origin.PERSON),
            new=JudgeStatement(text=other, order=2, origin=Origin.PERSON),
            features=texts.features(one, other),
        )
        for one, other in distinct
    ]
    classifier = await open_text_classifier(reader_path())
    try:
        judged = await judge_locally(asked, reader=PairReader(classifier), accept=ACCEPT)
    finally:
        await classifier.close()
    texts.verdicts.update(zip(distinct, judged, strict=True))


def said(texts: JudgingTexts, one: str, other: str) -> Judgement:
    """What the judges said of two texts, the first said before the second."""
    return texts.verdicts[one, other]


def scored(texts: JudgingTexts, one: str, other: str) -> float:
    """The judge's score for `same`; a verdict lies above or below everything undecided."""
    verdict = said(texts, one, other)
    score = score_sameness(parse_statement(one), parse_statement(other), texts.features(one, other)) or 0.0
    if verdict.relation is Relation.SAME:
        return 1 + score
    return score


Contradicts = Callable[[JudgingTexts, str, str], bool]


def we_object(texts: JudgingTexts, one: str, other: str) -> bool:
    """Whether the judges find a contradiction in either order."""
    return said(texts, one, other).relation in AGAINST or said(texts, other, one).relation in AGAINST


def negation_objects(texts: JudgingTexts, one: str, other: str) -> bool:
    """The baseline `negation`: one side is negated, and the cosine is above .5."""
    return _negated(one) != _negated(other) and texts.cosine(one, other) > 0.5


def one_word_objects(texts: JudgingTexts, one: str, other: str) -> bool:
    """The baseline `one_word`: at most four stems differ and the cosine is above .6, or `negation`."""
    left, right = set(stripped(one)), set(stripped(other))
    few = len(left ^ right) <= 4 and texts.cosine(one, other) > 0.6
    return few or negation_objects(texts, one, other)


OBJECTORS: Mapping[str, Contradicts] = {"negation": negation_objects, "one_word": one_word_objects}

_NOT = frozenset(["no", "not", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "without", "cannot"])
_ENDINGS = ("ing", "edly", "ed", "ies", "es", "s", "ly")
_STOPWORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "not",
        "of",
        "on",
        "or",
        "our",
        "she",
        "so",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "will",
        "with",
        "you",
        "your",
    ]
)


def _negated(text: str) -> bool:
    return any(word in _NOT or word.endswith("n't") for word in text.lower().replace("’", "'").split())


def stripped(text: str) -> list[str]:
    """Words as the plain baselines see them: lowercase letters and digits, no stopwords or endings."""
    words = "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
    return [_bare(word) for word in words if word not in _STOPWORDS]


def _bare(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def baselines(names: Sequence[str]) -> list[System]:
    return [System(name=name, kind=SystemKind.BASELINE, params={"embedder": EMBEDDER}) for name in names]
