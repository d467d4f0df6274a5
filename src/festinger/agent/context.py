"""Builds what the model reads: who the agent is, what it must not forget, the conversation, and the message with its notes.

Stable parts come first, so that a server can keep its cache of them. Boundaries are always in; the rest of the
identity is drawn by weight, so that what is sure is nearly always there and what is weak sometimes. Of the open goals
those nearest to what is talked about are in.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from festinger.ids import Scope
from festinger.llm.model import MessageRole, PromptMessage
from festinger.llm.prompts import load_prompt
from festinger.memory.confidence import Weight
from festinger.memory.deps import MemoryDeps
from festinger.memory.episodes.episode import EpisodeTurn, TurnRole
from festinger.memory.episodes.store import list_turns, load_page_of_episodes
from festinger.text.budget import estimate_tokens

IDENTITY_TOKENS, GOAL_TOKENS, CORRECTION_TOKENS, ANSWER_TOKENS = 500, 200, 300, 4000
ANSWER_SHARE = 0.25
IDENTITY_BAR = 0.6
HEAVIEST = 20
MOST_CORRECTIONS = 3
MOST_GOALS = 3
BORN = "You have a memory, goals and values, and all of them are empty yet."
ROLES = {TurnRole.USER: MessageRole.USER, TurnRole.ASSISTANT: MessageRole.ASSISTANT}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextParts:
    """What a context is built from."""

    name: str
    boundaries: Sequence[str]
    identity: Sequence[str]
    goals: Sequence[str]
    corrections: Sequence[str]
    about: Sequence[str]
    """Lines about the agent itself: attention, cost, age."""
    history: Sequence[EpisodeTurn]
    """Turns before the message, oldest first."""
    message: str
    notes: str


def sample_identity_memories(memories: Iterable[tuple[str, Weight, float]], chance: random.Random) -> list[str]:
    """Draw which of the heaviest memories are present, each by its weight and its relevance, within the budget."""
    drawn = [
        text for text, weight, relevance in memories if weight.observe(chance) * (0.5 + 0.5 * relevance) > IDENTITY_BAR
    ]
    return list(_texts_within_budget(drawn, IDENTITY_TOKENS))


def build_context(parts: ContextParts, *, window: int) -> tuple[list[PromptMessage], int]:
    """Build the messages within a window, and count their tokens; the oldest turns leave first, the message never."""
    corrections = list(_texts_within_budget(parts.corrections[:MOST_CORRECTIONS], CORRECTION_TOKENS))
    lived = parts.identity or parts.goals or parts.history or parts.notes
    sections = [
        _format_section("Boundaries, which always hold:", parts.boundaries) or ("" if lived else BORN),
        _format_section("What weighs most with you:", parts.identity),
        _format_section(
            "What the person wants to reach, and you help with:", list(_texts_within_budget(parts.goals, GOAL_TOKENS))
        ),
        _format_section("What you learned from mistakes:", corrections),
        "\n".join(line for line in parts.about if line),
    ]
    more = "\n\n".join(section for section in sections if section)
    system = load_prompt("festinger.agent", "system").message(MessageRole.SYSTEM, name=parts.name, more=more)
    last = PromptMessage(role=MessageRole.USER, text="\n\n".join(filter(None, (parts.notes, parts.message))))
    used = estimate_tokens(system.text) + estimate_tokens(last.text)
    room = window - used - min(ANSWER_TOKENS, int(ANSWER_SHARE * window))
    kept: list[PromptMessage] = []
    for turn in reversed([turn for turn in parts.history if turn.role in ROLES]):
        cost = estimate_tokens(turn.content)
        if cost > room:
            break
        room -= cost
        used += cost
        kept.append(PromptMessage(role=ROLES[turn.role], text=turn.content))
    return [system, *reversed(kept), last], used


def _format_section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *(f"- {line}" for line in lines)]) if lines else ""


def _texts_within_budget(texts: Iterable[str], tokens: int) -> Iterator[str]:
    """Keep whole texts within the budget."""
    for text in texts:
        tokens -= estimate_tokens(text)
        if tokens < 0:
            return
        yield text


MOST_TURNS = 200
"""Turns from which no earlier episode of a session is read; a window holds fewer."""


async def load_history(memory: MemoryDeps, scope: Scope, *, before: UUID | None = None) -> list[EpisodeTurn]:
    """The last turns of a session, or those before one of them, oldest first."""
    turns: list[EpisodeTurn] = []
    for each in await load_page_of_episodes(memory, scope.space, agent=scope.agent, session=scope.session):
        turns = [*await list_turns(memory.store, scope.space, each.id), *turns]
        if len(turns) > MOST_TURNS:
            break
    ids = [turn.turn_id for turn in turns]
    return turns[: ids.index(before)] if before in ids else turns
