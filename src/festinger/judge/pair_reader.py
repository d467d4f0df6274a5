"""Judges an older and a newer statement read together by a trained encoder.

Rules see words; whether `I take the bus` updates `I go to work by train` needs a reader. It is trained on
statements about made-up people and things (`benchmarks/training`) and asked where rules are not certain, about
the few notes nearest to a statement. It never calls two statements the same where a guard sees another number,
day, name or negation.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from festinger.judge.model import (
    ACCEPT,
    WRITTEN,
    CurrentSide,
    GuardKind,
    Judgement,
    PairFeatures,
    Relation,
    StatementPair,
    is_newer_statement,
    unsure_judgement,
)
from festinger.judge.rules.guards import ReadingComparison
from festinger.text.words import split_into_sentences

NAME = "reader@7"
READER = "relations.safetensors"
CLASSES = (Relation.UNRELATED, Relation.SAME, Relation.UPDATE, Relation.CONTRADICTS)
"""In the order of the model's outputs."""
TEXT_CHARS = 300
MOST_READ = 4
"""Nearest notes read with a statement: on held-out people, 98 of 100 replaced notes were the nearest."""
MOST_WORDS, MOST_SENTENCES = 25, 2
"""Of a statement that is read: it was not trained on longer ones."""
FEW_WORDS = 16
"""Words of one sentence up to which anything that it says counts: of held-out pairs with 14 to 16 words it merges 20 of 24
that are the same, and none of 66 others. Of longer ones only news and denials count: long sentences that say nearly the
same it took for the same."""
SHARPNESS = 1.2
"""Corrects for label smoothing. With it, on held-out statements, what is said with .8 is right in 93 to 98 of 100 cases."""
NEWS_FROM = 0.85
"""Confidence at which a statement replaces a note: of held-out people .95 of such pairs are news, .91 from .8 on. Of two
notes that one statement seems to replace, the one that is less sure mostly stands (6 of 8)."""
CONTRADICTS_FROM = 0.6
"""Confidence at which two statements contradict each other: of held-out pairs it finds .80 so, and takes 1 in 100 others
for one. A conflict takes nothing away."""
LIKELY = 0.1
"""Probability of news from which the later of two statements is shown alone where both would be: of such pairs of
held-out people that do not read as news, 4 of 10 are."""
SAME_FROM = 0.85
"""Confidence at which two statements are the same. Of held-out statements it merges, behind the guards, 67 of 100 that
are, and 3 of 1,000 others."""
SURELY_SAME = 0.945
"""Confidence at which two statements are the same though one of them denies."""
NEAR_FOR_SAME = 0.3
"""How far a pair must lie from the embedder's `check` (0) to its `same` (1) to be merged."""
HARMLESS = 0.1
"""Probability of news or a contradiction below which a pair that may be the same is not worth asking about: at worst the
same thing is kept twice."""
FAR_NEWS_FROM, NEAR_FOR_NEWS = 0.955, 0.5
"""Confidence at which a statement replaces a note with which it shares no word, and which is not near (cosine). It is as
sure of `we switched to Flux` after `we deploy with Argo`; but in a whole store some far note often reads as replaced."""
NEAR_ENOUGH = 0.15
"""Cosine at which a pair is read: of held-out people one update in seven lies below .2, and one in seventeen below .15."""


class PairScorer(Protocol):
    """A model that gives each class of a text a logit."""

    async def scores(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


def reader_path() -> Path:
    return Path(str(files("festinger.judge").joinpath(READER)))


def pair_text(old: str, new: str) -> str:
    """Format two statements as in training."""
    return f"{old[:TEXT_CHARS]} [SEP] {new[:TEXT_CHARS]}"


class PairReader:
    """Judges how new statements relate to older ones."""

    name = NAME

    def __init__(self, scorer: PairScorer) -> None:
        self._scorer = scorer

    async def judge_all(self, pairs: Sequence[StatementPair], compared: Sequence[ReadingComparison]) -> list[Judgement]:
        logits = await self._scorer.scores([pair_text(pair.old.full_text, pair.new.full_text) for pair in pairs])
        read = [judgement_from_scores(row, pair, seen) for row, pair, seen in zip(logits, pairs, compared, strict=True)]
        return demote_weaker_updates(read, pairs)


def select_pair_indexes(pairs: Sequence[StatementPair]) -> list[int]:
    """Return the indexes of the pairs to read: short sentences that people said, as in training, and only the
    nearest few for each new statement; pairs that waited come without a similarity and were near once. Written
    sources come in thousands; rules suffice for them."""
    taken: Counter[UUID] = Counter()
    found = []
    for place in sorted(range(len(pairs)), key=lambda at: -(pairs[at].features.similarity or 0.0)):
        pair = pairs[place]
        similarity = pair.features.similarity
        if (similarity is not None and similarity < NEAR_ENOUGH) or pair.new.origin in WRITTEN:
            continue
        if any(is_long_statement(each.text) for each in (pair.old, pair.new)):
            continue
        taken[pair.new_ref] += 1
        if taken[pair.new_ref] <= MOST_READ:
            found.append(place)
    return found


def is_long_statement(text: str) -> bool:
    return len(text.split()) > MOST_WORDS or len(split_into_sentences(text)) > MOST_SENTENCES


def _is_short_statement(text: str) -> bool:
    return len(text.split()) <= FEW_WORDS and len(split_into_sentences(text)) <= 1


def judgement_from_scores(row: NDArray[np.float32], pair: StatementPair, compared: ReadingComparison) -> Judgement:
    """Map the model's outputs to a judgement."""
    shares = np.exp(SHARPNESS * (row - row.max()))
    shares /= shares.sum()
    best = int(shares.argmax())
    relation, confidence = CLASSES[best], float(shares[best])
    reason, leaning = _REASONS[relation], None
    guards = compared.guards
    if relation is Relation.SAME and (why := _why_not_same(confidence, pair.features, compared)):
        if (harm := float(shares[2:].sum())) >= HARMLESS:
            return unsure_judgement(NAME, why, guards=guards, leaning=relation)
        relation, confidence, reason, leaning = Relation.UNRELATED, 1 - harm, why, relation
    current, is_later = CurrentSide.BOTH, is_newer_statement(pair.old, pair.new)
    if relation is Relation.UPDATE and is_later is None:
        why = "It reads as news, but which is later is not known."
        return unsure_judgement(NAME, why, guards=guards, leaning=relation)
    if relation is Relation.UPDATE and confidence < (FAR_NEWS_FROM if _is_far(pair.features, compared) else NEWS_FROM):
        side = CurrentSide.NEW if is_later else CurrentSide.OLD
        return unsure_judgement(NAME, "It may be news.", guards=guards, leaning=relation, current=side)
    if is_later is not None and (relation is Relation.UPDATE or _may_be_news(relation, shares)):
        current = CurrentSide.NEW if is_later else CurrentSide.OLD
    if relation is Relation.CONTRADICTS and confidence >= CONTRADICTS_FROM and not compared.is_denial:
        confidence = max(confidence, ACCEPT)
    return Judgement(
        relation=relation,
        current=current,
        confidence=confidence,
        judge=NAME,
        reasoning=reason,
        guards=guards,
        tentative=leaning is not None,
        leaning=leaning,
    )


def does_reading_count(read: Judgement, pair: StatementPair, *, by_rules: Judgement) -> bool:
    """Whether a pair is one that the reader can judge so, given what rules found."""
    is_news = Relation.UPDATE in (read.relation, read.leaning)
    is_update = by_rules.final and by_rules.relation is Relation.UPDATE
    is_denial = not is_update and read.relation is Relation.CONTRADICTS and GuardKind.NEGATION in read.guards
    return is_news or is_denial or all(map(_is_short_statement, (pair.old.text, pair.new.text)))


def demote_weaker_updates(read: Sequence[Judgement], pairs: Sequence[StatementPair]) -> list[Judgement]:
    """Let each statement be news about one note: about the others it can stand beside them."""
    surest: dict[UUID, float] = {}
    for said, pair in zip(read, pairs, strict=True):
        if said.relation is Relation.UPDATE:
            surest[pair.new_ref] = max(said.confidence, surest.get(pair.new_ref, 0.0))
    return [
        _as_news_elsewhere(said)
        if said.relation is Relation.UPDATE and said.confidence < surest[pair.new_ref]
        else said
        for said, pair in zip(read, pairs, strict=True)
    ]


def _as_news_elsewhere(said: Judgement) -> Judgement:
    why = "It reads as news, but rather about another note."
    return replace(
        said,
        relation=Relation.UNRELATED,
        current=CurrentSide.BOTH,
        confidence=ACCEPT,
        reasoning=why,
        tentative=True,
        leaning=said.relation,
    )


def _may_be_news(relation: Relation, shares: NDArray[np.float32]) -> bool:
    return relation is Relation.UNRELATED and float(shares[CLASSES.index(Relation.UPDATE)]) >= LIKELY


def _why_not_same(confidence: float, features: PairFeatures, compared: ReadingComparison) -> str:
    """Why a pair that reads as the same is not merged; empty if it is."""
    if parted := compared.find_parting_guard(sure=confidence >= SURELY_SAME):
        return f"It reads as the same, but: {parted.why}"
    is_sure = confidence >= SAME_FROM and _is_near(features)
    return "" if is_sure else "It may be the same in other words."


def _is_near(features: PairFeatures) -> bool:
    similarity, check, same = features.similarity, features.bars.check, features.bars.same
    if similarity is None or check is None or same is None:
        return False
    return similarity >= check + NEAR_FOR_SAME * (same - check)


def _is_far(features: PairFeatures, compared: ReadingComparison) -> bool:
    similarity = features.similarity
    shared = compared.old.stemmed & compared.new.stemmed or compared.old.names & compared.new.names
    return similarity is not None and similarity < NEAR_FOR_NEWS and not shared


_REASONS = {
    Relation.UNRELATED: "Read together, both can stand.",
    Relation.SAME: "Read together, both say the same.",
    Relation.UPDATE: "Read together, the new one is news about what the old one says.",
    Relation.CONTRADICTS: "Read together, both cannot be true.",
}
