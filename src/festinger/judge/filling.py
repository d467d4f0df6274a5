"""Do two statements fill the same slot, and with what?

Another value of what has one at a time is an update, of what never changes a contradiction, and of what has many
nothing at all. Statements that fill different slots say nothing about each other.
"""

from festinger.judge.case import ANNOUNCED, EVIDENT, LIKELY, Case
from festinger.judge.guards import shared_slot
from festinger.judge.judgement import Guard, Judgement, Relation
from festinger.judge.opposites import exclusive, opposed
from festinger.judge.reading import Reading, is_negation
from festinger.judge.statement import WRITTEN, Holding, Slot
from festinger.text.normalize import fold
from festinger.text.words import FUNCTION_WORDS

_WISHES = frozenset({"think"})
"""`I want this: …` wishes what `My rule: …` states."""


def same_slot(case: Case) -> Judgement | None:
    found = shared_slot(case.compared.old, case.compared.new)
    if found is None:
        return None
    one, other = found
    denied = denies(case.compared.old, one), denies(case.compared.new, other)
    if one.value == other.value:
        return None if denied[0] != denied[1] else _same_value(case)
    if case.compared.old.past != case.compared.new.past:
        return case.verdict(Relation.UNRELATED, LIKELY, "One speaks of what was, the other of what is.")
    if any(denied):
        said = case.verdict(Relation.UNRELATED, LIKELY, "One says what is not so, and of another value.")
        return None if _held(one, other) is Holding.UNKNOWN else said
    return _other_value(case, one, other)


def denies(reading: Reading, slot: Slot) -> bool:
    """Whether the statement denies its value; a negation within the value is part of it."""
    if slot.value in ("yes", "no"):
        return False
    within = sum(is_negation(word) for word in slot.value.split())
    return (reading.negations - within) % 2 == 1


def _same_value(case: Case) -> Judgement | None:
    """One value of one attribute: only what stands around the value can part them."""
    parted = set(case.compared.guards) - {Guard.ORDER}
    if (
        parted - {Guard.QUANTIFIER}
        or not (case.compared.old.quantifiers ^ case.compared.new.quantifiers) <= _WISHES
    ):
        return None
    return case.verdict(Relation.SAME, 0.9, "Both give the same value of the same attribute.")


def _other_value(case: Case, one: Slot, other: Slot) -> Judgement | None:
    holding = _held(one, other)
    said = f"Of one attribute they say `{one.value}` and `{other.value}`"
    if holding is Holding.MANY:
        return case.verdict(Relation.UNRELATED, LIKELY, f"{said}, and both can hold.")
    if Guard.QUANTIFIER in case.compared.guards and holding is Holding.UNKNOWN:
        return None
    if holding is Holding.FIXED and not _both_written(case):
        return case.verdict(Relation.CONTRADICTS, EVIDENT, f"{said}; it cannot have changed.")
    if holding is Holding.UNKNOWN:
        return None
    if (current := case.current) is None:
        return case.verdict(Relation.CONTRADICTS, LIKELY, f"{said}; which is later is not known.")
    confidence = ANNOUNCED if case.compared.new.announces else EVIDENT
    return case.verdict(
        Relation.UPDATE,
        confidence,
        f"{said}; only one holds at a time, and the later one stands.",
        current=current,
    )


def _both_written(case: Case) -> bool:
    """Whether nobody can be asked: between two writings the later one corrects the earlier."""
    return case.old.origin in WRITTEN and case.new.origin in WRITTEN


def _held(one: Slot, other: Slot) -> Holding:
    if Holding.MANY in (one.holding, other.holding):
        return Holding.MANY
    if one.holding is other.holding is not Holding.UNKNOWN:
        return one.holding
    if one.attribute == "be" and (opposed(one.value, other.value) or exclusive(one.value, other.value)):
        return Holding.ONE
    return Holding.UNKNOWN


def other_subject(case: Case) -> Judgement | None:
    """Whoever said it told of whom, and it is not the same one."""
    one, other = (fold(subject) if subject else "" for subject in (case.old.subject, case.new.subject))
    if not one or not other or one == other or case.features.same_subject or not _unlike(one, other):
        return None
    return case.verdict(Relation.UNRELATED, 0.9, f"They are about `{one}` and about `{other}`.")


def other_slot(case: Case) -> Judgement | None:
    """Both say clearly of whom and what they speak, and it is not the same."""
    old, new = case.compared.old.slots, case.compared.new.slots
    if not old or not new or old[0].place == new[0].place:
        return None
    one, other = old[0], new[0]
    if one.subject != other.subject:
        if case.features.same_subject or not _unlike(one.subject, other.subject):
            return None
        return case.verdict(
            Relation.UNRELATED, 0.9, f"They speak of `{one.subject}` and of `{other.subject}`."
        )
    if one.value == other.value or not _unlike(one.attribute, other.attribute) or case.compared.swap:
        return None
    if denies(case.compared.old, one) != denies(case.compared.new, other):
        return None
    return case.verdict(Relation.UNRELATED, LIKELY, f"They speak of different attributes of `{one.subject}`.")


def _unlike(one: str, other: str) -> bool:
    """Whether neither can be a shorter name for the other."""
    left, right = set(one.split()), set(other.split())
    longer = left if len(left) > len(right) else right
    is_longer_name = left <= right or right <= left
    return not is_longer_name or not longer.isdisjoint(FUNCTION_WORDS)
