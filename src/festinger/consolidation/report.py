"""Tells what a night did: each item with what was there before and after, and at most twelve lines in words."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from festinger.consolidation.night import Night, NightDeps, NightItem, NightItemKind, Q, find_night, list_items
from festinger.ids import MemoryId, SpaceId
from festinger.memory.changes import find_memories
from festinger.memory.confidence import Weight
from festinger.memory.model import Memory

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


async def report_night(deps: NightDeps, space: SpaceId, night: UUID) -> Night:
    """Return a night with its items, its lines and what the ceilings stopped. Raises `NotFound`."""
    found = await find_night(deps, space, night)
    async with deps.store.transaction() as transaction:
        items = await list_items(transaction, space, night)
        planned = {UUID(each["memory"]) for each in found.preview if each["memory"]}
        memories = await find_memories(transaction, space, {each.memory for each in items} | planned)
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
