"""Can two statements not both stand, by their words alone?

One says that something is so and the other that it is not; a phrase is swapped with its opposite or with another of
its kind; all is the same but for how many there are. How sure that is depends on how much of the rest agrees, and on
whether both speak of the same thing at all.
"""

import re
from collections import Counter
from itertools import pairwise

from festinger.judge.case import EVIDENT, LIKELY, PERHAPS, Case
from festinger.judge.guards import Compared
from festinger.judge.judgement import Current, Guard, Judgement, Relation
from festinger.judge.lifefacts import USER
from festinger.judge.opposites import alike, is_being
from festinger.judge.reading import is_verb
from festinger.judge.wordlists import members
from festinger.text.words import FUNCTION_WORDS

AGREES_SURELY = 0.75
AGREES_PERHAPS = 0.6
"""How much of what is denied must be said on the other side; read off the calibration part of SICK."""

LEAST_SHARED = 2
"""Words that a denial and what it denies have in common."""

LEAST_NUMBERS = 2
"""One that says which thing it is, and one that says something of it."""

BEGINNING = 3
"""Words within which a statement names what it is about."""

_IDENTIFIER = re.compile(r"[a-z]+[-_]?\d+")

_POINTING = members("grammar", "pointing")


def denied(case: Case) -> Judgement | None:
    """One says that something is so, the other that it is not; how much of the rest agrees says how sure it is."""
    guards = set(case.compared.guards)
    if Guard.NEGATION not in guards or _clash(case.compared) or _of_user_and_other(case.compared):
        return None
    agreement = _agreement(case)
    why, found = case.compared.why(Guard.NEGATION), case.compared.difference
    shared = case.compared.old.stemmed & case.compared.new.stemmed
    if agreement < AGREES_PERHAPS or (len(shared) < LEAST_SHARED and (found.only_old or found.only_new)):
        return None
    is_only = not (found.only_old or found.only_new) and guards <= {
        Guard.NEGATION,
        Guard.ORDER,
        Guard.QUANTIFIER,
    }
    confidence = 0.9 if is_only else LIKELY if agreement >= AGREES_SURELY else PERHAPS
    if case.compared.new.announces and case.current is Current.NEW and is_only:
        return case.verdict(
            Relation.UPDATE, 0.9, f"{why} The later one announces a change.", current=Current.NEW
        )
    return case.verdict(Relation.CONTRADICTS, confidence, why)


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


def _agreement(case: Case) -> float:
    """How much of what is denied stands on the other side too: the mean of what words and vectors say."""
    old, new = case.compared.old, case.compared.new
    denied, said = (old.stemmed, new.stemmed) if old.negated else (new.stemmed, old.stemmed)
    shared = sum(word in said or not alike(word).isdisjoint(said) for word in denied)
    of_denied = shared / max(1, len(denied))
    of_shorter = min(1.0, shared / max(1, min(len(denied), len(said))))
    similarity = case.features.similarity
    signs = [of_denied, of_shorter, *([similarity] if similarity is not None else [])]
    return sum(signs) / len(signs)


def swapped(case: Case) -> Judgement | None:
    """All is the same but for one phrase, and that is swapped with its opposite or another of its kind."""
    swap = case.compared.swap
    if swap is None:
        return None
    why = f"{swap[0].upper()}{swap[1:]}."
    if _of_two(case.compared):
        return None
    if _of_another(case.compared):
        return case.verdict(
            Relation.CONTRADICTS, PERHAPS, f"{why} They may speak of two different things, though."
        )
    return case.verdict(Relation.CONTRADICTS, EVIDENT, why)


def _of_two(compared: Compared) -> bool:
    """Whether the swap stands in who is spoken of: *a* man and *a* woman are two people, whatever both do."""
    return (
        _of_another(compared)
        and is_being(compared.difference.old[-1])
        and is_being(compared.difference.new[-1])
    )


def _of_another(compared: Compared) -> bool:
    """Whether the swap stands in what both speak of: *a* white dog and *a* black dog are two dogs."""
    words = compared.old.words
    if not words or words[0] in _POINTING:
        return False
    verb = next((at for at, word in enumerate(words) if at and is_verb(word)), len(words))
    articles = sum(word in ("a", "an", "the") for word in words[:verb])
    return compared.difference.place < verb - articles


def numbered(case: Case) -> Judgement | None:
    """Both begin with a numbered thing, each with another one, and say another number of it."""
    one, other = (_numbers(each.words) for each in (case.compared.old, case.compared.new))
    if len(one) < LEAST_NUMBERS or len(one) != len(other):
        return None
    (named, first), (named_too, second) = one[0], other[0]
    if named != named_too or named in FUNCTION_WORDS or first == second or one[1:] == other[1:]:
        return None
    return case.verdict(Relation.UNRELATED, LIKELY, f"They speak of {named} {first} and of {named} {second}.")


def identified(case: Case) -> Judgement | None:
    """Both begin with a thing that is named by letters and digits (`patch p27`), each with another one."""
    one, other = (
        {word for word in each.words[:BEGINNING] if _IDENTIFIER.fullmatch(word)}
        for each in (case.compared.old, case.compared.new)
    )
    if not one or not other or one & other:
        return None
    return case.verdict(Relation.UNRELATED, LIKELY, f"They speak of {min(one)} and of {min(other)}.")


def _numbers(words: tuple[str, ...]) -> list[tuple[str, str]]:
    """Numbers, each with the word before it."""
    return [(before, word) for before, word in pairwise(words) if word.isdigit()]


def counted(case: Case) -> Judgement | None:
    """All is the same but for how many there are, or which in a row."""
    if (
        not case.compared.only(Guard.NUMBER, Guard.SLOT)
        or Guard.NUMBER not in case.compared.guards
        or not case.compared.difference.swapped
    ):
        return None
    one, other = case.compared.old.amounts, case.compared.new.amounts
    is_other = one.counts - other.counts and other.counts - one.counts
    ordinals = {size for dimension, size in (*one.numbers, *other.numbers) if dimension == "ordinal"}
    if not is_other and len(ordinals) < 2:
        return None
    return case.verdict(Relation.CONTRADICTS, LIKELY, case.compared.why(Guard.NUMBER))
