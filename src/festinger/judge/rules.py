"""What do the rules say of two statements?

Pure and fast: no clock, no store, no model. The first rule that fits decides, the surest first.
"""

from festinger.judge.judgement import Judgement, Relation, unsure
from festinger.judge.statement import NOTHING_KNOWN, Features, Statement
from festinger.text.fold import fold

NAME = "rules@1"
"""Rises whenever a rule changes what it says: pairs that waited are then tried again."""


def judge(old: Statement, new: Statement, features: Features = NOTHING_KNOWN) -> Judgement:
    """How `new` stands to `old`, as far as rules can tell."""
    if fold(old.text) == fold(new.text):
        return Judgement(
            relation=Relation.SAME, confidence=1.0, judge=NAME, reasoning="Both are the same words."
        )
    return unsure(NAME, "No rule fits this pair.")
