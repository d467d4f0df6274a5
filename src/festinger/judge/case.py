"""What does a rule look at, and how does it say what it found?

A case is a pair of statements with what was read and compared of them. The rules stand in `filling`, `opposing` and
`rules`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from festinger.judge.guards import Compared
from festinger.judge.judgement import Current, Judgement, Relation
from festinger.judge.statement import Features, Statement, later

NAME = "rules@1"
"""Rises whenever a rule changes what it says: pairs that waited are then tried again."""

ANNOUNCED = 0.95
EVIDENT = 0.85
LIKELY = 0.8
PERHAPS = 0.6
"""Not enough to end the cascade: the next judge is to look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    old: Statement
    new: Statement
    features: Features
    compared: Compared

    def verdict(
        self, relation: Relation, confidence: float, reasoning: str, *, current: Current = Current.BOTH
    ) -> Judgement:
        return Judgement(
            relation=relation,
            current=current,
            confidence=confidence,
            judge=NAME,
            reasoning=reasoning,
            guards=self.compared.guards,
        )

    @property
    def current(self) -> Current | None:
        is_later = later(self.old, self.new)
        return None if is_later is None else Current.NEW if is_later else Current.OLD


Rule = Callable[[Case], Judgement | None]
