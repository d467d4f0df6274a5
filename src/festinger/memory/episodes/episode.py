"""Defines episodes, turns and lessons, and formats transcripts.

An episode is a stretch of a session. A transcript that is too long is shortened to its beginning, its end and
the most salient turns between; never to a summary of a summary. Nothing here does I/O.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.ids import AgentId, MemoryId, Origin, Scope, SessionId, SpaceId
from festinger.records import parse_choice, record_json, row_mapper
from festinger.text.vocabulary import word_rarity
from festinger.text.words import split_into_sentences


class EpisodeState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"
    SUMMARISED = "summarised"


class EpisodeCloseReason(StrEnum):
    CALLER = "caller"
    IDLE = "idle"
    TURNS = "turns"
    HOURS = "hours"
    SHUTDOWN = "shutdown"


class TurnRole(StrEnum):
    """The role of a turn. The speaker is given by its origin, which the interface determines."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    THOUGHT = "thought"


ORIGINS = {
    TurnRole.SYSTEM: Origin.SYSTEM,
    TurnRole.USER: Origin.PERSON,
    TurnRole.ASSISTANT: Origin.MODEL,
    TurnRole.TOOL: Origin.TOOL,
    TurnRole.THOUGHT: Origin.MODEL,
}
"""Default origin of each role, unless the interface knows better."""

SOURCE = "episode:"
"""Prefix of the source of everything that came from an episode."""

BY_CALLER = "caller"
BY_TRANSCRIPT = "transcript"
BY_EXTRACT = "extract"
"""Authors of summaries other than models, which are given by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Something an episode teaches, before it is learned."""

    content: str
    turns: tuple[int, ...]
    subject: str | None = None
    is_decision: bool = False
    confidence: float = 1.0
    kind: str = "fact"
    by_model: bool = False

    def as_json(self) -> dict[str, Any]:
        shown = {each.name: getattr(self, each.name) for each in fields(self)}
        return shown | {"turns": list(self.turns)}


def lesson_from_json(kept: Mapping[str, Any]) -> Lesson:
    return Lesson(**{**kept, "turns": tuple(kept["turns"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeTurn:
    """One message of an episode."""

    seq: int
    turn_id: UUID
    at: datetime
    role: TurnRole
    origin: Origin
    content: str
    surfaced: tuple[MemoryId, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return record_json(self, turn_id="id")


turn_from_row = row_mapper(EpisodeTurn)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStatement:
    """Something that a person stated in a turn and that stands."""

    turn_id: UUID
    wording: str
    confidence: float
    is_binding: bool
    """Whether it is a rule, a preference, a decision or a correction."""

    @property
    def importance(self) -> float:
        return self.is_binding + self.confidence


statement_from_row = row_mapper(TurnStatement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    space_id: SpaceId
    id: UUID
    seq: int
    agent_id: AgentId
    session_id: SessionId
    title: str | None
    summary: str | None
    outcome: str | None
    topics: tuple[str, ...]
    state: EpisodeState
    opened_at: datetime
    last_at: datetime
    closed_at: datetime | None
    closed_by: EpisodeCloseReason | None
    summarised_at: datetime | None
    summarised_by: str | None
    skipped: str | None
    prompt_hash: str | None
    lessons: tuple[Lesson, ...] = field(hash=False)
    facts_at: datetime | None
    memory_id: MemoryId | None
    continues: UUID | None
    turns: int
    raw_cut_at: datetime | None
    evaluation: bool
    version: int

    @property
    def place(self) -> Scope:
        """The space, agent and session of the episode."""
        return Scope(space=self.space_id, agent=self.agent_id, session=self.session_id)

    @property
    def source(self) -> str:
        """The source name of memories learned from it."""
        return f"{SOURCE}{self.id}"

    @property
    def told(self) -> str:
        """The text of the memory of its summary."""
        return f"{self.title}\n{self.summary}"

    def as_json(self) -> dict[str, Any]:
        """Return the public JSON; lessons are shown as the memories that came from them."""
        return record_json(self, hide=("seq", "lessons", "prompt_hash"))


_map_episode = row_mapper(Episode)


def episode_from_row(row: dict[str, Any]) -> Episode:
    return _map_episode(row | {"lessons": tuple(map(lesson_from_json, row["lessons"]))})


def parse_state(name: str) -> EpisodeState:
    """Parse a state. Raises `BadInput` with the list of states."""
    return parse_choice(EpisodeState, name, "state of an episode", hint="The states are")


SPOKEN = (TurnRole.USER, TurnRole.ASSISTANT, TurnRole.TOOL)
"""Roles that count as conversation; prompts and thoughts do not."""

LONGEST = 16_000
"""Characters up to which a transcript is shown in full."""
FIRST = 4_000
LAST = 8_000

_WORD = re.compile(r"[^\W_]+(?:['.@/_:-][^\W_]+)*")
_MARKUP = re.compile(r"^(?:[#>*•-]+|\d+[.)])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSentence:
    """One sentence of a turn, with its position among all."""

    text: str
    turn: EpisodeTurn
    position: int

    @property
    def word_count(self) -> int:
        return len(self.text.split())


def dialogue_turns(turns: Sequence[EpisodeTurn]) -> list[EpisodeTurn]:
    return [turn for turn in turns if turn.role in SPOKEN]


def list_sentences(turns: Sequence[EpisodeTurn]) -> list[TurnSentence]:
    """List every sentence of the conversation in order."""
    found = [(text, turn) for turn in dialogue_turns(turns) for text in split_sentences(turn.content)]
    return [TurnSentence(text=text, turn=turn, position=place) for place, (text, turn) in enumerate(found)]


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences, each on one line without list and heading markup."""
    pieces = (_MARKUP.sub("", " ".join(piece.split())) for piece in split_into_sentences(text))
    return [piece for piece in pieces if any(char.isalnum() for char in piece)]


def word_count(turns: Sequence[EpisodeTurn]) -> int:
    return sum(len(turn.content.split()) for turn in dialogue_turns(turns))


def char_count(turns: Sequence[EpisodeTurn]) -> int:
    return sum(len(turn.content.strip()) for turn in dialogue_turns(turns))


def split_words(text: str) -> list[str]:
    return _WORD.findall(text)


def saliency(text: str) -> float:
    """The mean rarity of the words of a text."""
    words = split_words(text)
    return sum(map(word_rarity, words)) / len(words) if words else 0.0


def format_transcript(turns: Sequence[EpisodeTurn]) -> str:
    """Format the transcript for people."""
    return "\n".join(f"{turn.role.value}: {turn.content.strip()}" for turn in dialogue_turns(turns))


def format_prompt_transcript(turns: Sequence[EpisodeTurn]) -> str:
    """Format the transcript for a model: numbered, each turn quoted as data, shortened if too long."""
    return "\n".join(map(_format_turn, select_fitting_turns(dialogue_turns(turns))))


def select_fitting_turns(turns: Sequence[EpisodeTurn]) -> list[EpisodeTurn]:
    """Choose the turns that fit: the first, the last and the most salient between them, in order."""
    if _size(turns) <= LONGEST:
        return list(turns)
    first = _head(turns, FIRST)
    rest = turns[len(first) :]
    last = list(reversed(_head(list(reversed(rest)), LAST)))
    between = rest[: len(rest) - len(last)]
    left = LONGEST - _size(first) - _size(last)
    chosen = set()
    for turn in sorted(between, key=lambda turn: (-saliency(turn.content), turn.seq)):
        if len(turn.content) <= left:
            chosen.add(turn.seq)
            left -= len(turn.content)
    return [*first, *(turn for turn in between if turn.seq in chosen), *last]


def _head(turns: Sequence[EpisodeTurn], most: int) -> list[EpisodeTurn]:
    """Return the leading turns that fit into `most` characters."""
    taken: list[EpisodeTurn] = []
    for turn in turns:
        if _size(taken) + len(turn.content) > most:
            break
        taken.append(turn)
    return taken


def _size(turns: Sequence[EpisodeTurn]) -> int:
    return sum(len(turn.content) for turn in turns)


LONGEST_TURN = 4_000


def _format_turn(turn: EpisodeTurn) -> str:
    content = turn.content if len(turn.content) <= LONGEST_TURN else f"{turn.content[:LONGEST_TURN]} […]"
    quoted = json.dumps(content, ensure_ascii=True).replace("<", "\\u003c").replace("`", "\\u0060")
    return f"[{turn.seq}] {turn.role.value} ({turn.origin.value}): {quoted}"
