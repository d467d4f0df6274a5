"""Decides by rules how two statements relate.

Pure and fast: no clock, no store, no model. The first rule that fits decides, the surest first; if none fits,
the pair is `unsure_judgement` and goes to the next judge. Another value for a slot with one value at a time
is an update, for a fixed one a contradiction, and for one with many values nothing; statements about
different slots are unrelated. Words alone contradict by a denial, by a phrase swapped with its opposite or
another of its kind, or by a different count. How sure that is depends on how much of the rest agrees, and on
whether both are about the same thing.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from festinger.judge.model import (
    NOTHING_KNOWN,
    WRITTEN,
    Cardinality,
    CurrentSide,
    GuardKind,
    Judgement,
    JudgeStatement,
    PairFeatures,
    Relation,
    Slot,
    is_newer_statement,
    unsure_judgement,
)
from festinger.judge.rules.attributes import USER
from festinger.judge.rules.guards import ReadingComparison, compare_readings, find_shared_slot, has_opposites
from festinger.judge.rules.parse import LONGEST_NOUN, StatementReading, is_negation, is_verb, parse_statement
from festinger.judge.rules.slots import COPULAS, skip_adverbs
from festinger.judge.rules.subjects import find_other_subject
from festinger.judge.rules.words import (
    find_exclusive_kind,
    is_opposite,
    is_person_or_animal,
    load_words_of_kind,
    similar_stems,
    stem,
)
from festinger.text.normalize import fold
from festinger.text.words import FUNCTION_WORDS, SMALL_NUMBERS

NAME = "rules@3"
"""Bumped whenever a rule changes its answers, so that waiting pairs are retried."""

ANNOUNCED = 0.95
EVIDENT = 0.85
LIKELY = 0.8
PERHAPS = 0.6
"""Not enough to end the cascade: the next judge decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCase:
    old: JudgeStatement
    new: JudgeStatement
    features: PairFeatures
    compared: ReadingComparison

    def verdict(
        self, relation: Relation, confidence: float, reasoning: str, *, current: CurrentSide = CurrentSide.BOTH
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
    def current(self) -> CurrentSide | None:
        is_later = is_newer_statement(self.old, self.new)
        return None if is_later is None else CurrentSide.NEW if is_later else CurrentSide.OLD


Rule = Callable[[RuleCase], Judgement | None]


_WISHES = frozenset({"think"})
"""`I want this: …` asks for what `My rule: …` states."""


def judge_same_slot(case: RuleCase) -> Judgement | None:
    found = find_shared_slot(case.compared.old, case.compared.new)
    if found is None:
        return None
    one, other = found
    denied = denies_value(case.compared.old, one), denies_value(case.compared.new, other)
    if _bare(one.value) == _bare(other.value):
        return None if denied[0] != denied[1] else _judge_same_value(case)
    if case.compared.old.past != case.compared.new.past:
        return case.verdict(Relation.UNRELATED, LIKELY, "One speaks of what was, the other of what is.")
    holding = _pair_cardinality(one, other)
    if case.compared.is_denial and (any(denied) or holding is Cardinality.MANY) and _is_within(one.value, other.value):
        return None
    if any(denied):
        said = case.verdict(Relation.UNRELATED, LIKELY, "One says what is not so, and of another value.")
        return None if holding is Cardinality.UNKNOWN else said
    return _judge_other_value(case, one, other)


def _bare(value: str) -> str:
    """A value without its preposition: `in Leipzig` is where my home is, and `Leipzig` where I live."""
    first, _, rest = value.partition(" ")
    return rest if rest and first in _WHERE else value


def _is_within(one: str, other: str) -> bool:
    """Whether one value says all that the other says, but for negations: `no tea`, and `tea or coffee`."""
    left, right = ({word for word in value.split() if not is_negation(word)} for value in (one, other))
    return left <= right or right <= left


def denies_value(reading: StatementReading, slot: Slot) -> bool:
    """Whether the statement denies its value; a negation within the value is part of it."""
    if slot.value in ("yes", "no"):
        return False
    within = sum(is_negation(word) for word in slot.value.split())
    return reading.negations > within


def _judge_same_value(case: RuleCase) -> Judgement | None:
    """Judge equal values of one attribute; only the words around the value can still differ."""
    parted = set(case.compared.guards) - {GuardKind.ORDER}
    if (
        parted - {GuardKind.QUANTIFIER}
        or not (case.compared.old.quantifiers ^ case.compared.new.quantifiers) <= _WISHES
    ):
        return None
    return case.verdict(Relation.SAME, 0.9, "Both give the same value of the same attribute.")


def _judge_other_value(case: RuleCase, one: Slot, other: Slot) -> Judgement | None:
    holding = _pair_cardinality(one, other)
    said = f"Of one attribute they say `{one.value}` and `{other.value}`"
    if holding is Cardinality.MANY:
        return case.verdict(Relation.UNRELATED, LIKELY, f"{said}, and both can hold.")
    if GuardKind.QUANTIFIER in case.compared.guards and holding is Cardinality.UNKNOWN:
        return None
    if holding is Cardinality.FIXED and not _is_written_pair(case):
        return case.verdict(Relation.CONTRADICTS, EVIDENT, f"{said}; it cannot have changed.")
    if holding is Cardinality.UNKNOWN:
        return None
    if (current := case.current) is None:
        return case.verdict(Relation.CONTRADICTS, LIKELY, f"{said}; which is later is not known.")
    confidence = ANNOUNCED if case.compared.new.announces else EVIDENT
    return case.verdict(
        Relation.UPDATE, confidence, f"{said}; only one holds at a time, and the later one stands.", current=current
    )


def _is_written_pair(case: RuleCase) -> bool:
    """Whether both come from written sources: nobody can be asked, so the later one corrects the earlier."""
    return case.old.origin in WRITTEN and case.new.origin in WRITTEN


def _pair_cardinality(one: Slot, other: Slot) -> Cardinality:
    if Cardinality.MANY in (one.holding, other.holding):
        return Cardinality.MANY
    if one.holding is other.holding is not Cardinality.UNKNOWN:
        return one.holding
    if one.attribute == "be" and (is_opposite(one.value, other.value) or find_exclusive_kind(one.value, other.value)):
        return Cardinality.ONE
    return Cardinality.UNKNOWN


def judge_other_subject(case: RuleCase) -> Judgement | None:
    """Unrelated if the sources named different subjects."""
    shared = find_shared_slot(case.compared.old, case.compared.new)
    if shared and shared[0].value == shared[1].value and not (case.old.unstated or case.new.unstated):
        return None
    one, other = (fold(subject) if subject else "" for subject in (case.old.subject, case.new.subject))
    if not one or not other or one == other or case.features.same_subject or not _are_unlike_names(one, other):
        return None
    return case.verdict(Relation.UNRELATED, 0.9, f"They are about `{one}` and about `{other}`.")


def judge_other_slot(case: RuleCase) -> Judgement | None:
    """Unrelated if both clearly name their subject and attribute, and these differ."""
    old, new = case.compared.old.slots, case.compared.new.slots
    if not old or not new or old[0].place == new[0].place:
        return None
    one, other = old[0], new[0]
    if one.subject != other.subject:
        if case.features.same_subject or not _are_unlike_names(one.subject, other.subject):
            return None
        return case.verdict(Relation.UNRELATED, 0.9, f"They speak of `{one.subject}` and of `{other.subject}`.")
    if one.value == other.value or not _are_unlike_names(one.attribute, other.attribute) or case.compared.swap:
        return None
    if denies_value(case.compared.old, one) != denies_value(case.compared.new, other):
        return None
    return case.verdict(Relation.UNRELATED, LIKELY, f"They speak of different attributes of `{one.subject}`.")


def _are_unlike_names(one: str, other: str) -> bool:
    """Whether neither can be a shorter name for the other."""
    left, right = set(one.split()), set(other.split())
    longer = left if len(left) > len(right) else right
    is_longer_name = left <= right or right <= left
    return not is_longer_name or not longer.isdisjoint(FUNCTION_WORDS)


AGREES_SURELY = 0.75
AGREES_PERHAPS = 0.6
"""Share of the denied words that the other side must contain; fitted on the calibration part of SICK."""

LEAST_SHARED = 2
"""Words that a denial and what it denies have in common."""

_WHERE = load_words_of_kind("grammar", "where")
_POINTING = load_words_of_kind("grammar", "pointing")


def judge_partial_denial(case: RuleCase) -> Judgement | None:
    """What holds for some and what does not hold for all, or for some others, can both be true."""
    if not is_partial_denial(case.compared):
        return None
    return case.verdict(Relation.UNRELATED, LIKELY, "One speaks of some, and the other denies it only in part.")


def is_partial_denial(compared: ReadingComparison) -> bool:
    """Whether one says `not all` and the other does not say `all`, or both say `some of`."""
    if not compared.is_denial:
        return False
    denied, said = compared.sides
    if any(is_negation(word) and following in _UNIVERSAL for word, following in pairwise(denied.words)):
        return _UNIVERSAL.isdisjoint(said.words)
    return all(each.words[:1] in _PARTS and each.words[1:2] == ("of",) for each in (denied, said))


_UNIVERSAL = load_words_of_kind("quantifiers", "all")
_PARTS = {(word,) for word in load_words_of_kind("quantifiers", "some")}


def judge_denial(case: RuleCase) -> Judgement | None:
    """One states what the other denies; confidence grows with how much of the rest agrees."""
    guards = set(case.compared.guards)
    # Who denies the opposite of what the other states agrees with it: `open`, and `not closed`.
    is_about_same = not (case.compared.swap or _has_clash(case.compared) or _are_speaker_and_other(case.compared))
    if not case.compared.is_denial or not is_about_same:
        return None
    agreement = _agreement(case)
    why, found = case.compared.why(GuardKind.NEGATION), case.compared.difference
    shared = case.compared.old.stemmed & case.compared.new.stemmed
    if agreement < AGREES_PERHAPS or (len(shared) < LEAST_SHARED and (found.only_old or found.only_new)):
        return None
    is_only = not (found.only_old or found.only_new) and guards <= {
        GuardKind.NEGATION,
        GuardKind.ORDER,
        GuardKind.QUANTIFIER,
    }
    confidence = 0.9 if is_only else LIKELY if agreement >= AGREES_SURELY else PERHAPS
    if case.compared.new.announces and case.current is CurrentSide.NEW and is_only:
        return case.verdict(Relation.UPDATE, 0.9, f"{why} The later one announces a change.", current=CurrentSide.NEW)
    return case.verdict(Relation.CONTRADICTS, confidence, why)


def _are_speaker_and_other(compared: ReadingComparison) -> bool:
    """Whether one is about the speaker and the other about somebody else."""
    subjects = {slots[0].subject for slots in (compared.old.slots, compared.new.slots) if slots}
    return len(subjects) > 1 and USER in subjects


def _has_clash(compared: ReadingComparison) -> bool:
    """Whether each side names a day, number or name that the other lacks: they are about different things."""
    old, new = compared.old, compared.new
    numbers = Counter(old.amounts.numbers), Counter(new.amounts.numbers)
    return (
        bool(old.amounts.days - new.amounts.days and new.amounts.days - old.amounts.days)
        or bool(numbers[0] - numbers[1] and numbers[1] - numbers[0])
        or bool(old.names - set(new.words) and new.names - set(old.words))
    )


def _agreement(case: RuleCase) -> float:
    """Return how much of what is denied, and of the rest, is on the other side too: the mean over words and vectors."""
    denying, stating = case.compared.sides
    shared = _count_shared(denying.stemmed, stating)
    of_whole, of_clause = shared / max(1, len(denying.stemmed)), _share_denied(case.compared)
    signs = [min(of_whole, of_clause), min(1.0, shared / max(1, min(len(denying.stemmed), len(stating.stemmed))))]
    similarity = case.features.similarity
    signs += [similarity] if similarity is not None else []
    return sum(signs) / len(signs)


def _share_denied(compared: ReadingComparison) -> float:
    """Return which share of the denied words is on the other side."""
    denying, stating = compared.sides
    return _count_shared(denying.denied, stating) / max(1, len(denying.denied))


def _count_shared(words: frozenset[str], other: StatementReading) -> int:
    return sum(word in other.stemmed or not similar_stems(word).isdisjoint(other.stemmed) for word in words)


BACKED, BACKED_EXISTENCE = 0.5, 0.6
"""Mean of the cosine and the share of the denied words on the other side from which a denial that reads as a
contradiction is one. Up to .55 it makes no difference to our held-out statements; the calibration part of SICK slightly
prefers .55 (F1 .853, .850 here), Negation NLI .5 (.589, .578 at .55), so this value has seen that set."""


def is_backed_denial(compared: ReadingComparison, features: PairFeatures) -> bool:
    """Whether one denies about what the other states. That there is no red car says little about cars, so where
    something is said not to exist, more of it must be on the other side."""
    if not compared.is_denial:
        return False
    of_denied = _share_denied(compared)
    similarity = of_denied if features.similarity is None else features.similarity
    bar = BACKED_EXISTENCE if _denies_existence(compared.sides[0]) else BACKED
    return (of_denied + similarity) / 2 >= bar


def _denies_existence(reading: StatementReading) -> bool:
    """Whether it begins with `No …`, `Nobody …` or `There is no …`."""
    first = 2 if reading.words[:1] == ("there",) else 0
    return any(map(is_negation, reading.words[first : first + 1]))


def is_double_negation(compared: ReadingComparison) -> bool:
    """Whether one negates a clause twice, and the other nothing."""
    both = compared.old, compared.new
    return any(one.doubled and not any(map(is_negation, other.words)) for one, other in (both, both[::-1]))


def explain_agreement(compared: ReadingComparison) -> str | None:
    """Why two statements agree, however opposed they sound; None if they may not."""
    found = compared.difference
    if bool(found.only_old) != bool(found.only_new) and set(compared.guards) <= {GuardKind.NAME}:
        return "One says all that the other says, and only adds to it."
    is_partly = not {"all", "some"}.isdisjoint(compared.old.quantifiers ^ compared.new.quantifiers)
    if compared.is_denial and not is_partly and has_opposites(compared.old, compared.new):
        return "One denies the opposite of what the other states."
    return None


def judge_two_events(case: RuleCase) -> Judgement | None:
    """The same kind of event on two days, with a number of its own for each."""
    old, new = case.compared.old, case.compared.new
    days = [_TIMES_NAMED.intersection(each.words) for each in (old, new)]
    numbers = Counter(old.amounts.numbers), Counter(new.amounts.numbers)
    if not all(days) or days[0] & days[1] or not (numbers[0] - numbers[1] and numbers[1] - numbers[0]):
        return None
    return case.verdict(Relation.UNRELATED, LIKELY, f"They tell of {min(days[0])} and of {min(days[1])}.")


_TIMES_NAMED = load_words_of_kind("exclusive", "day") | load_words_of_kind("exclusive", "month")


def judge_phrase_swap(case: RuleCase) -> Judgement | None:
    """All is the same except one phrase, which is swapped with its opposite or another of its kind."""
    swap = case.compared.swap
    if swap is None or case.compared.is_denial:
        return None
    why = f"{swap[0].upper()}{swap[1:]}."
    if _is_person_swap(case.compared):
        return None
    if _is_subject_swap(case.compared):
        return case.verdict(Relation.CONTRADICTS, PERHAPS, f"{why} They may speak of two different things, though.")
    return case.verdict(Relation.CONTRADICTS, EVIDENT, why)


def _is_person_swap(compared: ReadingComparison) -> bool:
    """Whether the swap is in the person: *a* man and *a* woman are two people, whatever both do."""
    return (
        _is_subject_swap(compared)
        and is_person_or_animal(compared.difference.old[-1])
        and is_person_or_animal(compared.difference.new[-1])
    )


def _is_subject_swap(compared: ReadingComparison) -> bool:
    """Whether the swap is in the subject: *a* white dog and *a* black dog are two dogs."""
    words = compared.old.words
    if not words or all(each.words[0] in _POINTING for each in (compared.old, compared.new) if each.words):
        return False
    verb = next((at for at, word in enumerate(words) if at and is_verb(word)), len(words))
    articles = sum(word in ("a", "an", "the") for word in words[:verb])
    return compared.difference.place < verb - articles


def judge_other_thing(case: RuleCase) -> Judgement | None:
    """They begin with two things, such as `patch p27` and `patch p28`."""
    why = find_other_subject(case.compared)
    return case.verdict(Relation.UNRELATED, LIKELY, why) if why else None


def judge_different_counts(case: RuleCase) -> Judgement | None:
    """All is the same except a count or an ordinal."""
    if (
        not case.compared.only(GuardKind.NUMBER, GuardKind.SLOT)
        or GuardKind.NUMBER not in case.compared.guards
        or not case.compared.difference.swapped
    ):
        return None
    one, other = case.compared.old.amounts, case.compared.new.amounts
    is_other = one.counts - other.counts and other.counts - one.counts
    ordinals = {size for dimension, size in (*one.numbers, *other.numbers) if dimension == "ordinal"}
    if not is_other and len(ordinals) < 2:
        return None
    return case.verdict(Relation.CONTRADICTS, LIKELY, case.compared.why(GuardKind.NUMBER))


def judge(old: JudgeStatement, new: JudgeStatement, features: PairFeatures = NOTHING_KNOWN) -> Judgement:
    """Judge how `new` relates to `old`, as far as rules can tell."""
    compared = compare_readings(_parse_statement(old), _parse_statement(new), statements=(old, new))
    case = RuleCase(old=old, new=new, features=features, compared=compared)
    for rule in RULES:
        found = rule(case)
        if found is not None:
            return replace(found, tentative=True) if rule in TENTATIVE else found
    return unsure_judgement(NAME, "No rule fits this pair.", guards=case.compared.guards)


def _parse_statement(statement: JudgeStatement) -> StatementReading:
    """Parse a statement; add the caller's slot if the words give none for that subject and attribute."""
    reading = parse_statement(statement.text, said_at=statement.said_at)
    known = statement.slot
    if known is None or any(slot.place == known.place for slot in reading.slots):
        return reading
    return replace(reading, slots=(*reading.slots, known))


def _judge_same_words(case: RuleCase) -> Judgement | None:
    one, other = case.compared.old, case.compared.new
    if GuardKind.DATE in case.compared.guards:
        return None
    if one.fold == other.fold:
        return case.verdict(Relation.SAME, 1.0, "Both are the same words.")
    if one.gist and one.gist == other.gist and _has_no_guard(case):
        return case.verdict(Relation.SAME, 0.95, "Both say the same words but for those that say nothing.")
    return None


def _has_no_guard(case: RuleCase) -> bool:
    return not case.compared.fired and case.compared.old.whole and case.compared.new.whole


def _judge_dates(case: RuleCase) -> Judgement | None:
    if GuardKind.DATE not in case.compared.guards:
        return None
    days = case.compared.old.amounts.days, case.compared.new.amounts.days
    happened = case.old.event_time, case.new.event_time
    if all(days) or (all(happened) and days[0] == days[1]):
        return case.verdict(Relation.UNRELATED, 0.9, case.compared.why(GuardKind.DATE))
    return None


def _judge_refinement(case: RuleCase) -> Judgement | None:
    if case.compared.fired or case.compared.difference.only_old or len(case.compared.difference.only_new) < 2:
        return None
    return case.verdict(Relation.REFINES, LIKELY, "The new one says all that the old one says, and more.")


def _judge_by_similarity(case: RuleCase) -> Judgement | None:
    """Decide by similarity at its extremes, since nothing in the words does."""
    similarity, bars = case.features.similarity, case.features.bars
    if similarity is None:
        return None
    is_same = bars.same is not None and similarity >= bars.same
    if is_same and _has_no_guard(case) and not _has_swap(case):
        return case.verdict(Relation.SAME, 0.9, f"They are near enough ({similarity:.2f}) and nothing parts them.")
    if bars.check is not None and similarity < bars.check:
        return case.verdict(Relation.UNRELATED, 0.9, f"They are too far apart ({similarity:.2f}).")
    return None


def _has_swap(case: RuleCase) -> bool:
    """Whether one phrase replaces another: vectors cannot tell a synonym from an opposite."""
    found = case.compared.difference
    return found.swapped and set(map(stem, found.old)) != set(map(stem, found.new))


RULES: tuple[Rule, ...] = (
    judge_other_subject,
    _judge_same_words,
    judge_same_slot,
    judge_other_thing,
    judge_partial_denial,
    judge_denial,
    judge_other_slot,
    _judge_dates,
    judge_two_events,
    judge_phrase_swap,
    judge_different_counts,
    _judge_refinement,
    _judge_by_similarity,
)

TENTATIVE: frozenset[Rule] = frozenset({judge_other_subject, judge_other_slot, _judge_dates, judge_two_events})
"""Rules that go by the first words or by days: `Mara took search over` is about search, too."""


def settles_by_label(old: JudgeStatement, new: JudgeStatement, said: Judgement) -> bool:
    """Whether both are written as `label: value`, and the labels differ, or are one of which rules know that it holds
    one value: no reader need guess what they are about."""
    one, other = (_LABEL.match(fold(each.text)) for each in (old, new))
    if one is None or other is None:
        return False
    return one[1] != other[1] or (said.final and said.relation is Relation.UPDATE)


_LABEL = re.compile(r"([^:.!?]{1,100}):\s")


def are_any_of_kind(compared: ReadingComparison) -> bool:
    """Whether they may be about two of a kind: both about any (`A man …`, `Two dogs …`), or both about what someone
    unnamed is just doing. Nothing that is said of one is news about the other."""
    both = compared.old, compared.new
    return all(map(_has_generic_subject, both)) or all(map(_is_scene, both))


def _has_generic_subject(reading: StatementReading) -> bool:
    return bool(reading.words) and (reading.words[0] in _ANY or reading.words[0] in SMALL_NUMBERS)


def _is_scene(reading: StatementReading) -> bool:
    """Whether it says what someone unnamed is just doing: `The man is running`, `There is a dog barking`."""
    words = reading.words
    is_named = reading.names - reading.capitalized or reading.persons & {"i", "you", "we"}
    is_plural = not {"are", "aren't", "were", "weren't"}.isdisjoint(words[1:4])
    if is_named or not (words[:1] == ("the",) or is_plural or _has_generic_subject(reading)):
        return False
    if words[0] == "there":
        return any(map(_is_progressive, words))
    verbs = (skip_adverbs(words, at + 1) for at, word in enumerate(words) if word in COPULAS)
    # One more adverb may stand before the verb: `is slowly walking`.
    return any(map(_is_progressive, (word for at in verbs for word in words[at : at + 2])))


def _is_progressive(word: str) -> bool:
    return word.endswith("ing") and len(word) > LONGEST_NOUN


_ANY = load_words_of_kind("grammar", "anyone")
