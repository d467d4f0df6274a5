"""Compares two readings: where they differ, which guards keep them apart, and how likely they say the same.

Each guard checks one thing: numbers, units, days, negation, opposites, quantifiers, names, order. A guard
only says that the statements are not the same; `decide` says how they relate. All guards are symmetric. A
difference is what is left between the common beginning and end, plus the content words on one side only;
linear in text length.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from festinger.judge.model import GuardKind, JudgeStatement, Slot
from festinger.judge.rules.parse import StatementReading, without_possessive
from festinger.judge.rules.quantities import PLAIN
from festinger.judge.rules.words import find_exclusive_kind, is_opposite, load_words_of_kind
from festinger.text.words import FUNCTION_WORDS

LONGEST_PHRASE = 4
"""Words of a phrase that may be the opposite of another."""

SHORTEST_PLURAL = 5
"""Letters of a word whose final `s` may be that of several: `Thursdays`, and not `AWS`."""

_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True, kw_only=True)
class WordDifference:
    old: tuple[str, ...]
    """The words of the old text between the common beginning and end."""
    new: tuple[str, ...]
    only_old: tuple[str, ...]
    """Stems of content words that the other text lacks."""
    only_new: tuple[str, ...]
    place: int
    """How many words both begin with."""

    @property
    def swapped(self) -> bool:
        """Whether one short phrase replaces another and all else is the same."""
        return 0 < len(self.old) <= LONGEST_PHRASE and 0 < len(self.new) <= LONGEST_PHRASE


def find_difference(old: StatementReading, new: StatementReading) -> WordDifference:
    left, right = _without_articles(old.words), _without_articles(new.words)
    begin = _common(left, right)
    end = _common(left[begin:][::-1], right[begin:][::-1])
    return WordDifference(
        old=left[begin : len(left) - end],
        new=right[begin : len(right) - end],
        only_old=_surplus(old, new),
        only_new=_surplus(new, old),
        place=begin,
    )


def _without_articles(words: Sequence[str]) -> tuple[str, ...]:
    return tuple([word for word in words if word not in _ARTICLES])


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    shorter = min(len(left), len(right))
    return next((at for at in range(shorter) if left[at] != right[at]), shorter)


def _surplus(one: StatementReading, other: StatementReading) -> tuple[str, ...]:
    """Return the stems that one has more often than the other."""
    if len(one.stemmed) == len(one.content):
        return tuple([word for word in one.content if word not in other.stemmed])
    return tuple((Counter(one.content) - Counter(other.content)).elements())


def explain_opposition(found: WordDifference) -> str | None:
    """Return the opposed words, if one is swapped with its opposite."""
    for one, other in _swaps(found):
        if is_opposite(one, other):
            return f"`{one}` stands against `{other}`"
    return None


def has_opposites(old: StatementReading, new: StatementReading) -> bool:
    """Whether a word that only one has is the opposite of one that only the other has."""
    only_old, only_new = ({*one.words} - {*other.words} - FUNCTION_WORDS for one, other in ((old, new), (new, old)))
    return any(is_opposite(one, other) for one in only_old for other in only_new)


def explain_mutually_exclusive_words(found: WordDifference) -> str | None:
    """Return the exclusive kind, if a word is swapped with another of one kind."""
    for one, other in _swaps(found):
        if kind := find_exclusive_kind(one, other):
            return f"`{one}` and `{other}` are of one kind ({kind}), and only one of them holds"
    return None


def _swaps(found: WordDifference) -> Iterator[tuple[str, str]]:
    """Yield the replaced and replacing text: a phrase, or one word wherever it is."""
    if found.swapped:
        yield " ".join(found.old), " ".join(found.new)
    if len(found.only_old) == len(found.only_new) and len(set(found.only_old)) == len(set(found.only_new)) == 1:
        yield found.only_old[0], found.only_new[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardHit:
    guard: GuardKind
    why: str
    soft: bool = False
    """Whether it goes by the form of the words, so that a reader that understands both may overrule it."""


_BY_FORM = frozenset({GuardKind.NEGATION, GuardKind.SLOT})
"""What can be said in other words: `must not have grapes`, and `grapes are off limits`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingComparison:
    """Two readings, where they differ, and the guards that fire."""

    old: StatementReading
    new: StatementReading
    difference: WordDifference
    fired: tuple[GuardHit, ...]

    @property
    def guards(self) -> tuple[GuardKind, ...]:
        return tuple(dict.fromkeys(each.guard for each in self.fired))

    def why(self, guard: GuardKind) -> str:
        return next((each.why for each in self.fired if each.guard is guard), "")

    @property
    def is_denial(self) -> bool:
        """Whether only one of them denies something."""
        return self.old.negated != self.new.negated

    @property
    def sides(self) -> tuple[StatementReading, StatementReading]:
        """Of a denial, the one that denies and the one that states."""
        return (self.old, self.new) if self.old.negated else (self.new, self.old)

    @property
    def swap(self) -> str | None:
        """Why the one phrase in which they differ cannot hold beside the other."""
        return explain_opposition(self.difference) or explain_mutually_exclusive_words(self.difference)

    def find_parting_guard(self, *, sure: bool) -> GuardHit | None:
        """The first guard that a reader may not overrule, or not even one that is `sure`."""
        return next((each for each in self.fired if not each.soft and not (sure and each.guard in _BY_FORM)), None)

    def only(self, *allowed: GuardKind) -> bool:
        """Whether one of these guards fired, and no other."""
        return bool(self.fired) and set(self.guards) <= set(allowed)


def compare_readings(
    old: StatementReading, new: StatementReading, *, statements: tuple[JudgeStatement, JudgeStatement] | None = None
) -> ReadingComparison:
    found = find_difference(old, new)
    fired = tuple(
        each
        for each in (
            _number(old, new),
            _date(old, new, statements),
            _negation(old, new),
            _antonym(found),
            _quantifier(old, new),
            _name(old, new),
            _order(old, new, found),
            _slot(old, new),
        )
        if each is not None
    )
    return ReadingComparison(old=old, new=new, difference=found, fired=_without_cancelled(old, new, fired))


_CANCELLED = frozenset({GuardKind.NEGATION, GuardKind.ANTONYM, GuardKind.ORDER})


def _without_cancelled(
    old: StatementReading, new: StatementReading, fired: tuple[GuardHit, ...]
) -> tuple[GuardHit, ...]:
    """Soften an opposite that is denied (`shut`, `not open`) or turned around (`X taught Y`, `Y learned from X`)."""
    if _CANCELLED.isdisjoint(each.guard for each in fired) or not has_opposites(old, new):
        return fired
    cancelled = set()
    if old.negated != new.negated:
        cancelled |= {GuardKind.NEGATION, GuardKind.ANTONYM}
    one, other = (_participants(each, old.names | new.names) for each in (old, new))
    if len(one) > 1 and one != other and sorted(one) == sorted(other):
        cancelled |= {GuardKind.ORDER, GuardKind.ANTONYM}
    return tuple(replace(each, soft=True) if each.guard in cancelled else each for each in fired)


def _number(old: StatementReading, new: StatementReading) -> GuardHit | None:
    if old.amounts.numbers == new.amounts.numbers:
        return None
    one, other = _without_years(old, new), _without_years(new, old)
    if one == other:
        return None
    only_old, only_new = list((one - other).elements()), list((other - one).elements())
    sizes = {size for _, size in only_old} & {size for _, size in only_new}
    dimensions = {dimension for dimension, _ in [*only_old, *only_new]}
    # Where a unit was not read (`90d`, `floor 3`), the same digits may well mean the same.
    is_unread = PLAIN in dimensions
    if sizes and len(dimensions) > 1:
        return GuardHit(guard=GuardKind.UNIT, why="The same number has another unit.", soft=is_unread)
    is_unit = dimensions != {PLAIN} and _digits(old) == _digits(new) != []
    guard = GuardKind.UNIT if is_unit else GuardKind.NUMBER
    why = f"The numbers differ: {_said(only_old)} and {_said(only_new)}."
    return GuardHit(guard=guard, why=why, soft=is_unit and is_unread)


def _without_years(one: StatementReading, other: StatementReading) -> Counter[tuple[str, float]]:
    """The numbers of one but for years that the other names: `2008 was the year`, and `in 2008`."""
    return Counter(each for each in one.amounts.numbers if f"{each[1]:g}" not in other.amounts.days)


def _digits(reading: StatementReading) -> list[str]:
    return sorted("".join(filter(str.isdigit, word)) for word in reading.words if word[0].isdigit())


def _said(numbers: list[tuple[str, float]]) -> str:
    return ", ".join(f"{size:g} {dimension}".strip() for dimension, size in numbers[:3]) or "none"


def _date(
    old: StatementReading, new: StatementReading, statements: tuple[JudgeStatement, JudgeStatement] | None
) -> GuardHit | None:
    years = {f"{size:g}" for each in (old, new) for _, size in each.amounts.numbers}
    if old.amounts.days - years != new.amounts.days - years:
        return GuardHit(guard=GuardKind.DATE, why=f"They name {_days(old)} and {_days(new)}.")
    if statements and all(statement.event_time for statement in statements):
        days = [statement.event_time.date() for statement in statements if statement.event_time]
        if days[0] != days[1]:
            return GuardHit(guard=GuardKind.DATE, why=f"They happened on {days[0]} and {days[1]}.")
    if old.tense != new.tense or old.past != new.past:
        return GuardHit(guard=GuardKind.DATE, why="They speak of different times.", soft=True)
    return None


def _days(reading: StatementReading) -> str:
    return ", ".join(sorted(reading.amounts.days)[:3]) or "no day"


def _negation(old: StatementReading, new: StatementReading) -> GuardHit | None:
    if old.negations == new.negations:
        return None
    return GuardHit(guard=GuardKind.NEGATION, why="One says that it is so, the other that it is not.")


def _antonym(found: WordDifference) -> GuardHit | None:
    why = explain_opposition(found) or explain_mutually_exclusive_words(found)
    return GuardHit(guard=GuardKind.ANTONYM, why=f"{why[0].upper()}{why[1:]}.") if why else None


def _quantifier(old: StatementReading, new: StatementReading) -> GuardHit | None:
    if old.quantifiers == new.quantifiers:
        return None
    differing = ", ".join(sorted(old.quantifiers ^ new.quantifiers))
    return GuardHit(guard=GuardKind.QUANTIFIER, why=f"They differ in how much or how surely: {differing}.", soft=True)


def _name(old: StatementReading, new: StatementReading) -> GuardHit | None:
    only_old, only_new = _unnamed(old.names, new), _unnamed(new.names, old)
    if only_old or only_new:
        named = ", ".join(sorted([*only_old, *only_new])[:4])
        firsts = old.capitalized - set(new.words), new.capitalized - set(old.words)
        is_guess = only_old | only_new <= old.capitalized | new.capitalized and not all(firsts)
        return GuardHit(guard=GuardKind.NAME, why=f"Only one of them names {named}.", soft=is_guess)
    if old.persons != new.persons:
        return GuardHit(guard=GuardKind.NAME, why="Their pronouns point at different persons.", soft=True)
    return None


def _unnamed(names: frozenset[str], other: StatementReading) -> frozenset[str]:
    """Return the names that the other lacks, also as one of several (`on Thursdays`)."""
    if not names:
        return names
    said = {_singular(word) for word in (*other.words, *other.names)}
    return frozenset(name for name in names if _singular(name) not in said)


def _singular(word: str) -> str:
    return word.removesuffix("s") if len(word) >= SHORTEST_PLURAL else word


def _order(old: StatementReading, new: StatementReading, found: WordDifference) -> GuardHit | None:
    if _has_swapped_names(old, new):
        return GuardHit(guard=GuardKind.ORDER, why="The same names stand in another order.")
    if found.only_old or found.only_new:
        return None
    if old.content != new.content:
        return GuardHit(guard=GuardKind.ORDER, why="The same words stand in another order.", soft=True)
    if old.relations != new.relations:
        return GuardHit(guard=GuardKind.ORDER, why="The same words stand to each other in another way.", soft=True)
    return None


def _has_swapped_names(old: StatementReading, new: StatementReading) -> bool:
    """Whether two names change places, and nothing says that the verb is turned around too: `by`, `from` or a
    possessive on one side."""
    names = old.names | new.names
    if len(names) < 2:
        return False
    one, other = (_participants(each, names) for each in (old, new))
    return one != other and sorted(one) == sorted(other) and _turns(old) == _turns(new)


def _participants(reading: StatementReading, names: frozenset[str]) -> list[str]:
    """Return the names in order, without those of places and times (`in Lyon`)."""
    words = [without_possessive(word) for word in reading.words]
    named = [word for before, word in zip(["", *words], words, strict=False) if before not in _WHERE]
    return list(dict.fromkeys(word for word in named if word in names))


def _turns(reading: StatementReading) -> int:
    return sum(word in _TURNING or word.endswith("'s") for word in reading.words)


_WHERE = load_words_of_kind("grammar", "where")
_TURNING = load_words_of_kind("grammar", "turning")


def _slot(old: StatementReading, new: StatementReading) -> GuardHit | None:
    found = find_shared_slot(old, new)
    if found is None or found[0].value == found[1].value:
        return None
    return GuardHit(guard=GuardKind.SLOT, why=f"Of one attribute they say `{found[0].value}` and `{found[1].value}`.")


def find_shared_slot(old: StatementReading, new: StatementReading) -> tuple[Slot, Slot] | None:
    """Return the slots in which both are about the same attribute of the same subject."""
    return next(((one, other) for one in old.slots for other in new.slots if one.place == other.place), None)
