"""Judges two statements by a small local entailment model.

`PairModel` is the port: how likely one text follows from another, is neutral to it, or contradicts it. The
model is asked in both directions, and this module maps the two answers to a relation. None ships;
`OnnxPairModel` loads one from a folder and runs in `embedding`. A guard is never overruled into `same`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from festinger.judge.model import (
    Current,
    Guard,
    Judgement,
    JudgeStatement,
    Relation,
    is_newer_statement,
    unsure_judgement,
)
from festinger.judge.rules.guards import ReadingComparison

if TYPE_CHECKING:
    from festinger.embedding.pair_classifier import PairClassifier

CLEAR = 0.8
"""Probability at which an answer counts as clear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntailmentScores:
    """Probabilities that the second text follows from the first, is neutral or contradicts it; sum is 1."""

    entails: float
    neutral: float
    contradicts: float


class PairModel(Protocol):
    """A model that reads two texts together."""

    @property
    def name(self) -> str:
        """`onnx:<model>`."""
        ...

    async def infer(self, pairs: Sequence[tuple[str, str]]) -> list[EntailmentScores]:
        """Score each pair, in order. Raises `ProviderDown` when it cannot answer."""
        ...


class ScriptedPairModel:
    """A fake pair model with scripted answers; other pairs are neutral."""

    name = "onnx:script"

    def __init__(self, answers: dict[tuple[str, str], EntailmentScores] | None = None) -> None:
        self.answers = answers or {}
        self.asked: list[tuple[str, str]] = []

    async def infer(self, pairs: Sequence[tuple[str, str]]) -> list[EntailmentScores]:
        self.asked += pairs
        return [self.answers.get(pair, EntailmentScores(entails=0.0, neutral=1.0, contradicts=0.0)) for pair in pairs]


class OnnxPairModel:
    """A pair model loaded from a folder named by `judge.model`."""

    def __init__(self, classifier: "PairClassifier") -> None:
        self.name = classifier.name
        self._classifier = classifier

    async def infer(self, pairs: Sequence[tuple[str, str]]) -> list[EntailmentScores]:
        rows = await self._classifier.shares(pairs)
        return [EntailmentScores(entails=float(e), neutral=float(n), contradicts=float(c)) for e, n, c in rows]


async def judge_by_model(
    model: PairModel, old: JudgeStatement, new: JudgeStatement, *, compared: ReadingComparison
) -> Judgement:
    """Judge how `new` relates to `old` by entailment in both directions."""
    forward, back = await model.infer([(old.text, new.text), (new.text, old.text)])
    return judgement_from_entailment(
        forward, back, compared=compared, name=model.name, is_later=is_newer_statement(old, new)
    )


def judgement_from_entailment(
    forward: EntailmentScores, back: EntailmentScores, *, compared: ReadingComparison, name: str, is_later: bool | None
) -> Judgement:
    """Map the two answers, old to new and back, to a relation."""
    guards = compared.guards
    if min(forward.entails, back.entails) >= CLEAR:
        if guards:
            return unsure_judgement(name, "The model takes them for the same, but something parts them.", guards=guards)
        confidence = min(forward.entails, back.entails)
        return _said(Relation.SAME, confidence, "Each follows from the other.", name=name)
    if (against := max(forward.contradicts, back.contradicts)) >= CLEAR:
        return _against(against, compared, name=name, is_later=is_later)
    if (one_way := max(forward.entails, back.entails)) >= CLEAR:
        return _said(Relation.REFINES, one_way, "One follows from the other.", name=name, guards=guards)
    if (apart := min(forward.neutral, back.neutral)) >= CLEAR:
        return _said(Relation.UNRELATED, apart, "Neither says anything about the other.", name=name, guards=guards)
    return unsure_judgement(name, "The model is not clear about them.", guards=guards)


def _against(against: float, compared: ReadingComparison, *, name: str, is_later: bool | None) -> Judgement:
    replaces = Guard.SLOT in compared.guards or compared.new.announces
    if replaces and is_later is not None:
        return Judgement(
            relation=Relation.UPDATE,
            current=Current.NEW if is_later else Current.OLD,
            confidence=against,
            judge=name,
            reasoning="They go against each other, and the later one replaces the other.",
            guards=compared.guards,
        )
    return _said(Relation.CONTRADICTS, against, "They go against each other.", name=name, guards=compared.guards)


def _said(
    relation: Relation, confidence: float, reasoning: str, *, name: str, guards: tuple[Guard, ...] = ()
) -> Judgement:
    return Judgement(relation=relation, confidence=min(confidence, 1.0), judge=name, reasoning=reasoning, guards=guards)
