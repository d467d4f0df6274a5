"""Lists what is held after a month, with the message that each item came from.

`live` passes a month through the proxy and records what was really said. `held` lists the active memories and
edges, each with its message: the one of its session that contains its words. Nothing here judges whether it
should have been kept.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from benchmarks.month import ASSISTANT, TOOL, USER, Echo, Month, MonthMessage, MonthMessageKind, MonthSession
from benchmarks.month_door import MonthProxy
from benchmarks.suite import silence
from benchmarks.truths import TruthSaying
from festinger.ids import MAIN_SPACE, AgentId, Scope
from festinger.memory.model import Kind as MemoryKind
from festinger.memory.model import Memory
from festinger.memory.query import MemoryFilter, load_page_of_memories
from festinger.store.repositories.exchanges import load_messages
from festinger.text.blocks import CLOSE, OPEN
from festinger.text.normalize import fold
from festinger.text.secrets import redact
from festinger.world.query import build_concept_report

CALLS = "calls"
"""The session of the calls of `learn`."""
NIGHT = timedelta(hours=28)
"""From the beginning of a day until all nightly jobs of the next are due."""
PAGE = 1_000
NOTHING_NOTED = "There is nothing in my notes yet."

_LINE = re.compile(r"^(?P<what>[^:\n]+): \[(?P<way>[^\]]+)\] (?P<parent>[^\n—]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMonthMessage:
    """A message as it was really said."""

    message: MonthMessage
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveMonthItem:
    """Something active at the end."""

    store: str
    text: str
    kind: MonthMessageKind | None
    """The kind of the message that it came from; `None` if nobody said it."""
    saying: TruthSaying | None = None
    is_summary: bool = False
    is_waiting: bool = False


Record = Mapping[str, Sequence[SentMonthMessage]]
"""What was said in each session."""


@dataclass(slots=True)
class _Recorder:
    by_session: defaultdict[str, list[SentMonthMessage]] = field(default_factory=lambda: defaultdict(list))

    def note(self, session: str, message: MonthMessage, text: str) -> str:
        # As it is kept: with any secret redacted.
        self.by_session[session].append(SentMonthMessage(message=message, text=redact(text).text))
        return text


async def live(month: Month, door: MonthProxy, *, say: Callable[[str], None] = silence) -> Record:
    """Let the month pass; returns what was said."""
    heard = _Recorder()
    for number, day in enumerate(month.days):
        say(f"Day {number + 1} of {len(month.days)}.")
        for session in day.sessions:
            door.hands.now = session.at
            await _converse(session, month.policy, door, heard)
            await door.settle()
        for call in day.calls:
            message = MonthMessage(role=USER, kind=MonthMessageKind.DURABLE, text=call.saying.text, saying=call.saying)
            heard.note(CALLS, message, call.saying.text)
            await door.memory(call.agent, CALLS).learn(call.saying.text)
        await door.pass_to(day.at + NIGHT)
    return heard.by_session


async def _converse(session: MonthSession, policy: str, door: MonthProxy, heard: _Recorder) -> None:
    history: list[dict[str, Any]] = [{"role": "system", "content": policy}]
    door.stub.notes = ""
    for asked, answered in session.turns:
        for message in asked:
            text = heard.note(session.name, message, _words(message, door))
            history += _spoken(message.role, text, number=len(history))
        answer = heard.note(session.name, answered, _words(answered, door))
        await door.ask(history, agent=session.agent, session=session.name, answer=answer)
        history.append({"role": ASSISTANT, "content": answer})


def _spoken(role: str, text: str, *, number: int) -> list[dict[str, Any]]:
    """A message in the form of the protocol: a tool result is preceded by its call."""
    if role != TOOL:
        return [{"role": role, "content": text}]
    call = {"id": f"call{number}", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    return [
        {"role": ASSISTANT, "content": None, "tool_calls": [call]},
        {"role": TOOL, "tool_call_id": call["id"], "content": text},
    ]


def _words(message: MonthMessage, door: MonthProxy) -> str:
    """The text of a message. An echo is made of the last notes that the model was sent."""
    if message.echo is None:
        return message.text
    notes = door.stub.notes
    if not notes:
        return NOTHING_NOTED
    if message.echo is Echo.VERBATIM:
        return f"This is what I have:\n\n{notes}"
    bare = notes.removeprefix(OPEN).removesuffix(CLOSE).strip()
    if message.echo is Echo.UNTAGGED:
        return bare
    said = [f"{found['what']} is {found['parent'].strip()}." for found in _LINE.finditer(bare)]
    return f"So from what I know, {' '.join(said) or bare}"


async def held(door: MonthProxy, record: Record, *, born: frozenset[tuple[int, int, int]]) -> list[ActiveMonthItem]:
    """Everything active, except the edges that every world starts with."""
    return [*await _memories(door, record), *await _edges(door, record, born=born)]


async def _memories(door: MonthProxy, record: Record) -> list[ActiveMonthItem]:
    return [_memory(memory, record) for memory in await _listed(door, MemoryFilter(everybodys=True))]


async def _listed(door: MonthProxy, wanted: MemoryFilter) -> list[Memory]:
    found: list[Memory] = []
    deps, place = door.app.memory.deps, Scope(space=MAIN_SPACE, agent=AgentId(CALLS))
    while more := await load_page_of_memories(deps, place, wanted, after=found[-1].seq if found else None, limit=PAGE):
        found += more
    return found


def _memory(memory: Memory, record: Record) -> ActiveMonthItem:
    source = origin_of(memory.content, record.get(memory.session_id or "", ()))
    return ActiveMonthItem(
        store="memory",
        text=memory.content,
        kind=source.kind if source else None,
        saying=source.saying if source else None,
        is_summary=memory.kind is MemoryKind.EPISODIC,
        is_waiting=memory.pending,
    )


def origin_of(text: str, said: Sequence[SentMonthMessage]) -> MonthMessage | None:
    """The message that these words came from, preferring what a person wanted kept."""
    words = fold(text)
    holding = [each.message for each in said if words and words in fold(each.text)]
    return next((message for message in holding if message.saying), holding[0] if holding else None)


async def edges_now(door: MonthProxy) -> frozenset[tuple[int, int, int]]:
    world = await door.app.world.need(MAIN_SPACE)
    return frozenset(
        (edge.id, edge.parent_id, edge.dim_id) for edges in world.urd_by_concept.values() for edge in edges
    )


async def _edges(door: MonthProxy, record: Record, *, born: frozenset[tuple[int, int, int]]) -> list[ActiveMonthItem]:
    deps, world = door.app.world.deps, await door.app.world.need(MAIN_SPACE)
    new = {concept for concept, _, _ in await edges_now(door) - born}
    found = []
    for concept in sorted(new):
        token = world.soas_by_id[concept]
        for believed in (await build_concept_report(deps, MAIN_SPACE, token)).edges:
            sources = [await _source(door, cause, record) for cause in believed.causes]
            edge = believed.edge
            wanted = next((each for each in sources if each and each.saying), None)
            source = wanted or next(filter(None, sources), None)
            found.append(
                ActiveMonthItem(
                    store="edge",
                    text=f"{token}: [{edge['dimension']}] {edge['parent']}",
                    kind=source.kind if source else None,
                    saying=source.saying if source else None,
                )
            )
    return found


async def _source(door: MonthProxy, cause: Mapping[str, Any], record: Record) -> MonthMessage | None:
    id_ = UUID(cause["message_id"])
    said = (await load_messages(door.app.store, MAIN_SPACE, [id_])).get(id_)
    return origin_of(said.text, record.get(cause["session_id"], ())) if said else None


async def all_memories(door: MonthProxy) -> str:
    """The text of every memory, whatever its state."""
    return "\n".join(memory.content for memory in await _listed(door, MemoryFilter(everybodys=True, statuses=None)))
