"""Tells what a night did: each item with what was there before and after, and at most twelve lines in words."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.consolidation.night import Night, NightDeps, NightItem, NightItemKind, Q, find_night, list_items
from festinger.ids import MemoryId, SpaceId
from festinger.memory.changes import Change, change_from_row, find_memories
from festinger.memory.confidence import Weight
from festinger.memory.model import Memory
from festinger.records import record_json

MOST_LINES = 12
SHORT = 8
"""Characters of an id that people read."""
QUOTED = 100

REFUSALS = {
    "uncited": "cited fewer than two sources",
    "unsupported": "said something that no source says",
    "unsure": "were not sure enough",
    "too_long": "were too long",
    "refused": "were not worth keeping",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NightItemReport:
    change: str
    """Names the item: its change, or for a new memory the item itself."""
    kind: NightItemKind
    memory: str
    before: str
    after: str
    reason: str
    is_undone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NightReport:
    id: UUID
    agent: str | None
    trigger: str
    state: str
    step: str
    dry_run: bool
    started_at: datetime
    finished_at: datetime | None
    counts: Mapping[str, int]
    survey: Mapping[str, Any]
    model_calls: int
    cost_usd: float | None
    lines: tuple[str, ...] = ()
    items: tuple[NightItemReport, ...] = ()
    safety: tuple[Mapping[str, Any], ...] = ()
    preview: tuple[Mapping[str, Any], ...] = ()
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


def summarize_night(night: Night) -> NightReport:
    """Report a night without its items, for lists."""
    return NightReport(
        id=night.id,
        agent=night.agent_id or None,
        trigger=night.trigger.value,
        state=night.state,
        step=night.step,
        dry_run=night.dry_run,
        started_at=night.started_at,
        finished_at=night.finished_at,
        counts=night.counts,
        survey=night.survey,
        model_calls=night.model_calls,
        cost_usd=None if night.cost_usd is None else float(night.cost_usd),
        error=night.error,
    )


async def report_night(deps: NightDeps, space: SpaceId, night: UUID) -> NightReport:
    """Report a night with its items and lines. Raises `NotFound`."""
    found = await find_night(deps, space, night)
    async with deps.store.transaction() as transaction:
        items = await list_items(transaction, space, night)
        named = {each.memory_id for each in items} | {
            UUID(each["memory"]) for each in found.preview if each.get("memory")
        }
        memories = await find_memories(transaction, space, named)
        changes = await transaction.all(
            Q["changes_by_id"], space=space, ids=[each.change_id for each in items if each.change_id]
        )
        safety = await transaction.all(Q["safety_events_of"], space=space, night=night)
    by_id = {row["id"]: change_from_row(row) for row in changes}
    told = tuple(_describe_item(each, memories, by_id.get(each.change_id)) for each in items)
    return replace(
        summarize_night(found),
        items=told,
        lines=tuple(build_lines(found, told, len(safety))),
        safety=tuple(
            {name: row[name] for name in ("ceiling", "enforced", "memory_id", "wanted", "allowed", "reason")}
            for row in safety
        ),
        preview=found.preview,
    )


def _describe_item(item: NightItem, memories: Mapping[MemoryId, Memory], change: Change | None) -> NightItemReport:
    memory = memories.get(MemoryId(item.memory_id))
    content = memory.content if memory else ""
    before, after = "", content
    if change is not None:
        was = dict(change.before.get("memories", {}).get(str(item.memory_id), {}))
        now = dict(change.touched(MemoryId(item.memory_id)))
        if item.kind in (NightItemKind.REINFORCED, NightItemKind.WEAKENED) and memory is not None:
            before, after = (f"{_center(memory, columns):.2f}" for columns in (was, now))
        elif item.kind is NightItemKind.ANNOTATED:
            before, after = _format_notes(was), _format_notes(now)
        else:
            before, after = content, item.kind.value
    return NightItemReport(
        change=str(item.id),
        kind=item.kind,
        memory=str(item.memory_id),
        before=before,
        after=after,
        reason=change.reason if change else "",
        is_undone=item.undone_at is not None,
    )


def _center(memory: Memory, columns: Mapping[str, Any]) -> float:
    alpha, beta = columns.get("weight_alpha", memory.weight_alpha), columns.get("weight_beta", memory.weight_beta)
    return Weight(alpha=alpha, beta=beta).center


def _format_notes(columns: Mapping[str, Any]) -> str:
    return "; ".join(str(value) for value in columns.values() if value)


def build_lines(night: Night, items: Sequence[NightItemReport], safety: int) -> list[str]:
    """Tell a night in at most twelve lines that a person likes to read."""
    lines = list(_lines(night, items, safety))
    if len(lines) > MOST_LINES:
        rest = len(lines) - MOST_LINES + 1
        lines = [*lines[: MOST_LINES - 1], f"… and {rest} more."]
    return lines


def _lines(night: Night, items: Sequence[NightItemReport], safety: int) -> Iterator[str]:
    if night.error:
        yield f"The night ended early: {night.error}"
    if night.dry_run:
        yield f"A preview: {night.counts.get('planned', 0)} changes would be made."
        yield from (
            f"Would {each['op']}: {_quote(each.get('text') or each.get('memory') or '')}" for each in night.preview
        )
        return
    counted = Counter(each.kind for each in items)
    groups = night.survey.get("groups", [])
    if groups:
        yield f"Noticed {len(groups)} groups of memories that recur, the largest with {groups[0]['causes']} causes."
    for each in items:
        if each.kind in (NightItemKind.LEARNED, NightItemKind.PROPOSED, NightItemKind.REINFORCED):
            undone = " (undone)" if each.is_undone else ""
            yield f"{_VERBS[each.kind]} {_quote(each.after, each)} [{each.memory[:SHORT]}]{undone}"
    for kind, words in _SUMMARIES.items():
        if counted[kind]:
            yield words.format(n=counted[kind])
    yield from (
        f"Dropped {night.counts[name]} drafts that {why}." for name, why in REFUSALS.items() if night.counts.get(name)
    )
    if safety:
        yield f"Safety ceilings met {safety} changes."
    waiting = night.counts.get("left_over", 0) + night.counts.get("waiting", 0) + len(night.left_over)
    if waiting:
        yield f"{waiting} things wait for the next night."
    if counted[NightItemKind.PROPOSED]:
        yield f"{counted[NightItemKind.PROPOSED]} promotions wait for you in the inbox."
    if not items and not waiting:
        yield "Nothing was changed."


_VERBS = {NightItemKind.LEARNED: "Made", NightItemKind.PROPOSED: "Asks you about", NightItemKind.REINFORCED: "Promoted"}
_SUMMARIES = {
    NightItemKind.CITED: "Gave {n} insights new sources.",
    NightItemKind.ANNOTATED: "Added notes to {n} memories.",
    NightItemKind.WEAKENED: "Let {n} sources step back behind their insight.",
    NightItemKind.SUPERSEDED: "Replaced {n} insights.",
    NightItemKind.ARCHIVED: "Put {n} derived memories away, because their ground is gone.",
}


def _quote(text: str, item: NightItemReport | None = None) -> str:
    if item is not None and item.kind is NightItemKind.REINFORCED:
        return f"a memory from {item.before} to {item.after}, {item.reason}"
    return f'"{text[:QUOTED]}{"…" if len(text) > QUOTED else ""}"'
