"""What an agent needs, and what it keeps of a turn of thought: the cycle, with how much was known and doubted in it."""

import json
import random
from collections.abc import Awaitable, Callable, Collection, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from festinger.agent.attention import StimulusSource, Vector
from festinger.agent.confidence import EscalationReason, is_complex
from festinger.agent.goals import GoalChange, Q
from festinger.agent.reminders import Reminder, asks_for_reminder
from festinger.agent.tools import AgentTool, OnText
from festinger.ids import AgentId, Scope, SpaceId
from festinger.llm.model import AnswerSchema, Model, ModelPurpose, PromptMessage
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.result import Learned
from festinger.store.pool import Store
from festinger.text.hygiene import is_question

FEW_WORDS = 3

NOT_STORED = frozenset({
    "message", "prompt", "tell", "told", "said", "reply", "notes", "evidence", "recall", "wishes", "asks", "granted",
    "is_forget_request",
})  # fmt: skip
"""Fields of a cycle that are no columns: words, and what only its process needs."""
SECOND_THOUGHT = "\n\nOn second thought: "

ChooseModel = Callable[[ModelPurpose, Scope], Awaitable[Model | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecollectedNotes:
    """What is remembered about a message, as a block."""

    text: str = ""
    ids: tuple[str, ...] = ()
    recall: str = ""
    evidence: float = 0.0
    """Of the best of them, from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDeps:
    memory: MemoryDeps
    chance: random.Random
    model: ChooseModel
    recollect: Callable[[Scope, str, Collection[UUID]], Awaitable[RecollectedNotes]]
    """What is remembered about a message, without some memories."""
    observe_reply: Callable[[Scope, UUID, str, str], Awaitable[None]]
    """Infers what became of the notes of a recall, from the message and the reply."""
    about: Callable[[Scope], Awaitable[Sequence[str]]]
    """Lines about the agent itself: what it cost, how long it has lived."""
    window: Callable[[], int]
    trust: Callable[[], Awaitable[int]]
    """How far the agent is trusted, from 0 to 5."""
    usual: MutableMapping[tuple[str, str], tuple[date, Vector | None]]
    """What usually matters to each agent of each space, and the day on which that was found."""
    check_tool: Callable[[Scope, str], Awaitable[str]]
    """Why a censor blocks the call of a tool; empty if none does."""
    tools: Sequence[AgentTool] | None = ()
    """Those of the memory, which the model may call beside its own; none where it may call nothing."""


class MistakeCorrection(BaseModel):
    trigger: str
    error_type: str
    original_reasoning: str
    correction: str
    context: str = ""


class System2Answer(AnswerSchema):
    answer: str = Field(description="The answer, as the person should read it.")
    explanation: str = Field(description="One sentence on why it is right.")
    correction: MistakeCorrection | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HearResult:
    """A message that was taken in, what was learned from it, and the goals that it set or settled."""

    learned: Sequence[Learned]
    goals: Sequence[GoalChange]
    due: Sequence[Reminder]
    """Reminders to tell before the answer."""
    reminders: Sequence[Reminder]
    """Reminders that the message set."""


@dataclass(slots=True, kw_only=True)
class AgentCycle:
    """A turn of thought: the reply, and the row that is kept of it."""

    space_id: str
    id: UUID
    agent_id: str
    session_id: str
    n: int
    at: Any
    source: StimulusSource
    winner: UUID
    reason: str
    candidates: list[dict[str, Any]]
    seed: int
    injected: list[str] = field(default_factory=list)
    tokens: int = 0
    corrections: list[UUID] = field(default_factory=list)
    goals: list[UUID] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    confidence: float | None = None
    retried: bool = False
    triggers: list[str] = field(default_factory=list)
    escalated: bool = False
    action: str = "said"
    degraded: list[str] = field(default_factory=list)
    gut: float | None = None
    message: str
    """What it is about."""
    prompt: str
    """What the model is asked."""
    tell: OnText
    told: list[str] = field(default_factory=list)
    """The pieces of the reply that were told so far."""
    said: list[PromptMessage] = field(default_factory=list)
    """What the model was told, and what it said and called."""
    reply: str = ""
    notes: str = ""
    evidence: float = 0.0
    recall: str = ""
    wishes: list[str] = field(default_factory=list)
    """The last messages of the person, newest last; none in a thought of its own."""
    asks: list[str] = field(default_factory=list)
    """Calls that need a yes, in words."""
    granted: dict[str, str] = field(default_factory=dict)
    """Calls by key that nobody asked for and that may be made, with why."""
    is_forget_request: bool = False

    def row(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in self.__slots__ if name not in NOT_STORED}
        return kept | {"candidates": json.dumps(self.candidates)}

    def append_second_thought(self, answer: str) -> None:
        self.add(SECOND_THOUGHT + answer)

    def add(self, text: str) -> None:
        self.reply += text
        self.tell(text)


def measure_memory_evidence(cycle: AgentCycle) -> float | None:
    """How well memory knows what is asked; none where nothing is asked, 0 where nothing was found."""
    if cycle.notes:
        return min(1.0, cycle.evidence)
    return 0.0 if "?" in cycle.message else None


def find_escalation_reasons(cycle: AgentCycle, *, bar: float, unknown: bool) -> list[EscalationReason]:
    assert cycle.confidence is not None
    found = {
        EscalationReason.DOUBT: 1.0 - cycle.confidence >= bar,
        EscalationReason.CONTRADICTION: "(disputed)" in cycle.notes,
        EscalationReason.COMPLEXITY: is_complex(cycle.message),
        EscalationReason.UNKNOWN: unknown,
    }
    return [reason for reason, applies in found.items() if applies]


def names_subject(message: str) -> bool:
    """Whether a message says enough to turn the attention; "and then?" goes on with what was talked about."""
    return len(message.split()) > FEW_WORDS


def answer_from_memory(cycle: AgentCycle, reminders: Sequence[Reminder], *, has_learned: bool) -> None:
    """Answer without a model."""
    cycle.action = "forget" if cycle.is_forget_request else "remembered"
    if cycle.is_forget_request:
        cycle.reply = format_forget_answer(cycle.notes)
    elif reminders:
        cycle.reply = "\n".join(f"I will remind you: {each}" for each in reminders)
    elif asks_for_reminder(cycle.message):
        cycle.reply = "When? Say it again with a time, such as “remind me tomorrow at 9 to call Ada”."
    else:
        cycle.reply = format_notes_as_answer(cycle.message, cycle.notes, has_learned=has_learned)
    if "\n- " not in cycle.reply:
        cycle.injected = []  # nobody reads them
    cycle.tell(cycle.reply)


def format_notes_as_answer(message: str, notes: str, *, has_learned: bool) -> str:
    """What can be said without a model."""
    asks, lines = is_question(message), list_note_lines(notes)
    if has_learned and not (asks and lines):
        return "I will remember that."
    if lines:
        return "\n".join(["This is what I remember:", *lines])
    return "I remember nothing about that." if asks else "Okay. I found nothing to remember in that."


def format_forget_answer(notes: str) -> str:
    """What is said to a wish to forget: only the person erases, and sees before what that would be."""
    if not (lines := list_note_lines(notes)):
        return "I remember nothing about that."
    erase = "`/forget 1` erases the first of these" if len(lines) > 1 else "`/forget 1` erases this"
    return "\n".join(
        ["This is what I remember about that:", *lines, f"{erase} for good; so does its page in the console."]
    )


def list_note_lines(notes: str) -> list[str]:
    return [line for line in notes.splitlines() if line.startswith("- ")]


async def load_cycles(store: Store, scope: Scope, *, before: int | None, limit: int) -> list[dict[str, Any]]:
    """The last cycles of an agent, newest first, with the messages that they attended to."""
    rows = await store.all(Q["cycles"], space=scope.space, agent=scope.agent, before=before, limit=limit)
    return [dict(row) for row in rows]


async def list_active_agents(store: Store, space: SpaceId) -> list[AgentId]:
    """The agents of a space that thought or remind of something."""
    return [AgentId(row["agent_id"]) for row in await store.all(Q["agents"], space=space)]


async def count_known_memories(store: Store, scope: Scope, *, limit: int) -> int:
    """How many active memories an agent sees, at most so many."""
    return int(await store.value(Q["count_memories"], space=scope.space, agent=scope.agent, limit=limit))


async def load_corrections(memory: MemoryDeps, scope: Scope, cycle: AgentCycle) -> list[str]:
    """Load the lessons from mistakes among the notes of a cycle: a note is cut, a lesson is not."""
    shown = [UUID(each) for each in cycle.injected if " " not in each]
    rows = await memory.store.all(Q["corrections_among"], space=scope.space, memories=shown)
    cycle.corrections = [row["id"] for row in rows]
    return [row["content"] for row in rows]
