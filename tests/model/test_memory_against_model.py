"""The whole memory, step by step, against plain dictionaries that say what must be so.

Each step is one operation on one of two spaces, by one of two processes that share a database. After each step the
other process is asked: facts, their states and successors, open conflicts and counts are what the model says; what a
fact says finds it, and what was replaced, held or forgotten is not recalled.
"""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar, Protocol

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from tests import database
from tests.model.door import SPACES, Door, opened
from tests.model.reference import DECIDED, LIVE, VOCABULARY, Blocked, Change, Fact, Reference, State, Taken, Words
from tests.runtime.server import given

ANY = st.integers(0, 2**16)
"""Chooses among what there is by then: the same number means the same choice, which keeps failing stories short."""


CUT = re.compile(r"^\[forgotten\]\.?$")
"""What is left of a text whose words were forgotten."""


class Hand(Protocol):
    """A process that uses the memory."""

    def ask(self, operation: str, **arguments: Any) -> Any: ...

    def close(self) -> None: ...


class OwnHand:
    """An app within this process."""

    def __init__(self, runner: asyncio.Runner, url: str, settings: Mapping[str, Any]) -> None:
        self._runner = runner
        self._stack = AsyncExitStack()
        self._door: Door = runner.run(self._stack.enter_async_context(opened(url, settings)))

    def ask(self, operation: str, **arguments: Any) -> Any:
        return json.loads(json.dumps(self._runner.run(self._door.ask(operation, arguments))))

    def close(self) -> None:
        self._runner.run(self._stack.aclose())


class OtherProcess:
    """A process of its own, which opens the memory again for each hand."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.model.door"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def hand(self, _runner: asyncio.Runner, url: str, settings: Mapping[str, Any]) -> Hand:
        self._write([url, settings])
        return self

    def ask(self, operation: str, **arguments: Any) -> Any:
        self._write([operation, arguments])
        return self._read()

    def close(self) -> None:
        self._write([])
        assert self._read() == "closed"

    def end(self) -> int:
        self._process.communicate()
        return self._process.returncode

    def _write(self, line: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


class MemoryMachine(RuleBasedStateMachine):
    """One memory and its model."""

    run_folder: ClassVar[Path]
    folder: ClassVar[Path]
    hands_of: ClassVar[tuple[Callable[..., Hand], ...]] = (OwnHand, OwnHand)
    embedder: ClassVar[str] = "hashed:64"
    told_of: ClassVar[int] = 0
    """Steps of all stories so far."""

    def __init__(self) -> None:
        super().__init__()
        self.story: list[str] = []
        self.runner = asyncio.Runner()
        self.url = database.clone(self.run_folder)
        self.hands: list[Hand] = []
        self.models = {space: Reference() for space in SPACES}
        self.step = 0
        self.names: dict[str, str] = {}

    @initialize()
    def open(self) -> None:
        for make in self.hands_of:
            self.hands.append(self.make(make))

    def make(self, make: Callable[..., Hand]) -> Hand:
        return make(self.runner, self.url, given(self.folder, model=self.embedder))

    def teardown(self) -> None:
        if hypothesis.currently_in_test_context():
            hypothesis.note("\n".join(["The story:", *self.story]))
        try:
            for hand in self.hands:
                hand.close()
        finally:
            self.runner.close()
            database.drop(self.run_folder, self.url)

    # One step

    def ask(self, hand: int, space: str, operation: str, **arguments: Any) -> Any:
        """Do one operation and tell of it."""
        self.step += 1
        type(self).told_of += 1
        for model in self.models.values():
            model.step = self.step
        shown = " ".join(f"{name}={self.shown(value)}" for name, value in arguments.items() if value is not None)
        self.story.append(f"{self.step:3}. [{space}, {'AB'[hand]}] {operation} {shown}")
        answer = self.hands[hand].ask(operation, space=space, **arguments)
        brief = {name: value for name, value in answer.items() if value} if isinstance(answer, dict) else answer
        self.story[-1] += f" -> {self.shown(brief)}"
        return answer

    def shown(self, value: Any) -> str:
        """A value with short names in place of ids."""
        text = value if isinstance(value, str) else json.dumps(value)
        return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", self.short, text)

    def short(self, found: re.Match[str]) -> str:
        """A short name of what an id names: the same in every story."""
        return self.names.setdefault(found[0], f"<{len(self.names) + 1}>")

    def check(self, hand: int, space: str, touched: str | None = None) -> None:
        """Compare what the other process sees with the model."""
        asked, model = self.hands[1 - hand], self.models[space]
        found = asked.ask("facts", space=space)
        assert {each["id"]: (each["status"], each["successor"], CUT.sub("", each["content"])) for each in found} == {
            each.id: (each.state.value, each.successor, "" if each.wiped else each.words.text)
            for each in model.facts.values()
        }, self.told()
        assert not [each for each in found if each["pending"]], "rules decide all of this vocabulary"
        self.check_disputes(asked, space)
        assert asked.ask("held", space=space) == len(model.in_state(State.HELD))
        if touched in model.facts and not model.facts[touched].wiped:
            self.check_fact(asked, space, model.facts[touched])
        for text in model.unsaid()[-2:]:
            self.check_recall(asked, space, text, None)
        other = next(each for each in SPACES if each != space)
        seen = {each["id"] for each in asked.ask("facts", space=other)}
        assert seen == set(self.models[other].facts), f"{other} is another space"

    def check_disputes(self, asked: Hand, space: str) -> None:
        model = self.models[space]
        waiting = {(old, new): id_ for old, new, id_ in asked.ask("conflicts", space=space)}
        assert set(waiting) == {(each.old, each.new) for each in model.open_disputes().values()}, self.told()
        model.disputes = {
            waiting[each.old, each.new] if each.decision is None else id_: each for id_, each in model.disputes.items()
        }

    def check_fact(self, asked: Hand, space: str, fact: Fact) -> None:
        model = self.models[space]
        history = asked.ask("history", space=space, id=fact.id)
        assert history["memories"] == model.history_of(fact.id)
        assert not [text for text in model.unsaid() if text in history["words"]], "forgotten words are in a history"
        assert asked.ask("current", space=space, id=fact.id) == model.end_of(fact.id)
        assert asked.ask("why", space=space, id=fact.id)["superseded_by"] == fact.successor
        self.check_recall(asked, space, fact.words.text, fact)

    def check_recall(self, asked: Hand, space: str, cue: str, fact: Fact | None) -> None:
        model = self.models[space]
        items = asked.ask("recall", space=space, cue=cue)
        for id_, text, disputed in items:
            found = model.facts.get(id_)
            assert found is not None, f"{text!r} is recalled"
            assert found.words.text == text, self.told()
            is_truth = found.state is State.ACTIVE or (found.state is State.HELD and disputed)
            assert is_truth, f"{text!r}, which is {found.state}, is recalled as if it were so"
        if fact is not None and fact.state is State.ACTIVE:
            # Of several values of one attribute the newer may come first. Not right yet: a fact comes first, too, whose
            # predecessors come nearer to what is asked for.
            before = [model.facts[id_] for id_, _, _ in items]
            assert fact.words.folded in {each.words.folded for each in before}, f"{cue!r} is not recalled"
            for ahead in takewhile(lambda each: each.words.folded != fact.words.folded, before):
                has_replaced = len(model.history_of(ahead.id)) > 1
                is_near = has_replaced or ahead.words.attribute == fact.words.attribute
                assert is_near, f"{ahead.words} comes before {cue!r}"

    def told(self) -> str:
        return f"after {self.story[-1]}"

    def survivor(self, hand: int, space: str) -> Callable[[str, str], str]:
        """Which of two facts was not merged into the other."""
        found = {each["id"]: each for each in self.hands[hand].ask("facts", space=space)}

        def chosen(one: str, other: str) -> str:
            if found[one]["status"] == "merged":
                return str(found[one]["successor"])
            return one if found[other]["successor"] == one else ""

        return chosen

    def some(self, space: str, number: int, *states: State) -> Fact:
        facts = self.models[space].standing(*states)
        return facts[number % len(facts)]

    # The operations

    @rule(hand=st.integers(0, 1), space=st.sampled_from(SPACES), words=st.sampled_from(VOCABULARY), names=st.booleans())
    def learn(self, hand: int, space: str, words: Words, names: bool) -> None:
        self.say(hand, space, words, subject=words.thing if names else None)

    @rule(hand=st.integers(0, 1), number=ANY, again=ANY)
    def learn_of_what_is_known(self, hand: int, number: int, again: int) -> None:
        """Say something of an attribute that is known: the same, or another value."""
        facts = self.models["main"].standing(*State)
        if facts:
            words = facts[number % len(facts)].words
            near = [each for each in VOCABULARY if (each.thing, each.attribute) == (words.thing, words.attribute)]
            self.say(hand, "main", near[again % len(near)])

    def say(self, hand: int, space: str, words: Words, *, subject: str | None = None, key: str | None = None) -> None:
        model = self.models[space]
        answer = self.ask(hand, space, "learn", text=words.text, subject=subject, key=key)
        verdict = model.judge(words, model.facts.values())
        assert "error" not in answer, self.told()
        if verdict.same:
            assert answer["memory"] in {each.id for each in verdict.same}, self.told()
            model.confirm(answer["memory"], words)
            action = "confirmed" if verdict.same[0].state is State.ACTIVE else "conflicted"
        else:
            action = "conflicted" if verdict.opposed else "superseded" if verdict.replaced else "stored"
            assert answer["memory"] not in model.facts, self.told()
            replaced = [] if verdict.opposed else verdict.replaced
            assert answer["superseded"] == sorted(each.id for each in replaced), self.told()
            model.add(answer["memory"], words, verdict, answer["change"])
        assert answer["action"] == action, self.told()
        if key:
            model.keys[key] = words, subject, answer
        self.check(hand, space, answer["memory"])

    @rule(hand=st.integers(0, 1), words=st.sampled_from(VOCABULARY), key=st.sampled_from(["k1", "k2"]))
    def learn_with_a_key(self, hand: int, words: Words, key: str) -> None:
        model = self.models["main"]
        if key not in model.keys:
            self.say(hand, "main", words, key=key)
            return
        known, subject, first = model.keys[key]
        again = self.ask(hand, "main", "learn", text=known.text, subject=subject, key=key)
        assert again == first, self.told()
        if words.text != known.text:
            refused = self.ask(hand, "main", "learn", text=words.text, subject=subject, key=key)
            assert refused == {"error": "replayed"}, self.told()
        self.check(hand, "main")

    @precondition(lambda self: self.models["main"].standing(State.ACTIVE))
    @rule(hand=st.integers(0, 1), number=ANY, again=ANY)
    def edit(self, hand: int, number: int, again: int) -> None:
        model, fact = self.models["main"], self.some("main", number, State.ACTIVE)
        words = self.edits(model, fact)
        if words:
            self.edit_to(hand, self.models["main"].standing(*State).index(fact), words[again % len(words)])

    def edit_to(self, hand: int, number: int, chosen: Words) -> None:
        model, fact = self.models["main"], self.some("main", number, *State)
        reworded = replace(fact, words=chosen, said=fact.said | {chosen.text})
        change = self.ask(hand, "main", "edit", id=fact.id, content=reworded.words.text)
        if self.is_taken(change, reworded):
            return
        model.facts[fact.id] = reworded
        model.mark(change, "edit", fact)
        model.compare_anew(fact.id, self.survivor(hand, "main"))
        self.check(hand, "main", fact.id)

    def is_taken(self, answer: Any, fact: Fact) -> bool:
        """Whether the memory rightly refused what would be a second fact in the same words."""
        try:
            self.models["main"].check_free([fact])
        except Taken:
            assert answer == {"error": "refused"}, self.told()
            return True
        assert isinstance(answer, str), self.told()
        return False

    def edits(self, model: Reference, fact: Fact) -> list[Words]:
        """Other words of the same thing.

        Not right yet: a conflict stays open when the words of one side are edited, whatever it says then, and the
        other side comes to mind in its place.
        """
        if any(fact.id in (each.old, each.new) for each in model.open_disputes().values()):
            return []
        return [each for each in VOCABULARY if each.thing == fact.words.thing and each.text != fact.words.text]

    @precondition(lambda self: self.models["main"].standing(*LIVE))
    @rule(hand=st.integers(0, 1), number=ANY)
    def archive(self, hand: int, number: int) -> None:
        fact = self.some("main", number, *LIVE)
        change = self.ask(hand, "main", "archive", id=fact.id)
        self.models["main"].put(fact.id, State.ARCHIVED)
        self.models["main"].mark(change, "archive", fact)
        self.check(hand, "main", fact.id)

    @precondition(lambda self: self.models["main"].standing(State.ARCHIVED, State.SUPERSEDED))
    @rule(hand=st.integers(0, 1), number=ANY)
    def restore(self, hand: int, number: int) -> None:
        model, fact = self.models["main"], self.some("main", number, State.ARCHIVED, State.SUPERSEDED)
        change = self.ask(hand, "main", "restore", id=fact.id)
        if self.is_taken(change, replace(fact, state=State.ACTIVE)):
            return
        model.put(fact.id, State.ACTIVE)
        model.mark(change, "restore", fact)
        model.compare_anew(fact.id, self.survivor(hand, "main"))
        self.check(hand, "main", fact.id)

    @precondition(lambda self: self.models["main"].standing(*State))
    @rule(hand=st.integers(0, 1), one=ANY, other=ANY)
    def supersede(self, hand: int, one: int, other: int) -> None:
        """Replace a fact by hand by another of its attribute; across attributes it would be found by both."""
        model, old = self.models["main"], self.some("main", one, *State)
        place = old.words.thing, old.words.attribute
        facts = [each for each in model.standing(*State) if (each.words.thing, each.words.attribute) == place]
        new = facts[other % len(facts)]
        answer = self.ask(hand, "main", "supersede", old=old.id, new=new.id)
        if old.state not in LIVE:
            assert answer is None, self.told()
        elif old is new or new.state is not State.ACTIVE:
            assert answer == {"error": "refused"}, self.told()
        else:
            model.replace(new.id, [old.id], answer)
        self.check(hand, "main", old.id)

    @precondition(lambda self: self.models["main"].changes)
    @rule(hand=st.integers(0, 1), number=st.one_of(st.just(-1), ANY))
    def undo(self, hand: int, number: int) -> None:
        model = self.models["main"]
        changes = [id_ for id_, each in model.changes.items() if self.is_for_undo(model, each)]
        if not changes:
            return
        change = changes[number % len(changes)]
        answer = self.ask(hand, "main", "undo", change=change)
        try:
            model.undo(change, self.survivor(hand, "main"))
        except Blocked:
            assert answer in ({"error": "undo_blocked"}, {"error": "not_found"}), self.told()
        except Taken:
            assert answer == {"error": "refused"}, self.told()
        else:
            assert answer == change, self.told()
        self.check(hand, "main", next(iter(model.changes[change].after)))

    def is_for_undo(self, model: Reference, change: Change) -> bool:
        """Whether a change may be undone here.

        Not right yet: words that come back while their fact is put away are compared at some later time, when another
        fact is replaced.
        """
        is_away = any(model.facts[each].state not in LIVE for each in change.after if each in model.facts)
        return not model.wiped(change.after) and not (change.kind == "edit" and is_away)

    @precondition(lambda self: any(model.facts for model in self.models.values()))
    @rule(hand=st.integers(0, 1), space=st.sampled_from(SPACES), number=ANY)
    def forget(self, hand: int, space: str, number: int) -> None:
        model = self.models[space]
        if not model.standing(*State):
            return
        fact = self.some(space, number, *State)
        gone = model.forget(fact.id)
        # Not right yet: a fact that lives loses its words, and stays, when one is forgotten that was said in these words
        # too, but is kept in others.
        if any(each.state in LIVE for each in model.twins_of(gone)):
            return
        answer = self.ask(hand, space, "forget", id=fact.id)
        assert answer == sorted(gone), self.told()
        model.erase(gone)
        self.check(hand, space)

    @precondition(lambda self: self.models["main"].open_disputes())
    @rule(hand=st.integers(0, 1), number=ANY, decision=st.sampled_from([*DECIDED, "neither"]))
    def settle(self, hand: int, number: int, decision: str) -> None:
        model, waiting = self.models["main"], list(self.models["main"].open_disputes())
        conflict = waiting[number % len(waiting)]
        dispute = model.disputes[conflict]
        answer = self.ask(hand, "main", "settle", conflict=conflict, decision=decision)
        if model.settle(conflict, decision, self.survivor(hand, "main")):
            assert answer == ("dismissed" if decision == "dismiss" else "resolved"), self.told()
        else:
            assert answer == {"error": "stale"}, self.told()
        self.check(hand, "main", dispute.new)

    @precondition(lambda self: any(each.decision for each in self.models["main"].disputes.values()))
    @rule(hand=st.integers(0, 1), number=ANY)
    def reopen(self, hand: int, number: int) -> None:
        model = self.models["main"]
        decided = [id_ for id_, each in model.disputes.items() if each.decision and not model.wiped(each.after)]
        if not decided:
            return
        conflict = decided[number % len(decided)]
        answer = self.ask(hand, "main", "reopen", conflict=conflict)
        try:
            model.reopen(conflict)
        except Blocked:
            assert answer == {"error": "undo_blocked"}, self.told()
        except Taken:
            assert answer == {"error": "refused"}, self.told()
        else:
            assert answer == "pending", self.told()
        self.check(hand, "main", model.disputes[conflict].new)

    @rule(hand=st.integers(0, 1))
    def restart(self, hand: int) -> None:
        self.story.append(f"     [{'AB'[hand]}] restarts")
        self.hands[hand].close()
        self.hands[hand] = self.make(self.hands_of[hand])
        self.check(1 - hand, "main")


EXPLORES = not hypothesis.settings().derandomize
LONGER = 20
"""Times as many stories as other tests try inputs, where new ones are looked for: hours."""


def stories(examples: int, steps: int) -> hypothesis.settings:
    """A few short stories, or long ones for as long as anybody cares to wait."""
    if EXPLORES:
        longest = hypothesis.settings().max_examples * LONGER
        return hypothesis.settings(max_examples=longest, stateful_step_count=60)
    # To look for a shorter story takes minutes; one of so few steps can be read as it is.
    told = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    return hypothesis.settings(max_examples=examples, stateful_step_count=steps, phases=told)


@pytest.fixture
def machine(run_folder: Path, tmp_path: Path) -> type[MemoryMachine]:
    return type("Story", (MemoryMachine,), {"run_folder": run_folder, "folder": tmp_path})


def words_of(text: str) -> Words:
    return next(each for each in VOCABULARY if each.text == text)


@pytest.mark.parametrize("embedder", ["hashed:64", "onnx:all-minilm-l6-v2"], ids=["rules alone", "bundled models"])
def test_one_of_everything_does_what_the_model_says(machine: type[MemoryMachine], embedder: str):
    machine.embedder = embedder
    one = machine()
    try:
        one.open()
        for step in EVERYTHING:
            step(one)
        facts = one.models["main"].facts.values()
    except AssertionError as error:
        error.add_note("\n".join(["The story:", *one.story]))
        raise
    finally:
        one.teardown()

    assert {each.state for each in facts} == set(State)


def says(text: str) -> Callable[[MemoryMachine], None]:
    return lambda one: one.say(0, "main", words_of(text))


def last(one: MemoryMachine) -> int:
    """The number of the fact that came last."""
    return len(one.models["main"].standing(*State)) - 1


def settles(decision: str) -> Callable[[MemoryMachine], None]:
    return lambda one: one.settle(1, 0, decision)


def undoes(one: MemoryMachine) -> None:
    one.undo(1, -1)


def reopens(one: MemoryMachine) -> None:
    one.reopen(0, 0)


EVERYTHING: tuple[Callable[[MemoryMachine], None], ...] = (
    # An update, taken back, is not made again; both stand until a third value replaces them.
    says("The port of the mail server is 8080"),
    says("The port of the mail server is 9090"),
    undoes,
    says("The port of the mail server is 9090"),
    says("The mail server's port is 7070"),
    lambda one: one.restart(0),
    # The same words in two spaces, in other words, and with a key.
    lambda one: one.say(1, "other", words_of("The mail server's port is 7070")),
    says("The port of the mail server is 7070"),
    lambda one: one.learn_with_a_key(0, words_of("Boris likes chess"), "k1"),
    lambda one: one.learn_with_a_key(1, words_of("Boris likes rowing"), "k1"),
    # Each decision of a conflict, taken back.
    says("Ada's birth year is 1980"),
    says("Ada's birth year is 1985"),
    *(step for decision in ("dismiss", "update", "same", "both", "neither") for step in (settles(decision), reopens)),
    settles("same"),
    # Words that are back are compared with what was edited meanwhile.
    says("Boris likes rowing"),
    says("Boris lives in Oslo"),
    lambda one: one.edit_to(0, last(one), words_of("Boris's birth year is 1990")),
    lambda one: one.edit_to(0, last(one) - 1, words_of("Boris lives in Rome")),
    lambda one: one.undo(1, -2),
    # What was put away and said again is forgotten whole.
    says("The owner of the mail server is Tom"),
    lambda one: one.archive(0, len(one.models["main"].standing(*LIVE)) - 1),
    says("The owner of the mail server is Tom"),
    lambda one: one.forget(1, "main", last(one) - 1),
    lambda one: one.forget(1, "other", 0),
    # A dispute that waits, and something that was put away.
    says("Boris's birth year is 1980"),
    says("Boris's birth year is 1985"),
    says("Ada likes chess"),
    lambda one: one.archive(0, len(one.models["main"].standing(*LIVE)) - 1),
)
"""One story in which each operation is done at least once."""


@pytest.mark.timeout(0 if EXPLORES else 300)
def test_two_apps_and_two_spaces_do_what_the_model_says(machine: type[MemoryMachine]):
    run_state_machine_as_test(machine, settings=stories(6, 30))

    assert machine.told_of > 0


def test_a_second_process_does_and_sees_what_the_model_says(machine: type[MemoryMachine]):
    other = OtherProcess()
    machine.hands_of = (OwnHand, other.hand)
    try:
        run_state_machine_as_test(machine, settings=stories(3, 20))
    finally:
        code = other.end()

    assert code == 0
    assert machine.told_of > 0
