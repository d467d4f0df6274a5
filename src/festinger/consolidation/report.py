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
SHORT = 8
"""Characters of an id that people read."""
QUOTED = 100

VERBS = {
    NightItemKind.LEARNED: "Made",
    NightItemKind.PROPOSED: "Asks you in the inbox about",
    NightItemKind.REINFORCED: "Promoted",
    NightItemKind.ARCHIVED: "Put away",
}
SUMMARIES = {
    NightItemKind.CITED: "Gave {n} derived memories new sources.",
    NightItemKind.ANNOTATED: "Added notes to {n} memories.",
    NightItemKind.WEAKENED: "Let {n} sources step back behind their insight.",
    NightItemKind.SUPERSEDED: "Replaced {n} derived memories.",
}
REFUSALS = {
    "uncited": "cited fewer than two sources",
    "unsupported": "said something that no source says",
    "unsure": "were not sure enough",
    "refused": "were not worth keeping",
}


async def report_night(deps: NightDeps, space: SpaceId, night: UUID) -> Night:
    """Return a night with its items, its lines and what the ceilings stopped. Raises `NotFound`."""
    found = await find_night(deps, space, night)
    async with deps.store.transaction() as transaction:
        items = await list_items(transaction, space, night)
        memories = await find_memories(transaction, space, {each.memory for each in items})
        rows = await transaction.all(Q["changes_by_id"], space=space, ids=[each.change for each in items])
        safety = await transaction.all(Q["safety_events_of"], space=space, night=night)
    changes = {row["id"]: row for row in rows}
    told = tuple(_describe(each, memories.get(MemoryId(each.memory)), changes.get(each.change)) for each in items)
    found = replace(found, items=told, safety=tuple(safety))
    lines = list(_lines(found, memories))
    if len(lines) > MOST_LINES:
        lines[MOST_LINES - 1 :] = [f"… and {len(lines) - MOST_LINES + 1} more."]
    return replace(found, lines=tuple(lines))


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


def _lines(night: Night, memories: Mapping[MemoryId, Memory]) -> Iterator[str]:
    """Tell a night in lines that a person likes to read."""
    if night.error:
        yield f"The night ended early: {night.error}"
    if night.dry_run:
        yield f"A preview: {len(night.preview)} changes would be made."
        for each in night.preview:
            yield f"{each['kind']}: {_quote(each['text'] or each['memory'])}, {each['reason']}"
    if groups := night.survey.get("groups"):
        yield f"Noticed {len(groups)} groups of memories that recur, the largest with {groups[0]['causes']} causes."
    for item in night.items:
        if item.kind in VERBS and (memory := memories.get(MemoryId(item.memory))) is not None:
            undone = " (undone)" if item.is_undone else ""
            more = f", {item.reason}" if item.reason else ""
            what = f"the {memory.kind.value} {_quote(memory.content)} [{str(memory.id)[:SHORT]}]"
            yield f"{VERBS[item.kind]} {what}{more}{undone}"
    counted = Counter(each.kind for each in night.items)
    yield from (words.format(n=counted[kind]) for kind, words in SUMMARIES.items() if counted[kind])
    for name, why in REFUSALS.items():
        if night.counts.get(name):
            yield f"Dropped {night.counts[name]} drafts that {why}."
    if night.safety:
        yield f"Safety ceilings met {len(night.safety)} changes."
    if tensions := night.survey.get("tensions"):
        yield f"Tensions that nobody has settled: {tensions}."
    if waiting := night.counts.get("left_over", 0) + len(night.left_over):
        yield f"{waiting} things wait for the next night."
    if not night.items and not night.preview:
        yield "Nothing was changed."


def _quote(text: str) -> str:
    return f'"{text[:QUOTED]}{"…" if len(text) > QUOTED else ""}"'
