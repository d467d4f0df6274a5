"""What do the rules say of two statements?

Pure and fast: no clock, no store, no model. The first rule that fits decides, the surest first; what no rule fits
is `unsure` and left to the judges behind. Reading is done by `reading`, guarding by `guards`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from festinger.ids import Origin
from festinger.judge.guards import Compared, compare, shared_slot
from festinger.judge.judgement import Current, Guard, Judgement, Relation, unsure
from festinger.judge.opposites import exclusive, opposed
from festinger.judge.reading import read
from festinger.judge.statement import NOTHING_KNOWN, Features, Holding, Slot, Statement, later

NAME = "rules@1"
"""Rises whenever a rule changes what it says: pairs that waited are then tried again."""

ANNOUNCED = 0.95
EVIDENT = 0.85
LIKELY = 0.8

_WRITTEN = frozenset({Origin.DOCUMENT, Origin.TOOL})
"""Who cannot be asked: between two writings the later one corrects the earlier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
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


Rule = Callable[[Pair], Judgement | None]


def judge(old: Statement, new: Statement, features: Features = NOTHING_KNOWN) -> Judgement:
    """How `new` stands to `old`, as far as rules can tell."""
    one, other = read(old.text, said_at=old.said_at), read(new.text, said_at=new.said_at)
    pair = Pair(old=old, new=new, features=features, compared=compare(one, other, statements=(old, new)))
    for rule in RULES:
        found = rule(pair)
        if found is not None:
            return found
    return unsure(NAME, "No rule fits this pair.", guards=pair.compared.guards)


def _same_words(pair: Pair) -> Judgement | None:
    one, other = pair.compared.old, pair.compared.new
    if Guard.DATE in pair.compared.guards:
        return None
    if one.fold == other.fold:
        return pair.verdict(Relation.SAME, 1.0, "Both are the same words.")
    if one.gist and one.gist == other.gist and not pair.compared.fired:
        return pair.verdict(Relation.SAME, 0.95, "Both say the same words but for those that say nothing.")
    return None


def _same_slot(pair: Pair) -> Judgement | None:
    found = shared_slot(pair.compared.old, pair.compared.new)
    if found is None:
        return None
    one, other = found
    if one.value == other.value:
        return _same_value(pair)
    if pair.compared.old.past != pair.compared.new.past:
        return pair.verdict(Relation.UNRELATED, LIKELY, "One speaks of what was, the other of what is.")
    if pair.compared.old.negated != pair.compared.new.negated:
        return None
    return _other_value(pair, one, other)


def _same_value(pair: Pair) -> Judgement | None:
    if pair.compared.fired:
        return None
    return pair.verdict(Relation.SAME, 0.9, "Both give the same value of the same attribute.")


def _other_value(pair: Pair, one: Slot, other: Slot) -> Judgement | None:
    holding = _held(one, other)
    said = f"Of one attribute they say `{one.value}` and `{other.value}`"
    if holding is Holding.MANY:
        return pair.verdict(Relation.UNRELATED, LIKELY, f"{said}, and both can hold.")
    if Guard.QUANTIFIER in pair.compared.guards and holding is Holding.UNKNOWN:
        return None
    if holding is Holding.FIXED and not _both_written(pair):
        return pair.verdict(Relation.CONTRADICTS, EVIDENT, f"{said}; it cannot have changed.")
    if holding is Holding.UNKNOWN:
        return None
    if (current := pair.current) is None:
        return pair.verdict(Relation.CONTRADICTS, LIKELY, f"{said}; which is later is not known.")
    confidence = ANNOUNCED if pair.compared.new.announces else EVIDENT
    return pair.verdict(
        Relation.UPDATE,
        confidence,
        f"{said}; only one holds at a time, and the later one stands.",
        current=current,
    )


def _both_written(pair: Pair) -> bool:
    return pair.old.origin in _WRITTEN and pair.new.origin in _WRITTEN


def _held(one: Slot, other: Slot) -> Holding:
    if Holding.MANY in (one.holding, other.holding):
        return Holding.MANY
    if one.holding is other.holding is not Holding.UNKNOWN:
        return one.holding
    if one.attribute == "be" and (opposed(one.value, other.value) or exclusive(one.value, other.value)):
        return Holding.ONE
    return Holding.UNKNOWN


def _other_slot(pair: Pair) -> Judgement | None:
    """Both say clearly of whom and what they speak, and it is not the same."""
    old, new = pair.compared.old.slots, pair.compared.new.slots
    if not old or not new or old[0].place == new[0].place:
        return None
    one, other = old[0], new[0]
    if one.subject != other.subject:
        if pair.features.same_subject or not _unlike(one.subject, other.subject):
            return None
        return pair.verdict(
            Relation.UNRELATED, 0.9, f"They speak of `{one.subject}` and of `{other.subject}`."
        )
    if one.value == other.value or not _unlike(one.attribute, other.attribute):
        return None
    if pair.compared.old.negated != pair.compared.new.negated:
        return None
    return pair.verdict(Relation.UNRELATED, LIKELY, f"They speak of different attributes of `{one.subject}`.")


def _unlike(one: str, other: str) -> bool:
    """Whether neither can be a shorter name for the other."""
    left, right = set(one.split()), set(other.split())
    return not (left <= right or right <= left)


def _dated(pair: Pair) -> Judgement | None:
    if Guard.DATE not in pair.compared.guards:
        return None
    days = pair.compared.old.amounts.days, pair.compared.new.amounts.days
    happened = pair.old.event_time, pair.new.event_time
    if all(days) or (all(happened) and days[0] == days[1]):
        return pair.verdict(Relation.UNRELATED, 0.9, pair.compared.why(Guard.DATE))
    return None


def _negated(pair: Pair) -> Judgement | None:
    if not pair.compared.only(Guard.NEGATION, Guard.ORDER) or Guard.NEGATION not in pair.compared.guards:
        return None
    if pair.compared.difference.only_old or pair.compared.difference.only_new:
        return None
    why = pair.compared.why(Guard.NEGATION)
    if pair.compared.new.announces and pair.current is Current.NEW:
        return pair.verdict(
            Relation.UPDATE, 0.9, f"{why} The later one announces a change.", current=Current.NEW
        )
    return pair.verdict(Relation.CONTRADICTS, 0.9, why)


def _opposed(pair: Pair) -> Judgement | None:
    if (
        not pair.compared.only(Guard.ANTONYM, Guard.SLOT, Guard.ORDER)
        or Guard.ANTONYM not in pair.compared.guards
    ):
        return None
    return pair.verdict(Relation.CONTRADICTS, EVIDENT, pair.compared.why(Guard.ANTONYM))


def _refined(pair: Pair) -> Judgement | None:
    if pair.compared.fired or pair.compared.difference.only_old or len(pair.compared.difference.only_new) < 2:
        return None
    return pair.verdict(Relation.REFINES, LIKELY, "The new one says all that the old one says, and more.")


def _near(pair: Pair) -> Judgement | None:
    similarity, bars = pair.features.similarity, pair.features.bars
    if similarity is None:
        return None
    if bars.same is not None and similarity >= bars.same and not pair.compared.fired:
        return pair.verdict(
            Relation.SAME, 0.9, f"They are near enough ({similarity:.2f}) and nothing parts them."
        )
    if bars.check is not None and similarity < bars.check:
        return pair.verdict(Relation.UNRELATED, 0.9, f"They are too far apart ({similarity:.2f}).")
    return None


RULES: tuple[Rule, ...] = (
    _same_words,
    _same_slot,
    _other_slot,
    _dated,
    _negated,
    _opposed,
    _refined,
    _near,
)
