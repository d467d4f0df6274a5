"""What must be so in one space after some operations, as plain dictionaries.

It knows a closed vocabulary only: words that name their thing, an attribute of it and a value, in two wordings that
plainly say the same. Ids are those that the memory gave. What nobody promises is asked of the memory instead of
foreseen: which of two memories that say the same stays when they are merged.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum


class Holds(StrEnum):
    """How many values an attribute has."""

    ONE = "one at a time"
    FIXED = "one for good"
    MANY = "many"


class Relation(StrEnum):
    SAME = "same"
    UPDATE = "update"
    CONTRADICTS = "contradicts"
    UNRELATED = "unrelated"


@dataclass(frozen=True, slots=True, repr=False)
class Words:
    text: str
    thing: str
    attribute: str
    value: str
    holds: Holds

    def __repr__(self) -> str:
        return repr(self.text)

    @property
    def folded(self) -> str:
        """What two texts share that differ in case and the full stop alone."""
        return _folded(self.text)


def _folded(text: str) -> str:
    return text.casefold().rstrip(".")


def _vocabulary() -> Iterator[Words]:
    servers, people = ("billing server", "mail server"), ("Ada", "Boris")
    for thing in servers:
        for attribute, values in {"port": ("8080", "9090", "7070"), "owner": ("Tom", "Zoe")}.items():
            for value in values:
                for text in (f"The {attribute} of the {thing} is {value}", f"The {thing}'s {attribute} is {value}"):
                    yield Words(text, thing, attribute, value, Holds.ONE)
    for thing in people:
        for value in ("1980", "1985", "1990"):
            for text in (f"The birth year of {thing} is {value}", f"{thing}'s birth year is {value}"):
                yield Words(text, thing, "birth year", value, Holds.FIXED)
        for value in ("Oslo", "Rome"):
            for text in (f"{thing} lives in {value}", f"{thing} resides in {value}"):
                yield Words(text, thing, "home", value, Holds.ONE)
        for value in ("chess", "rowing"):
            for text in (f"{thing} likes {value}", f"{thing} likes {value}."):
                yield Words(text, thing, "taste", value, Holds.MANY)


VOCABULARY = tuple(_vocabulary())


class State(StrEnum):
    ACTIVE = "active"
    HELD = "held"
    SUPERSEDED = "superseded"
    MERGED = "merged"
    ARCHIVED = "archived"


LIVE = (State.ACTIVE, State.HELD)


@dataclass(frozen=True, slots=True)
class Fact:
    id: str
    born: int
    words: Words
    state: State = State.ACTIVE
    successor: str | None = None
    since: int = 0
    """The step at which it was replaced last."""
    said: frozenset[str] = frozenset()
    """All its wordings so far."""
    wiped: bool = False
    """Whether its words went because they were those of something that was forgotten."""


@dataclass(slots=True)
class Change:
    """What one change left behind: which columns of which facts, before and after."""

    kind: str
    before: dict[str, Fact]
    after: dict[str, Fact]
    learned: bool = False
    """Whether the new fact came with it and goes when it is undone."""
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """What a person said of two facts; it holds for their words until one of the facts is forgotten."""

    relation: Relation
    about: frozenset[str]


@dataclass(slots=True)
class Dispute:
    old: str
    new: str
    decision: str | None = None
    before: dict[str, Fact] = field(default_factory=dict)
    after: dict[str, Fact] = field(default_factory=dict)
    known: "Said | None" = None
    """What people had said of the pair before."""


Survivor = Callable[[str, str], str]
"""Tells which of two merged facts stayed."""


@dataclass(slots=True)
class Verdict:
    """What a statement is to the facts there are."""

    same: list[Fact]
    opposed: list[Fact]
    replaced: list[Fact]


class Blocked(Exception):
    """Something was done since that stands on it."""


class Taken(Exception):
    """Another fact that lives has the same words by now."""


class Reference:
    """One space."""

    def __init__(self) -> None:
        self.facts: dict[str, Fact] = {}
        self.changes: dict[str, Change] = {}
        self.disputes: dict[str, Dispute] = {}
        self.keys: dict[str, tuple[Words, str | None, dict[str, object]]] = {}
        self.forgotten: set[str] = set()
        """Texts that were erased, even if they were said again since."""
        self.said: dict[tuple[str, str], Said] = {}
        """What people said of two texts."""
        self.step = 0

    def in_state(self, *states: State) -> list[Fact]:
        return [fact for fact in self.facts.values() if fact.state in states]

    def standing(self, *states: State) -> list[Fact]:
        """The facts in these states that have words."""
        return [fact for fact in self.in_state(*states) if not fact.wiped]

    def unsaid(self) -> list[str]:
        """Texts that were erased and not said again."""
        said = {_folded(text) for fact in self.facts.values() if not fact.wiped for text in fact.said}
        return sorted(text for text in self.forgotten if _folded(text) not in said)

    def wiped(self, ids: Iterable[str]) -> bool:
        return any(self.facts[each].wiped for each in ids if each in self.facts)

    def open_disputes(self) -> dict[str, Dispute]:
        return {id_: each for id_, each in self.disputes.items() if each.decision is None}

    def put(self, id_: str, state: State, *, successor: str | None = None) -> None:
        self.facts[id_] = replace(self.facts[id_], state=state, successor=successor, since=self.step)

    def relation(self, old: Words, new: Words) -> Relation:
        if said := self.said.get((old.folded, new.folded)):
            return said.relation
        if (old.thing, old.attribute) != (new.thing, new.attribute):
            return Relation.UNRELATED
        if old.value == new.value:
            return Relation.SAME
        return {Holds.ONE: Relation.UPDATE, Holds.FIXED: Relation.CONTRADICTS, Holds.MANY: Relation.UNRELATED}[
            new.holds
        ]

    def judge(self, words: Words, facts: Iterable[Fact]) -> Verdict:
        """What decides, in this order: the same words, the same fact, a contradiction, an update."""
        live = [fact for fact in facts if fact.state in LIVE]
        twins = [fact for fact in live if fact.words.folded == words.folded]
        found = [(fact, self.relation(fact.words, words)) for fact in live]
        same = twins or [fact for fact, relation in found if relation is Relation.SAME]
        active = [each for each in found if each[0].state is State.ACTIVE]
        return Verdict(
            same=[fact for fact in same if fact.state is State.ACTIVE] or same,
            opposed=[fact for fact, relation in active if relation is Relation.CONTRADICTS],
            replaced=[fact for fact, relation in active if relation is Relation.UPDATE],
        )

    def add(self, id_: str, words: Words, verdict: Verdict, change: str | None) -> None:
        """A statement became a fact of its own."""
        self.facts[id_] = Fact(id_, self.step, words, said=frozenset({words.text}))
        self._carry_out(id_, verdict, change, learned=True)

    def confirm(self, id_: str, words: Words) -> None:
        """A statement said again what a fact says."""
        self.facts[id_] = replace(self.facts[id_], said=self.facts[id_].said | {words.text})

    def _carry_out(self, id_: str, verdict: Verdict, change: str | None, *, learned: bool) -> None:
        if verdict.opposed:
            self.put(id_, State.HELD)
            for each in verdict.opposed:
                self.disputes[f"new {each.id} {id_}"] = Dispute(each.id, id_)
        elif verdict.replaced:
            self.replace(id_, [each.id for each in verdict.replaced], change, learned=learned)

    def replace(self, new: str, olds: list[str], change: str | None, *, learned: bool = False) -> None:
        before = {each: self.facts[each] for each in (new, *olds)}
        for old in olds:
            self.put(old, State.SUPERSEDED, successor=new)
        after = {each: self.facts[each] for each in (new, *olds)}
        if change:
            self.changes[change] = Change("supersede", before, after, learned=learned)

    def compare_anew(self, id_: str, survivor: Survivor) -> None:
        """What follows once a fact was edited or is active again: it is compared with all that came before it."""
        fact = self.facts[id_]
        if fact.state is not State.ACTIVE:
            return
        others = [each for each in self.facts.values() if each.id != id_ and each.state in LIVE]
        twins = [each for each in others if each.words.folded == fact.words.folded]
        verdict = self.judge(fact.words, twins or [each for each in others if each.born < fact.born])
        if not verdict.same:
            self._carry_out(id_, verdict, None, learned=False)
        elif any(each.state is State.ACTIVE for each in verdict.same):
            self.merge(id_, [each.id for each in verdict.same], survivor)

    def merge(self, one: str, others: list[str], survivor: Survivor) -> None:
        stays, other = next(
            (stays, other) for other in others for stays in [survivor(one, other)] if stays in (one, other)
        )
        self.put(other if stays == one else one, State.MERGED, successor=stays)

    def mark(self, change: str | None, kind: str, before: Fact) -> None:
        if change:
            self.changes[change] = Change(kind, {before.id: before}, {before.id: self.facts[before.id]})

    def check_free(self, facts: Iterable[Fact]) -> None:
        """Raise `Taken` if one of these could not live because another does in its words."""
        for fact in facts:
            twins = [each for each in self.in_state(*LIVE) if each.words.folded == fact.words.folded]
            if fact.state in LIVE and any(each.id != fact.id for each in twins):
                raise Taken

    def undo(self, id_: str, survivor: Survivor) -> None:
        """Take a change back. Raises `Blocked`, `Taken`."""
        change = self.changes[id_]
        if not change.after.keys() & self.facts.keys():
            raise Blocked
        if change.undone:
            return
        is_edit = change.kind == "edit"
        self._check_as_left(change.after, words=is_edit)
        now = self.facts
        back = [(now[id_], before) for id_, before in change.before.items()]
        self.check_free(
            replace(fact, words=before.words) if is_edit else replace(before, words=fact.words) for fact, before in back
        )
        change.undone = True
        if is_edit:
            for fact, before in back:
                now[fact.id] = replace(fact, words=before.words)
                self.compare_anew(fact.id, survivor)
            return
        self._put_back(change.before)
        if change.kind == "supersede":
            self._keep_apart(change)

    def _keep_apart(self, change: Change) -> None:
        """The same pair is not replaced again; what was learned with it goes."""
        new, *olds = change.after
        if change.learned and self.facts[new].state is State.ACTIVE:
            self.put(new, State.ARCHIVED)
        for old in olds:
            self.say(old, new, Relation.UNRELATED)

    def say(self, old: str, new: str, relation: Relation) -> None:
        pair = self.facts[old].words.folded, self.facts[new].words.folded
        self.said[pair] = Said(relation, frozenset({old, new}))

    def _check_as_left(self, after: dict[str, Fact], *, words: bool = False) -> None:
        for id_, left in after.items():
            now = self.facts.get(id_)
            if now is None or (now.words != left.words if words else _state(now) != _state(left)):
                raise Blocked

    def _put_back(self, before: dict[str, Fact]) -> None:
        for id_, fact in before.items():
            self.facts[id_] = replace(self.facts[id_], state=fact.state, successor=fact.successor, since=fact.since)

    def forget(self, id_: str) -> set[str]:
        """What goes with a fact: what it was merged with, and what lives in the same words."""
        gone = {id_}
        while more := {each.id for each in self.facts.values() if self._goes_with(each, gone)} - gone:
            gone |= more
        return gone

    def _goes_with(self, fact: Fact, gone: set[str]) -> bool:
        texts = {self.facts[each].words.folded for each in gone}
        into = {self.facts[each].successor for each in gone if self.facts[each].state is State.MERGED}
        is_merged = fact.id in into or (fact.state is State.MERGED and fact.successor in gone)
        return is_merged or (fact.state in LIVE and fact.words.folded in texts)

    def twins_of(self, gone: set[str]) -> list[Fact]:
        """Other facts in words that are forgotten with these."""
        texts = {_folded(text) for each in gone for text in self.facts[each].said}
        return [fact for fact in self.facts.values() if fact.id not in gone and fact.words.folded in texts]

    def erase(self, gone: set[str]) -> None:
        for twin in self.twins_of(gone):
            self.facts[twin.id] = replace(twin, wiped=True)
        for each in gone:
            self.forgotten |= self.facts.pop(each).said
        for fact in list(self.facts.values()):
            if fact.successor in gone:
                self.put(fact.id, State.ARCHIVED)
        self.disputes = {id_: each for id_, each in self.disputes.items() if not {each.old, each.new} & gone}
        self.keys = {key: kept for key, kept in self.keys.items() if kept[2]["memory"] not in gone}
        self.said = {pair: said for pair, said in self.said.items() if not said.about & gone}

    def settle(self, id_: str, decision: str, survivor: Survivor) -> bool:
        """Decide a dispute; false if one of the two is not there to decide about any more."""
        dispute = self.disputes[id_]
        old, new = self.facts[dispute.old], self.facts[dispute.new]
        if (old.state, new.state) != (State.ACTIVE, State.HELD):
            return False
        pair = old.words.folded, new.words.folded
        dispute.decision, dispute.known = decision, self.said.get(pair)
        dispute.before = {old.id: old, new.id: new}
        if relation := DECIDED.get(decision):
            self.say(old.id, new.id, relation)
        if decision in ("dismiss", "neither"):
            self.put(new.id, State.ARCHIVED)
        else:
            self.put(new.id, State.ACTIVE)
        if decision == "neither":
            self.put(old.id, State.ARCHIVED)
        elif decision == "update":
            self.put(old.id, State.SUPERSEDED, successor=new.id)
        elif decision == "same":
            self.merge(new.id, [old.id], survivor)
        dispute.after = {each: self.facts[each] for each in (old.id, new.id)}
        self.compare_anew(new.id, survivor)
        return True

    def reopen(self, id_: str) -> None:
        """Take a decision back. Raises `Blocked`, `Taken`."""
        dispute = self.disputes[id_]
        self._check_as_left(
            {each: left for each, left in dispute.after.items() if dispute.before[each].state is not left.state}
        )
        self.check_free(replace(fact, words=self.facts[id_].words) for id_, fact in dispute.before.items())
        self._put_back(dispute.before)
        dispute.decision = None
        pair = self.facts[dispute.old].words.folded, self.facts[dispute.new].words.folded
        self.said.pop(pair, None)
        if dispute.known:
            self.said[pair] = dispute.known

    def end_of(self, id_: str) -> str:
        while successor := self.facts[id_].successor:
            id_ = successor
        return id_

    def history_of(self, id_: str) -> list[str]:
        """A fact, and all that it replaced."""
        found = [id_]
        for each in found:
            found += [fact.id for fact in self.facts.values() if fact.successor == each]
        return sorted(found)


DECIDED = {
    "update": Relation.UPDATE,
    "dismiss": Relation.CONTRADICTS,
    "same": Relation.SAME,
    "both": Relation.UNRELATED,
}


def _state(fact: Fact) -> tuple[State, str | None, int]:
    # Since when it stands counts only for what was replaced.
    return fact.state, fact.successor, fact.since if fact.successor else 0
