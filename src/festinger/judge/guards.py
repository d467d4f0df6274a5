"""What keeps two statements from being the same, however near their words are?

Each guard looks at one thing: numbers, units, days, negation, opposites, quantifiers, names, order. A guard never
says how the statements stand to each other, only that they are not one; that is left to `rules`. All guards look
at both statements alike, so it does not matter which comes first.
"""

from collections import Counter
from dataclasses import dataclass

from festinger.judge.difference import Difference, difference, exclusion, opposition
from festinger.judge.judgement import Guard
from festinger.judge.quantities import PLAIN
from festinger.judge.reading import Reading
from festinger.judge.statement import Slot, Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    guard: Guard
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two readings, where they differ, and which guards that sets off."""

    old: Reading
    new: Reading
    difference: Difference
    fired: tuple[Fired, ...]

    @property
    def guards(self) -> tuple[Guard, ...]:
        return tuple(dict.fromkeys(each.guard for each in self.fired))

    def why(self, guard: Guard) -> str:
        return next((each.why for each in self.fired if each.guard is guard), "")

    @property
    def swap(self) -> str | None:
        """Why the one phrase in which they differ cannot hold beside the other."""
        return opposition(self.difference) or exclusion(self.difference)

    def only(self, *allowed: Guard) -> bool:
        """Whether one of these guards fired, and no other."""
        return bool(self.fired) and set(self.guards) <= set(allowed)


def compare(old: Reading, new: Reading, *, statements: tuple[Statement, Statement] | None = None) -> Compared:
    """The guards that a pair sets off."""
    found = difference(old, new)
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
    return Compared(old=old, new=new, difference=found, fired=fired)


def _number(old: Reading, new: Reading) -> Fired | None:
    one, other = Counter(old.amounts.numbers), Counter(new.amounts.numbers)
    if one == other:
        return None
    only_old, only_new = list((one - other).elements()), list((other - one).elements())
    sizes = {size for _, size in only_old} & {size for _, size in only_new}
    dimensions = {dimension for dimension, _ in [*only_old, *only_new]}
    if sizes and len(dimensions) > 1:
        return Fired(guard=Guard.UNIT, why="The same number has another unit.")
    is_unit = dimensions != {PLAIN} and _same_digits(old, new)
    guard = Guard.UNIT if is_unit else Guard.NUMBER
    return Fired(guard=guard, why=f"The numbers differ: {_said(only_old)} and {_said(only_new)}.")


def _same_digits(old: Reading, new: Reading) -> bool:
    return _digits(old) == _digits(new) != []


def _digits(reading: Reading) -> list[str]:
    return sorted("".join(filter(str.isdigit, word)) for word in reading.words if word[0].isdigit())


def _said(numbers: list[tuple[str, float]]) -> str:
    return ", ".join(f"{size:g} {dimension}".strip() for dimension, size in numbers[:3]) or "none"


def _date(old: Reading, new: Reading, statements: tuple[Statement, Statement] | None) -> Fired | None:
    if old.amounts.days != new.amounts.days:
        return Fired(guard=Guard.DATE, why=f"They name {_days(old)} and {_days(new)}.")
    if statements and all(statement.event_time for statement in statements):
        days = [statement.event_time.date() for statement in statements if statement.event_time]
        if days[0] != days[1]:
            return Fired(guard=Guard.DATE, why=f"They happened on {days[0]} and {days[1]}.")
    if old.tense != new.tense or old.past != new.past:
        return Fired(guard=Guard.DATE, why="They speak of different times.")
    return None


def _days(reading: Reading) -> str:
    return ", ".join(sorted(reading.amounts.days)[:3]) or "no day"


def _negation(old: Reading, new: Reading) -> Fired | None:
    if old.negated == new.negated:
        return None
    return Fired(guard=Guard.NEGATION, why="One says that it is so, the other that it is not.")


def _antonym(found: Difference) -> Fired | None:
    why = opposition(found) or exclusion(found)
    return Fired(guard=Guard.ANTONYM, why=f"{why[0].upper()}{why[1:]}.") if why else None


def _quantifier(old: Reading, new: Reading) -> Fired | None:
    if old.quantifiers == new.quantifiers:
        return None
    differing = ", ".join(sorted(old.quantifiers ^ new.quantifiers))
    return Fired(guard=Guard.QUANTIFIER, why=f"They differ in how much or how surely: {differing}.")


def _name(old: Reading, new: Reading) -> Fired | None:
    only_old, only_new = old.names - set(new.words) - new.names, new.names - set(old.words) - old.names
    if only_old or only_new:
        named = ", ".join(sorted([*only_old, *only_new])[:4])
        return Fired(guard=Guard.NAME, why=f"Only one of them names {named}.")
    if old.persons != new.persons:
        return Fired(guard=Guard.NAME, why="Their pronouns point at different persons.")
    return None


def _order(old: Reading, new: Reading, found: Difference) -> Fired | None:
    if found.only_old or found.only_new:
        return None
    if old.content != new.content:
        return Fired(guard=Guard.ORDER, why="The same words stand in another order.")
    if old.relations != new.relations:
        return Fired(guard=Guard.ORDER, why="The same words stand to each other in another way.")
    return None


def _slot(old: Reading, new: Reading) -> Fired | None:
    found = shared_slot(old, new)
    if found is None or found[0].value == found[1].value:
        return None
    return Fired(
        guard=Guard.SLOT, why=f"Of one attribute they say `{found[0].value}` and `{found[1].value}`."
    )


def shared_slot(old: Reading, new: Reading) -> tuple[Slot, Slot] | None:
    """The slots in which both speak of the same attribute of the same subject."""
    return next(((one, other) for one in old.slots for other in new.slots if one.place == other.place), None)
