"""Defines nights: runs that consolidate memories, with their units of work, planned changes and items.

A night works through units. Each has a key made of what it reads, so that nothing is done twice. It first plans
its changes and stores the plan, then applies it: a killed night goes on with the same plan.

Tells what a night did: each item with what was there before and after, and at most twelve lines in words.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import AlreadyRunning, NotFound
from festinger.ids import MemoryId, SpaceId
from festinger.llm.model import Model
from festinger.memory.changes import load_existing_memories
from festinger.memory.confidence import Weight
from festinger.memory.deps import MemoryDeps
from festinger.memory.model import Kind, Memory
from festinger.proposals.deps import ProposalDeps
from festinger.records import record_json, row_mapper
from festinger.retrieval.deps import RetrievalDeps
from festinger.settings.memory_sections import ConsolidationSettings
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.consolidation")

SHARED = ""
"""In place of an agent: the memories that all agents of a space share."""


class NightStep(StrEnum):
    REFLECT = "reflect"
    TENSIONS = "tensions"
    REWRITE = "rewrite"
    PROMOTE = "promote"
    RECONSIDER = "reconsider"


class NightItemKind(StrEnum):
    """What a night does to a memory. What is cited, weakened or superseded follows from what is learned."""

    LEARNED = "learned"
    ANNOTATED = "annotated"
    REINFORCED = "reinforced"
    ARCHIVED = "archived"
    PROPOSED = "proposed"
    CITED = "cited"
    WEAKENED = "weakened"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    kind: NightItemKind
    memory: str = ""
    """The memory to change; for a text to learn, one that says it already and only gets the sources."""
    text: str = ""
    text_kind: str = ""
    cites: tuple[str, ...] = ()
    """Memories that a text rests on."""
    about: str = ""
    """What a tension or a narrative is about; it ends with it."""
    replaces: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    gain: float = 0.0
    evidence: tuple[str, ...] = ()
    """Sightings that a gain rests on; no later gain counts them again."""
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


planned_from_json = row_mapper(PlannedChange)


def plan_learned_text(kind: Kind, text: str, cites: Iterable[Memory], **more: Any) -> PlannedChange:
    """Plan to learn a text that rests on memories."""
    ids = tuple(str(each.id) for each in cites)
    return PlannedChange(kind=NightItemKind.LEARNED, text=text, text_kind=kind.value, cites=ids, **more)


def plan_change(kind: NightItemKind, memory: Memory, reason: str, **more: Any) -> PlannedChange:
    return PlannedChange(kind=kind, memory=str(memory.id), reason=reason, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightItem:
    """One thing that a night made or moved; `change` names it."""

    change: UUID
    kind: NightItemKind
    memory: UUID
    unit_key: str
    has_change: bool
    """Whether a change of the memory has that id; a new memory has none."""
    is_undone: bool
    before: str = ""
    after: str = ""
    reason: str = ""


item_from_row = row_mapper(NightItem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """A night; lists leave out what only a report has: its lines, its items and what the ceilings stopped."""

    id: UUID
    agent: str
    trigger: str
    state: str
    step: str
    only_step: str
    dry_run: bool
    counts: Mapping[str, int] = field(hash=False)
    survey: Mapping[str, Any] = field(hash=False)
    preview: tuple[Mapping[str, Any], ...] = field(hash=False)
    left_over: tuple[Mapping[str, Any], ...] = field(hash=False)
    model_calls: int
    cost_usd: Decimal | None
    started_at: datetime
    finished_at: datetime | None
    error: str | None
    lines: tuple[str, ...] = ()
    items: tuple[NightItem, ...] = ()
    safety: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)

    def as_json(self) -> dict[str, Any]:
        return record_json(self, hide=("only_step", "cost_usd")) | {
            "cost_usd": None if self.cost_usd is None else float(self.cost_usd)
        }


night_from_row = row_mapper(Night, agent="agent_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class NightDeps:
    memory: MemoryDeps
    retrieval: RetrievalDeps
    proposals: ProposalDeps
    terms: Callable[[SpaceId], ConsolidationSettings]
    writer: Callable[[SpaceId], Awaitable[Model | None]]
    yield_turn: Callable[[], Awaitable[None]]
    """Waits for a moment without requests."""

    @property
    def store(self) -> Store:
        return self.memory.store


def unit_key(name: str, memories: Iterable[Memory], *more: str) -> str:
    """Return the key of a unit that reads these memories: their ids and words."""
    parts = sorted(f"{memory.id}:{memory.fold.hex()}" for memory in memories)
    return f"{name}:{hashlib.sha256(json.dumps([parts, more]).encode()).hexdigest()[:32]}"


async def begin_night(
    deps: NightDeps,
    transaction: Transaction,
    space: SpaceId,
    *,
    agent: str = SHARED,
    trigger: str = "person",
    **more: Any,
) -> UUID:
    """Create a night, with `dry_run` and `only_step`, or return a killed one like it. Raises `AlreadyRunning`."""
    of = {"space": space, "agent": agent, "dry_run": False, "only_step": "", **more}
    night, at = deps.memory.new_uuid(), deps.memory.clock()
    await transaction.run(Q["end_lost_nights"], space=space, id=None, at=at)
    row = await transaction.maybe(Q["begin_night"], id=night, trigger=trigger, at=at, **of)
    row = row or await transaction.maybe(Q["killed_night"], **of)
    if row is None:
        raise AlreadyRunning("A night of these memories is running already.")
    return UUID(str(row["id"]))


async def find_night(deps: NightDeps, space: SpaceId, night: UUID) -> Night:
    row = await deps.store.maybe(Q["find_night"], space=space, id=night)
    if row is None:
        raise NotFound(f"There is no night `{night}`.")
    return night_from_row(row)


async def list_night_items(store: Store | Transaction, space: SpaceId, night: UUID) -> list[NightItem]:
    return [item_from_row(row) for row in await store.all(Q["items_of"], space=space, night=night)]


async def find_due_agents(deps: NightDeps, space: SpaceId, *, importance: float | None = None) -> list[str]:
    """List whose memories are due: something is new since the last night, which is not of the last ten minutes.

    With `importance`, only where what is new is as important.
    """
    rows = await deps.store.all(Q["due_agents"], space=space, at=deps.memory.clock(), importance=importance)
    return [row["agent_id"] for row in rows]


MOST_LINES = 12
SHORT_ID = 18
QUOTED = 100

VERBS = {
    NightItemKind.LEARNED: ("Made", "make"),
    NightItemKind.PROPOSED: ("Asks you in the inbox about", "ask you about"),
    NightItemKind.REINFORCED: ("Promoted", "promote"),
    NightItemKind.ARCHIVED: ("Put away", "put away"),
    NightItemKind.ANNOTATED: ("Annotated", "annotate"),
    NightItemKind.CITED: ("Added sources to", "add sources to"),
}
SUMMARIES = {
    NightItemKind.WEAKENED: "Let {n} step back behind the insight that they support.",
    NightItemKind.SUPERSEDED: "Replaced {n} by something newer.",
}
REFUSALS = {
    "uncited": "for citing fewer than two sources",
    "unsupported": "for a number, name or denial that no source has, or for repeating one",
    "unsure": "because the model was not sure enough",
    "refused": "as not worth keeping",
    "taken_back": "because somebody took back the same before",
}
NO_MODEL = "No model put anything into words: name one in `llm.write`."


async def load_night_report(deps: NightDeps, space: SpaceId, night: UUID) -> Night:
    """Return a night with its items, its lines and what the ceilings stopped. Raises `NotFound`."""
    found = await find_night(deps, space, night)
    async with deps.store.transaction() as transaction:
        items = await list_night_items(transaction, space, night)
        planned = {UUID(each["memory"]) for each in found.preview if each["memory"]}
        memories = await load_existing_memories(transaction, space, {each.memory for each in items} | planned)
        rows = await transaction.all(Q["changes_by_id"], space=space, ids=[each.change for each in items])
        safety = await transaction.all(Q["safety_events_of"], space=space, night=night)
    changes = {row["id"]: row for row in rows}
    told = tuple(_describe(each, memories.get(MemoryId(each.memory)), changes.get(each.change)) for each in items)
    found = replace(found, items=told, safety=tuple(safety))
    head, lines, tail = list(_head(found)), list(_told(found, memories)), list(_tail(found))
    if (more := len(lines) - (MOST_LINES - len(head) - len(tail))) > 0:
        lines[-more - 1 :] = [f"… and {more + 1} more."]
    return replace(found, lines=(*head, *lines, *tail))


def _describe(item: NightItem, memory: Memory | None, change: Mapping[str, Any] | None) -> NightItem:
    """Add the texts or numbers before and after."""
    content = memory.content if memory else ""
    if memory is None or change is None:
        return replace(item, after=content)
    was, now = (change[side]["memories"].get(str(item.memory), {}) for side in ("before", "after"))
    before, after = content, item.kind.value
    if item.kind in (NightItemKind.REINFORCED, NightItemKind.WEAKENED):
        before, after = _format_center(memory, was), _format_center(memory, now)
    elif item.kind is NightItemKind.ANNOTATED:
        before, after = ("; ".join(str(value) for value in side.values() if value) for side in (was, now))
    return replace(item, before=before, after=after, reason=change["reason"])


def _format_center(memory: Memory, columns: Mapping[str, float]) -> str:
    alpha, beta = columns.get("weight_alpha", memory.weight_alpha), columns.get("weight_beta", memory.weight_beta)
    return f"{Weight(alpha=alpha, beta=beta).center:.2f}"


def _head(night: Night) -> Iterator[str]:
    if night.error:
        yield f"The night ended early: {night.error}"
    if night.dry_run:
        yield f"A preview of {_count(len(night.preview), 'change')}; nothing was changed."
    if groups := night.survey.get("groups"):
        size = f"{_count(len(groups[0]['members']), 'memory')} from {_count(groups[0]['causes'], 'cause')}"
        yield f"Noticed {_count(len(groups), 'group')} of memories that belong together, the largest of {size}."


def _told(night: Night, memories: Mapping[MemoryId, Memory]) -> Iterator[str]:
    """Tell what was done, or would be, each in a line."""
    for plan in night.preview:
        memory = memories.get(MemoryId(UUID(plan["memory"]))) if plan["memory"] else None
        kind = NightItemKind.CITED if memory and plan["text"] else NightItemKind(plan["kind"])
        what = _name(memory) if memory else f"the {plan['text_kind']} {_quote(plan['text'])}"
        yield f"Would {VERBS[kind][1]} {what}: {plan['reason']}"
    for item in night.items:
        if item.kind in VERBS and (memory := memories.get(MemoryId(item.memory))) is not None:
            more, undone = f": {item.reason}" if item.reason else "", " (undone)" if item.is_undone else ""
            yield f"{VERBS[item.kind][0]} {_name(memory)}{more}{undone}"


def _tail(night: Night) -> Iterator[str]:
    counted = Counter(each.kind for each in night.items if not each.is_undone)
    yield from (words.format(n=_count(counted[kind], "memory")) for kind, words in SUMMARIES.items() if counted[kind])
    for name, why in REFUSALS.items():
        if night.counts.get(name):
            yield f"Dropped {_count(night.counts[name], 'draft')} {why}."
    if night.safety:
        yield f"Safety limits held back or noted {_count(len(night.safety), 'change')} of weights."
    if tensions := night.survey.get("tensions"):
        yield f"Nobody has settled {_count(tensions, 'earlier tension')}."
    if waiting := night.counts.get("left_over", 0) + len(night.left_over):
        yield f"Left for the next night: {_count(waiting, 'piece')} of work."
    if night.finished_at and not night.survey.get("model", True):
        yield NO_MODEL
    if night.finished_at and not night.items and not night.dry_run:
        yield "Nothing was changed."


def _count(number: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def _name(memory: Memory) -> str:
    return f"the {memory.kind.value} {_quote(memory.content)} [{str(memory.id)[:SHORT_ID]}]"


def _quote(text: str) -> str:
    short = f"{text[:QUOTED]}{'…' if len(text) > QUOTED else ''}"
    return short if text.startswith('"') else f'"{short}"'
