"""Reminds a person: keeps what and when, and tells it once it is due and the person is there.

Times are read from plain words, in the time zone of this machine. A reminder that is told becomes a turn of the
conversation, so that what is said next can refer to it.
"""

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from festinger.errors import BadInput
from festinger.ids import Origin, Scope
from festinger.memory.deps import MemoryDeps
from festinger.memory.episodes.episode import TurnRole
from festinger.memory.episodes.store import TurnInput, append_turn, append_turn_in_transaction
from festinger.memory.learn.statement import strip_blocks_and_secrets
from festinger.records import row_mapper
from festinger.store.queries import load_queries
from festinger.text.words import split_into_sentences

Q = load_queries("festinger.agent")

LONGEST_REMINDER = 500
_ASKED = re.compile(
    r"(?:please\s+|(?:can|could|will|would)\s+you\s+(?:please\s+)?)?remind\s+(?:me|us)\s+"
    r"(?!what|who|when|where|why|how|which)(?P<wish>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_BARE_HOUR = re.compile(r"\bat (\d{1,2})\b(?![:.]\d| ?[ap]\.?m)", re.IGNORECASE)
_LEAD = re.compile(r"\A(?:[\s,:;.]|(?:to|that|of|about)\b)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    id: UUID
    text: str
    due_at: datetime
    origin: Origin

    @property
    def when(self) -> str:
        return f"{self.due_at.astimezone():%a %d %b %Y, %H:%M}"

    def __str__(self) -> str:
        return f"{self.when}: {self.text}"


reminder_from_row = row_mapper(Reminder)


def parse_reminder(text: str, *, now: datetime) -> tuple[datetime, str]:
    """Read when and of what to remind, such as `tomorrow 9:00 call Ada`. Raises `BadInput`."""
    from dateparser.search import search_dates  # takes a third of a second to load

    spelled = _BARE_HOUR.sub(r"at \1:00", text[: 2 * LONGEST_REMINDER])
    base = now.astimezone().replace(tzinfo=None)
    found = search_dates(spelled, languages=["en"], settings={"PREFER_DATES_FROM": "future", "RELATIVE_BASE": base})
    if not found:
        raise BadInput("When?", hint="Name a time, such as `tomorrow 9:00`, `in 2 hours` or `2026-12-24 18:00`.")
    words, at = found[0]
    due = at.astimezone(UTC)
    if due <= now:
        raise BadInput(f"`{words[:40]}` is past.", hint="Name a time that comes.")
    return due, _LEAD.sub("", spelled.replace(words, " ", 1)).strip(" .!?,")


def asks_for_reminder(text: str) -> bool:
    return any(map(_ASKED.match, split_into_sentences(text)))


async def set_requested_reminders(deps: MemoryDeps, scope: Scope, text: str) -> list[Reminder]:
    """Set the reminders that a person's message asks for with a time."""
    made = []
    for asked in filter(None, map(_ASKED.match, split_into_sentences(text))):
        with suppress(BadInput):  # a wish without a time is left to the model
            made.append(await add_reminder(deps, scope, asked["wish"], origin=Origin.PERSON))
    return made


async def add_reminder(deps: MemoryDeps, scope: Scope, text: str, *, when: str = "", origin: Origin) -> Reminder:
    """Keep a reminder; `when` it is due stands in the text unless it is given. Raises `BadInput`."""
    now = deps.clock()
    due, rest = await asyncio.to_thread(parse_reminder, when or text, now=now)
    what = strip_blocks_and_secrets(
        text if when else rest, deps.without_blocks, redact=deps.terms(scope.space).redact
    ).text
    if not 0 < len(what) <= LONGEST_REMINDER:
        raise BadInput(f"A reminder has 1 to {LONGEST_REMINDER} characters.", hint="Say of what, in a few words.")
    kept: dict[str, Any] = {
        "space": scope.space,
        "agent": scope.agent,
        "id": deps.new_uuid(),
        "text": what,
        "origin": origin,
    }
    return reminder_from_row(await deps.store.one(Q["put_reminder"], due=due, now=now, **kept))


async def list_reminders(deps: MemoryDeps, scope: Scope) -> list[Reminder]:
    """The reminders that wait, the next first."""
    rows = await deps.store.all(Q["waiting_reminders"], space=scope.space, agent=scope.agent)
    return list(map(reminder_from_row, rows))


async def deliver_due_reminders(deps: MemoryDeps, scope: Scope) -> list[Reminder]:
    """Tell the reminders that are due: each becomes a turn of the agent and waits no longer."""
    now = deps.clock()
    due = [each for each in await list_reminders(deps, scope) if each.due_at <= now]
    for each in due:  # after a crash in between it is told again, and still one turn
        await append_turn(deps, scope, TurnRole.ASSISTANT, f"Reminder: {each.text}", turn_id=each.id)
        await deps.store.run(Q["tell_reminder"], space=scope.space, id=each.id, now=now)
    return due


async def announce_due_reminders(deps: MemoryDeps, scope: Scope) -> list[Reminder]:
    """Bring reminders that are due into the conversation and say so with an event, each once; they wait still.

    Whoever talks with the agent next is told.
    """
    new = []
    for each in await list_reminders(deps, scope):
        if each.due_at > deps.clock():
            break
        turn = TurnInput(
            role=TurnRole.ASSISTANT,
            content=f"Reminder: {each.text}",
            origin=Origin.MODEL,
            at=deps.clock(),
            turn_id=each.id,
        )
        async with deps.store.transaction() as transaction:
            if (await append_turn_in_transaction(deps, transaction, scope, turn)).turn is None:
                continue
            await deps.outbox.emit(
                transaction,
                "reminder_due",
                space=scope.space,
                subject=f"agent:{scope.agent}",
                payload={"reminder": str(each.id), "due": each.due_at.isoformat()},
                agent=scope.agent,
                session=scope.session,
            )
        new.append(each)
    return new


async def cancel_reminder(deps: MemoryDeps, scope: Scope, reminder: UUID) -> None:
    """Forget a reminder that waits."""
    await deps.store.run(Q["cancel_reminder"], space=scope.space, agent=scope.agent, id=reminder)
