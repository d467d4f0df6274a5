"""What do the rules say of two statements?

Pure and fast: no clock, no store, no model. The first rule that fits decides, the surest first; what no rule fits
is `unsure` and left to the judges behind. Reading is done by `reading`, guarding by `guards`.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from festinger.ids import Origin
from festinger.judge.guards import Compared, compare, shared_slot
from festinger.judge.judgement import Current, Guard, Judgement, Relation, unsure
from festinger.judge.lifefacts import USER
from festinger.judge.opposites import alike, exclusive, opposed
from festinger.judge.reading import Reading, is_negation, is_verb, read
from festinger.judge.statement import NOTHING_KNOWN, Features, Holding, Slot, Statement, later
from festinger.judge.stems import stem
from festinger.text.words import FUNCTION_WORDS

NAME = "rules@1"
"""Rises whenever a rule changes what it says: pairs that waited are then tried again."""

ANNOUNCED = 0.95
EVIDENT = 0.85
LIKELY = 0.8

SURELY = 0.75
PERHAPS = 0.6
"""How much of what is denied must be said on the other side; read off the calibration part of SICK."""

_WISHES = frozenset({"think"})
"""`I want this: …` wishes what `My rule: …` states."""

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


LEAST_SHARED = 2
"""Words that a denial and what it denies have in common."""


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
    if one.gist and one.gist == other.gist and _nothing_parts(pair):
        return pair.verdict(Relation.SAME, 0.95, "Both say the same words but for those that say nothing.")
    return None


def _nothing_parts(pair: Pair) -> bool:
    return not pair.compared.fired and pair.compared.old.whole and pair.compared.new.whole


def _same_slot(pair: Pair) -> Judgement | None:
    found = shared_slot(pair.compared.old, pair.compared.new)
    if found is None:
        return None
    one, other = found
    denied = _denied(pair.compared.old, one), _denied(pair.compared.new, other)
    if one.value == other.value:
        return None if denied[0] != denied[1] else _same_value(pair)
    if pair.compared.old.past != pair.compared.new.past:
        return pair.verdict(Relation.UNRELATED, LIKELY, "One speaks of what was, the other of what is.")
    if any(denied):
        said = pair.verdict(Relation.UNRELATED, LIKELY, "One says what is not so, and of another value.")
        return None if _held(one, other) is Holding.UNKNOWN else said
    return _other_value(pair, one, other)


def _denied(reading: Reading, slot: Slot) -> bool:
    """Whether the statement denies its value; a negation within the value is part of it."""
    if slot.value in ("yes", "no"):
        return False
    within = sum(is_negation(word) for word in slot.value.split())
    return (reading.negations - within) % 2 == 1


def _same_value(pair: Pair) -> Judgement | None:
    """One value of one attribute: only what stands around the value can part them."""
    parted = set(pair.compared.guards) - {Guard.ORDER}
    if (
        parted - {Guard.QUANTIFIER}
        or not (pair.compared.old.quantifiers ^ pair.compared.new.quantifiers) <= _WISHES
    ):
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
    if one.value == other.value or not _unlike(one.attribute, other.attribute) or pair.compared.swap:
        return None
    if _denied(pair.compared.old, one) != _denied(pair.compared.new, other):
        return None
    return pair.verdict(Relation.UNRELATED, LIKELY, f"They speak of different attributes of `{one.subject}`.")


def _unlike(one: str, other: str) -> bool:
    """Whether neither can be a shorter name for the other."""
    left, right = set(one.split()), set(other.split())
    longer = left if len(left) > len(right) else right
    is_longer_name = left <= right or right <= left
    return not is_longer_name or not longer.isdisjoint(FUNCTION_WORDS)


def _dated(pair: Pair) -> Judgement | None:
    if Guard.DATE not in pair.compared.guards:
        return None
    days = pair.compared.old.amounts.days, pair.compared.new.amounts.days
    happened = pair.old.event_time, pair.new.event_time
    if all(days) or (all(happened) and days[0] == days[1]):
        return pair.verdict(Relation.UNRELATED, 0.9, pair.compared.why(Guard.DATE))
    return None


def _negated(pair: Pair) -> Judgement | None:
    """One says that something is so, the other that it is not; how much of the rest agrees says how sure it is."""
    guards = set(pair.compared.guards)
    if Guard.NEGATION not in guards or _clash(pair.compared) or _of_user_and_other(pair.compared):
        return None
    agreement = _agreement(pair)
    why, found = pair.compared.why(Guard.NEGATION), pair.compared.difference
    shared = pair.compared.old.stemmed & pair.compared.new.stemmed
    if agreement < PERHAPS or (len(shared) < LEAST_SHARED and (found.only_old or found.only_new)):
        return None
    is_only = not (found.only_old or found.only_new) and guards <= {
        Guard.NEGATION,
        Guard.ORDER,
        Guard.QUANTIFIER,
    }
    confidence = 0.9 if is_only else LIKELY if agreement >= SURELY else 0.6
    if pair.compared.new.announces and pair.current is Current.NEW and is_only:
        return pair.verdict(
            Relation.UPDATE, 0.9, f"{why} The later one announces a change.", current=Current.NEW
        )
    return pair.verdict(Relation.CONTRADICTS, confidence, why)


def _of_user_and_other(compared: Compared) -> bool:
    """Whether one speaks of who is speaking, and the other of somebody else."""
    subjects = {slots[0].subject for slots in (compared.old.slots, compared.new.slots) if slots}
    return len(subjects) > 1 and USER in subjects


def _clash(compared: Compared) -> bool:
    """Whether each side names a day, a number or a name that the other does not: they speak of different things."""
    old, new = compared.old, compared.new
    numbers = Counter(old.amounts.numbers), Counter(new.amounts.numbers)
    return (
        bool(old.amounts.days - new.amounts.days and new.amounts.days - old.amounts.days)
        or bool(numbers[0] - numbers[1] and numbers[1] - numbers[0])
        or bool(old.names - set(new.words) and new.names - set(old.words))
    )


def _agreement(pair: Pair) -> float:
    """How much of what is denied stands on the other side too: the mean of what words and vectors say."""
    old, new = pair.compared.old, pair.compared.new
    denied, said = (old.stemmed, new.stemmed) if old.negated else (new.stemmed, old.stemmed)
    shared = sum(word in said or not alike(word).isdisjoint(said) for word in denied)
    of_denied = shared / max(1, len(denied))
    of_shorter = min(1.0, shared / max(1, min(len(denied), len(said))))
    similarity = pair.features.similarity
    signs = [of_denied, of_shorter, *([similarity] if similarity is not None else [])]
    return sum(signs) / len(signs)


def _opposed(pair: Pair) -> Judgement | None:
    """All is the same but for one phrase, and that is swapped with its opposite or another of its kind."""
    swap = pair.compared.swap
    if swap is None:
        return None
    why = f"{swap[0].upper()}{swap[1:]}."
    if _of_another(pair.compared):
        return pair.verdict(
            Relation.CONTRADICTS, 0.6, f"{why} They may speak of two different things, though."
        )
    return pair.verdict(Relation.CONTRADICTS, EVIDENT, why)


def _of_another(compared: Compared) -> bool:
    """Whether the swap stands in what both speak of: *a* white dog and *a* black dog are two dogs."""
    words = compared.old.words
    if not words or words[0] in _POINTING:
        return False
    verb = next((at for at, word in enumerate(words) if at and is_verb(word)), len(words))
    articles = sum(word in ("a", "an", "the") for word in words[:verb])
    return compared.difference.place < verb - articles


_POINTING = frozenset({"the", "my", "our", "this", "that", "i", "we"})


def _counted(pair: Pair) -> Judgement | None:
    """All is the same but for how many there are, or which in a row."""
    if (
        not pair.compared.only(Guard.NUMBER, Guard.SLOT)
        or Guard.NUMBER not in pair.compared.guards
        or not pair.compared.difference.swapped
    ):
        return None
    one, other = pair.compared.old.amounts, pair.compared.new.amounts
    is_other = one.counts - other.counts and other.counts - one.counts
    ordinals = {size for dimension, size in (*one.numbers, *other.numbers) if dimension == "ordinal"}
    if not is_other and len(ordinals) < 2:
        return None
    return pair.verdict(Relation.CONTRADICTS, LIKELY, pair.compared.why(Guard.NUMBER))


def _refined(pair: Pair) -> Judgement | None:
    if pair.compared.fired or pair.compared.difference.only_old or len(pair.compared.difference.only_new) < 2:
        return None
    return pair.verdict(Relation.REFINES, LIKELY, "The new one says all that the old one says, and more.")


def _near(pair: Pair) -> Judgement | None:
    """Nothing in the words decides, so how near they are does, at its ends."""
    similarity, bars = pair.features.similarity, pair.features.bars
    if similarity is None:
        return None
    is_same = bars.same is not None and similarity >= bars.same
    if is_same and _nothing_parts(pair) and not _swapped(pair):
        return pair.verdict(
            Relation.SAME, 0.9, f"They are near enough ({similarity:.2f}) and nothing parts them."
        )
    if _opposes(pair):
        return None
    if bars.check is not None and similarity < bars.check:
        return pair.verdict(Relation.UNRELATED, 0.9, f"They are too far apart ({similarity:.2f}).")
    return None


def _opposes(pair: Pair) -> bool:
    """Whether the vectors hint at a negation that the words do not show: the next judge is to look."""
    bar, found = pair.features.bars.opposition, pair.features.opposition
    near = pair.features.similarity is not None and pair.features.similarity >= OPPOSING_FROM
    return bar is not None and found is not None and abs(found) >= bar and near


OPPOSING_FROM = 0.7


def _swapped(pair: Pair) -> bool:
    """Whether one phrase stands for another: vectors cannot tell a synonym from an opposite."""
    found = pair.compared.difference
    return found.swapped and set(map(stem, found.old)) != set(map(stem, found.new))


RULES: tuple[Rule, ...] = (
    _same_words,
    _same_slot,
    _negated,
    _other_slot,
    _dated,
    _opposed,
    _counted,
    _refined,
    _near,
)
