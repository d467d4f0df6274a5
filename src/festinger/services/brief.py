"""Briefs an agent: what is known of a project, a person or a topic, from rows alone.

Boundaries come first, then what is disputed, goals, decisions, preferences, rules, the last episodes, and what
else weighs most. Each line has an id, a day and who said it. Like every block of ours it is recognized when it
comes back in a prompt, and never learned.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from festinger.errors import BadInput
from festinger.ids import Origin, Scope
from festinger.memory.censors.edit import load_page_of_censors
from festinger.memory.episodes.store import load_page_of_episodes
from festinger.memory.model import Memory
from festinger.memory.query import load_brief_sections
from festinger.records import record_json
from festinger.runtime.app import App
from festinger.services.block import NoteRef, build_block, fit_block, note_line
from festinger.services.conflicts import conflict_json
from festinger.world.conflicts import load_conflicts

DEFAULT_TOKENS = 600
PER_SECTION = 5
EPISODES = 3
SEARCHED = 20
"""Episodes and conflicts that are searched for a topic, newest or most urgent first."""
LONGEST_TOPIC = 200
SECTIONS = ("boundary", "disputed", "goal", "decision", "preference", "rule", "episode", "known")
"""In the order of a brief."""
SHOWN_ID = 18
"""The time and the counter of an id, which no two share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefNote:
    section: str
    id: str
    text: str
    day: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """Notes and the block that shows them, within the budget; `omitted` did not fit."""

    topic: str | None
    notes: tuple[BriefNote, ...]
    text: str
    omitted: int

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


async def brief(app: App, scope: Scope, topic: str | None = None, *, tokens: int = DEFAULT_TOKENS) -> Brief:
    """Build the brief of an agent, about a topic or any. Raises `BadInput`, `StoreDown`."""
    topic = " ".join(topic.split()) if topic else None
    if topic and len(topic) > LONGEST_TOPIC:
        raise BadInput(f"A topic has at most {LONGEST_TOPIC} characters.", hint="Name a person, a project or a thing.")
    notes = sorted(await _load_notes(app, scope, topic or None), key=lambda note: SECTIONS.index(note.section))
    lines = [
        note_line(
            f"{note.section}: {note.text}",
            NoteRef(kind=note.section, id=note.id),
            ending=f" ({note.day}, {note.origin}, {note.id[:SHOWN_ID]})",
        )
        for note in notes
    ]
    block = build_block(app.settings.for_space(scope.space).proxy.label, notes=lines)
    block = block and fit_block(block, tokens)
    shown = len(block.lines) if block else 0
    return Brief(
        topic=topic or None, notes=tuple(notes[:shown]), text=block.text if block else "", omitted=len(notes) - shown
    )


async def _load_notes(app: App, scope: Scope, topic: str | None) -> list[BriefNote]:
    notes = [
        _note(section, memory.id, memory.content, memory.event_time or memory.created_at, memory.origin)
        for section, memories in (await load_brief_sections(app.memory.deps, scope, topic, limit=PER_SECTION)).items()
        for memory in memories
    ]
    notes += [
        _note("boundary", censor.id, censor.reason, censor.created_at, censor.origin)
        for censor in await load_page_of_censors(app.memory.deps, scope.space, active=True, limit=PER_SECTION)
        if censor.agent_id in (None, scope.agent) and _is_about(topic, censor.reason)
    ]
    notes += [note async for note in _load_disputed(app, scope, topic)]
    episodes = await load_page_of_episodes(app.memory.deps, scope.space, agent=scope.agent, limit=SEARCHED)
    said = {note.text.casefold() for note in notes}
    told = (
        each for each in episodes if not each.evaluation and _is_about(topic, each.title, each.summary, *each.topics)
    )
    for episode, _ in zip(told, range(EPISODES), strict=False):
        text = "; ".join(filter(None, (episode.title, episode.outcome)))
        # What was asked is no news; what came of it is.
        if text and not text.endswith("?") and text.casefold() not in said:
            notes.append(_note("episode", episode.id, text, episode.last_at, Origin.JOB))
    return notes


async def _load_disputed(app: App, scope: Scope, topic: str | None) -> AsyncIterator[BriefNote]:
    def can_see(memory: Memory) -> bool:
        return memory.agent_id in (None, scope.agent)

    most = SEARCHED if topic else PER_SECTION
    for conflict in await load_conflicts(app.world.deps, scope.space, statuses=["pending"], limit=most):
        shown = await conflict_json(app, scope.space, conflict, sees=can_see)
        sides = [side.get("content") or side.get("parent") for side in (shown["existing"], shown["incoming"]) if side]
        if len(sides) == 2 and all(sides) and _is_about(topic, shown["concept"], *sides):
            about = "" if conflict.about == "memory" else f"{shown['concept']} [{shown['dimension']}] "
            said = f"{about}{sides[0]} ↔ {sides[1]}"
            yield _note("disputed", conflict.id, said, conflict.created_at, shown["incoming"]["origin"])


def _is_about(topic: str | None, *texts: str | None) -> bool:
    return topic is None or any(topic.casefold() in text.casefold() for text in texts if text)


def _note(section: str, id_: Any, text: str, at: datetime, origin: str) -> BriefNote:
    return BriefNote(section=section, id=str(id_), text=text, day=at.date().isoformat(), origin=str(origin))
