"""Follows goals: what a person wants to reach, from the day it is said until it is reached or dropped.

A goal is a memory with the tag `goal`, and only a person makes, settles or reopens one. Settling archives it with the
words that settled it: it is neither recalled nor pursued any more. Each step is a change of the memory and can be
undone like any other.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, NotFound, Refused
from festinger.ids import Origin, Scope
from festinger.memory.annotate import annotate
from festinger.memory.changes import lock_memory
from festinger.memory.deps import MemoryDeps
from festinger.memory.edit import archive_in_transaction, restore
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned, build_refused_error
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Memory, Status, memory_from_row
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.text.words import FUNCTION_WORDS, split_into_sentences

Q = load_queries("festinger.agent")

TAG = "goal"
SETTLED = "settled"
"""Where the metadata of a goal says how it ended."""
LONGEST_GOAL = 500
MOST_OPEN = 20
SHARED_WORDS = 0.5
"""Share of a goal's words that a sentence needs to be about it."""
STEM = 5

_WHEN = (
    r"(?:\b(?:by|before|until|till)\s+(?:the\s+)?(?:end\b|\d|next\b|this\b|tomorrow\b|spring\b|summer\b|autumn\b|fall\b"
    r"|winter\b|christmas\b|easter\b|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)\w*)"
    r"|\b(?:this|next)\s+(?:week|month|quarter|year|spring|summer|autumn|fall|winter)\b)"
)
_AIM = re.compile(
    r"(?:my|our)\s+(?:\w+\s+)?goal\s+is\b|(?:i|we)\s+(?:aim|intend|plan)\s+to\b"
    r"|(?:i'm|i\s+am|we're|we\s+are)\s+(?:aiming|planning)\s+to\b"
    rf"|(?:i|we)(?:'d\s+like|\s+would\s+like|\s+want|\s+hope)\s+to\b.*{_WHEN}"
    rf"|(?:i'm|i\s+am|we're|we\s+are)\s+(?:trying|hoping)\s+to\b.*{_WHEN}",
    re.IGNORECASE,
)
_REQUEST = re.compile(rf"(?:please\s+)?help\s+(?:me|us)\b.*{_WHEN}", re.IGNORECASE)
_REACHED = re.compile(
    r"\b(?:i|we)(?:'ve)?(?:\s+(?:have|just|finally|already|now|both))*\s+"
    r"(?:finished|completed|achieved|reached|shipped|launched|submitted|passed)\b"
    r"|\b(?:is|are|was)\s+(?:finally\s+|now\s+|all\s+)*(?:done|finished|complete|completed|shipped|submitted|achieved)\b",
    re.IGNORECASE,
)
_GIVEN_UP = re.compile(
    r"\b(?:i|we)(?:'ve|\s+have)?\s+(?:gave|given|give)\s+up\b|\b(?:i|we)(?:'ve|\s+have)?\s+(?:dropped|canceled|cancelled|abandoned)\b"
    r"|\b(?:i|we)\s+no\s+longer\s+(?:want|plan|aim|intend)\b|\b(?:i|we)\s+(?:don't|do\s+not)\s+want\s+to\b.{0,200}?\bany\s?more\b",
    re.IGNORECASE,
)
_NOT_YET = re.compile(r"\b(?:not|never|almost|nearly|hope|will|when|once|if|until)\b|n't\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
SHORTEST_WORD = 4
_NOT_OF_A_GOAL = frozenset({"goal", "want", "like", "plan", "intend", "trying", "hoping", "planning", "aiming", "help"})


class GoalState(StrEnum):
    OPEN = "open"
    ACHIEVED = "achieved"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalChange:
    """A goal that was set, settled or reopened, and the change that undoes it."""

    memory: Memory
    state: GoalState
    change: UUID | None


def states_goal(sentence: str) -> bool:
    """Whether a person sets a goal with this: outright, or as a wish with a date."""
    return _AIM.match(sentence) is not None


def detect_goal_state(sentence: str, goal: str) -> GoalState | None:
    """How a sentence of a person settles a goal; none if it is about something else, or not over yet."""
    if sentence.endswith("?"):
        return None
    state = GoalState.DROPPED if _GIVEN_UP.search(sentence) else None
    if state is None and _REACHED.search(sentence) and not _NOT_YET.search(sentence):
        state = GoalState.ACHIEVED
    return state if shares_half_the_words(goal, sentence) else None


def shares_half_the_words(wanted: str, said: str) -> bool:
    """Whether someone who says this speaks of what is wanted: at least half of its words are in it, in some form."""
    words, others = _words(wanted), _words(said)
    shared = sum(any(_is_same_stem(word, other) for other in others) for word in words)
    return shared / len(words) >= SHARED_WORDS if words else wanted.casefold() in said.casefold()


def _words(text: str) -> set[str]:
    words = {word for word in _WORD.findall(text.casefold()) if len(word) >= SHORTEST_WORD or not word.isalpha()}
    return words - FUNCTION_WORDS - _NOT_OF_A_GOAL


def _is_same_stem(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return short == long or (len(short) >= STEM - 1 and long.startswith(short[:STEM]))


async def update_goals_from_message(
    deps: MemoryDeps, scope: Scope, text: str, learned: Sequence[Learned], goals: Sequence[Memory]
) -> list[GoalChange]:
    """Set and settle the goals that a person's message speaks of."""
    sentences, by = split_into_sentences(text), str(scope.session)
    steps: list[GoalChange] = []
    for sentence in sentences:
        settled = [(goal, state) for goal in goals if (state := detect_goal_state(sentence, goal.content)) is not None]
        with suppress(BadInput, NotFound, Refused):  # what cannot be kept as a goal is answered all the same
            steps += [
                await settle_goal(deps, scope, goal.id, state, evidence=sentence, by=by) for goal, state in settled
            ]
            steps += [await add_goal(deps, scope, sentence, by=by)] if _REQUEST.match(sentence) else []
    stated = [each.memory for each in learned if each.memory is not None and each.memory.status is Status.ACTIVE]
    steps += [await _mark(deps, each, by=by) for each in stated if states_goal(each.content)]
    return [step for step in steps if step.change is not None]


async def add_goal(deps: MemoryDeps, scope: Scope, text: str, *, by: str) -> GoalChange:
    """Learn a person's goal. Raises `BadInput`, `Refused`."""
    text = text.strip(" .!")
    if not 0 < len(text) <= LONGEST_GOAL:
        raise BadInput(f"A goal has 1 to {LONGEST_GOAL} characters.", hint="Say in a sentence what is to be reached.")
    learned = await learn(deps, scope, LearnRequest(text=text, origin=Origin.PERSON, tags=(TAG,)))
    if learned.memory is None:
        raise build_refused_error(learned)
    marked = await _mark(deps, learned.memory, by=by)
    return GoalChange(memory=marked.memory, state=GoalState.OPEN, change=marked.change or learned.change)


async def _mark(deps: MemoryDeps, memory: Memory, *, by: str) -> GoalChange:
    async with deps.store.transaction() as transaction:
        new, change = await annotate(
            deps, transaction, memory.space_id, memory.id, by=by, reason="A goal.", tags=sorted({*memory.tags, TAG})
        )
    return GoalChange(memory=new, state=GoalState.OPEN, change=change)


async def settle_goal(
    deps: MemoryDeps, scope: Scope, goal: UUID, state: GoalState, *, evidence: str = "", by: str
) -> GoalChange:
    """Settle an open goal: it was reached, or it is dropped. Raises `NotFound`."""
    async with deps.store.transaction() as transaction:
        old = await _lock_and_require_goal(transaction, scope, goal)
        if old.status is not Status.ACTIVE:
            return GoalChange(memory=old, state=state, change=None)
        settled = {"state": state.value, "at": deps.clock().isoformat(), "evidence": evidence[:LONGEST_GOAL]}
        noted, _ = await annotate(deps, transaction, scope.space, old.id, by=by, metadata={SETTLED: settled})
        reason = f"The goal is {state.value}{': ' + evidence if evidence else '.'}"
        done = await archive_in_transaction(deps, transaction, noted, by=by, reason=reason[:LONGEST_GOAL])
    return GoalChange(memory=done.memory, state=state, change=done.change)


async def reopen_goal(deps: MemoryDeps, scope: Scope, goal: UUID, *, by: str) -> GoalChange:
    """Pursue a settled goal again. Raises `NotFound`."""
    async with deps.store.transaction() as transaction:
        await _lock_and_require_goal(transaction, scope, goal)
    done = await restore(deps, scope.space, goal, by=by, reason="The goal is open again.")
    return GoalChange(memory=done.memory, state=GoalState.OPEN, change=done.change)


async def _lock_and_require_goal(transaction: Transaction, scope: Scope, goal: UUID) -> Memory:
    found = await lock_memory(transaction, scope.space, goal)
    if TAG not in found.tags or found.agent_id not in (None, scope.agent):
        raise NotFound(f"There is no goal `{goal}`.")
    return found


async def list_open(deps: MemoryDeps, scope: Scope) -> list[Memory]:
    """The open goals that an agent knows, its own and shared ones, the newest first."""
    rows = await deps.store.all(Q["open_goals"], space=scope.space, agent=scope.agent, limit=MOST_OPEN)
    return list(map(memory_from_row, rows))


async def list_settled(deps: MemoryDeps, scope: Scope, *, limit: int) -> list[dict[str, Any]]:
    """Goals that were reached or dropped, the last first."""
    rows = await deps.store.all(Q["settled_goals"], space=scope.space, agent=scope.agent, limit=limit)
    return [
        {"id": memory.id, "text": memory.content, **memory.metadata[SETTLED]}
        for memory in map(memory_from_row, rows)
        if SETTLED in memory.metadata
    ]
