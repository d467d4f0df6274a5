"""Creates, changes and lists censors, with an undo log.

A rule is a pattern; plain prose is taken as a meaning, and the result says so. Creation also reports how many
recent turns the rule would have triggered on, which exposes rules that never or always match. Every change is
logged, emitted as an event, and can be undone until a later change touches the same columns. Nothing is
deleted here.
Interfaces check permissions; the rule that only a person or the system may create blocks is also enforced
here.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.embedding.profiles import ThresholdName
from festinger.errors import BadInput, NotFound, Refused, UndoBlocked
from festinger.ids import DEFAULT_AGENT, Origin, Scope, SpaceId
from festinger.memory.censors.censor import (
    MAY_BLOCK,
    Censor,
    CensorAction,
    CensorTextKind,
    CensorTriggerRecord,
    censor_from_row,
    parse_censor_action,
    parse_text_kinds,
    trigger_from_row,
)
from festinger.memory.censors.check import (
    CensorCache,
    embed_for_compare,
    get_embedder,
    invalidate_censors,
    round_cosine,
)
from festinger.memory.deps import MemoryDeps
from festinger.records import record_json
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.text.regex import build_pattern_set, check_pattern, escape_pattern, is_prose, to_searchable

Q = load_queries("festinger.memory")

COLUMNS = ("reason", "pattern", "meaning", "domain", "applies_to", "action", "escalation_threshold", "active")
"""The columns that can be changed."""
LONGEST_WORDS = 1_000
MOST_STRIKES = 10_000


class CensorOp(StrEnum):
    ADD = "add"
    UPDATE = "update"
    ESCALATE = "escalate"
    DEMOTE = "demote"
    DEACTIVATE = "deactivate"
    ACTIVATE = "activate"


@dataclass(frozen=True, slots=True, kw_only=True)
class CensorChangeResult:
    """A censor after a change; `change` is None if nothing changed."""

    censor: Censor
    change: UUID | None = None

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CensorChangeNote:
    """The operation, author and reason of a change."""

    op: CensorOp
    by: str
    reason: str = ""


async def update(
    deps: MemoryDeps,
    space: SpaceId,
    censor: UUID,
    *,
    by: str,
    reason: str = "",
    origin: Origin = Origin.PERSON,
    **values: Any,
) -> CensorChangeResult:
    """Change `reason_shown`, `pattern`, `meaning`, `domain`, `on`, `action`, `threshold` or `active`.

    Raises `NotFound`, `BadInput`, `Refused`.
    """
    columns = parse_censor_updates(values)
    require_block_permission(columns.get("action"), origin)
    note = CensorChangeNote(op=CensorOp.UPDATE, by=by, reason=reason)
    async with deps.store.transaction() as transaction:
        found = await lock_censor(transaction, space, censor)
        if not (columns.get("pattern", found.pattern) or columns.get("meaning", found.meaning)):
            raise BadInput("A censor needs a pattern or a meaning.", hint="Deactivate it instead.")
        return await change_censor(deps, transaction, found, columns, note)


async def escalate(deps: MemoryDeps, space: SpaceId, censor: UUID, *, by: str, reason: str = "") -> CensorChangeResult:
    """Turn a warning into a block."""
    return await _set(
        deps,
        space,
        censor,
        {"action": CensorAction.BLOCK},
        CensorChangeNote(op=CensorOp.ESCALATE, by=by, reason=reason),
    )


async def demote(deps: MemoryDeps, space: SpaceId, censor: UUID, *, by: str, reason: str = "") -> CensorChangeResult:
    """Turn a block into a warning."""
    return await _set(
        deps, space, censor, {"action": CensorAction.WARN}, CensorChangeNote(op=CensorOp.DEMOTE, by=by, reason=reason)
    )


async def deactivate(
    deps: MemoryDeps, space: SpaceId, censor: UUID, *, by: str, reason: str = ""
) -> CensorChangeResult:
    """Switch a censor off."""
    return await _set(
        deps, space, censor, {"active": False}, CensorChangeNote(op=CensorOp.DEACTIVATE, by=by, reason=reason)
    )


async def activate(deps: MemoryDeps, space: SpaceId, censor: UUID, *, by: str, reason: str = "") -> CensorChangeResult:
    """Switch a censor on again."""
    return await _set(
        deps, space, censor, {"active": True}, CensorChangeNote(op=CensorOp.ACTIVATE, by=by, reason=reason)
    )


async def undo(deps: MemoryDeps, space: SpaceId, change: UUID, *, by: str) -> CensorChangeResult:
    """Undo a change; idempotent. Raises `NotFound`, `UndoBlocked`."""
    async with deps.store.transaction() as transaction:
        row = await transaction.maybe(Q["lock_censor_change"], space=space, id=change)
        if row is None:
            raise NotFound(f"There is no change `{change}`.")
        found = await lock_censor(transaction, space, row["censor_id"])
        if row["undone_at"] is not None:
            return CensorChangeResult(censor=found, change=change)
        if select_columns(found, row["after"]) != row["after"]:
            raise UndoBlocked("The censor was changed again since.", censor=str(found.id))
        put_back = row["before"] or {"active": False}
        restored = await _write(deps, transaction, found, put_back)
        await transaction.run(Q["mark_censor_undone"], space=space, id=change, at=deps.clock(), by=by)
        await publish_censor_change(
            deps,
            transaction,
            restored,
            was=found.standing,
            note=CensorChangeNote(op=CensorOp.UPDATE, by=by, reason="undone"),
        )
    return CensorChangeResult(censor=restored, change=change)


async def lock_censor(transaction: Transaction, space: SpaceId, censor: UUID) -> Censor:
    """Load one censor and lock it until the transaction ends."""
    row = await transaction.maybe(Q["lock_censor"], space=space, id=censor)
    if row is None:
        raise NotFound(f"There is no censor `{censor}`.")
    return censor_from_row(row)


async def change_censor(
    deps: MemoryDeps, transaction: Transaction, censor: Censor, columns: Mapping[str, Any], note: CensorChangeNote
) -> CensorChangeResult:
    """Change a locked censor, log the change and emit an event; do nothing if it has the values already."""
    plain = {name: _plain(value) for name, value in columns.items()}
    before = select_columns(censor, plain)
    if before == plain:
        return CensorChangeResult(censor=censor)
    changed = await _write(deps, transaction, censor, plain)
    change = await record_censor_change(deps, transaction, changed, before=before, after=plain, note=note)
    await publish_censor_change(deps, transaction, changed, was=censor.standing, note=note)
    return CensorChangeResult(censor=changed, change=change)


async def record_censor_change(
    deps: MemoryDeps,
    transaction: Transaction,
    censor: Censor,
    *,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    note: CensorChangeNote,
) -> UUID:
    change = deps.new_uuid()
    await transaction.run(
        Q["write_censor_change"],
        space=censor.space_id,
        id=change,
        censor=censor.id,
        op=note.op.value,
        before=json.dumps(before),
        after=json.dumps(after),
        reason=note.reason[:500],
        by=note.by,
        at=deps.clock(),
    )
    return change


async def publish_censor_change(
    deps: MemoryDeps, transaction: Transaction, censor: Censor, *, was: str | None, note: CensorChangeNote
) -> None:
    """Emit the change event and make every process reload the censors."""
    await invalidate_censors(transaction, censor.space_id)
    await deps.outbox.emit(
        transaction,
        "censor_changed",
        space=censor.space_id,
        subject=f"censor:{censor.id}",
        payload={
            "censor": str(censor.id),
            "from": was,
            "to": censor.standing,
            "by": note.by[:200],
            "why": (note.reason or note.op.value)[:200],
        },
    )


def require_block_permission(action: object, origin: Origin) -> None:
    """Raise `Refused` unless a person or the system asks for a block."""
    if action == CensorAction.BLOCK and origin not in MAY_BLOCK:
        raise Refused(
            "Only a person may let a censor stop something.",
            hint="Make it a warning, or propose it to a person.",
            reason="needs_person",
        )


def parse_censor_updates(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert updates to columns. Raises `BadInput`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name not in _READERS:
            raise BadInput(f"`{name[:40]}` of a censor cannot be changed.")
        column, reader = _READERS[name]
        found[column] = reader(value)
    if not found:
        raise BadInput("There is nothing to change.", hint="Name what should be another.")
    return found


def normalize_censor_text(text: str | None) -> str | None:
    """Normalize the whitespace of a text; None if it is empty."""
    plain = " ".join((text or "").split())
    if len(plain) > LONGEST_WORDS:
        raise BadInput(f"This has at most {LONGEST_WORDS:,} characters.")
    return plain or None


def validate_threshold(number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST_STRIKES:
        raise BadInput(f"A threshold is a whole number from 1 to {MOST_STRIKES:,}.")
    return number


def validate_pattern(text: str | None) -> str | None:
    return check_pattern(text) if text else None


def select_columns(censor: Censor, names: Iterable[str]) -> dict[str, Any]:
    """Return some columns of a censor in their logged form."""
    return {name: _plain(getattr(censor, name)) for name in names}


_READERS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "reason_shown": ("reason", lambda text: normalize_censor_text(text) or ""),
    "pattern": ("pattern", validate_pattern),
    "meaning": ("meaning", normalize_censor_text),
    "domain": ("domain", normalize_censor_text),
    "on": ("applies_to", parse_text_kinds),
    "action": ("action", parse_censor_action),
    "threshold": ("escalation_threshold", validate_threshold),
    "active": ("active", bool),
}


async def _set(
    deps: MemoryDeps, space: SpaceId, censor: UUID, columns: Mapping[str, Any], note: CensorChangeNote
) -> CensorChangeResult:
    async with deps.store.transaction() as transaction:
        found = await lock_censor(transaction, space, censor)
        return await change_censor(deps, transaction, found, columns, note)


async def _write(deps: MemoryDeps, transaction: Transaction, censor: Censor, columns: Mapping[str, Any]) -> Censor:
    row = await transaction.one(
        Q["restate_censor"], space=censor.space_id, id=censor.id, **select_columns(censor, COLUMNS) | dict(columns)
    )
    return censor_from_row(row)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(each) for each in value]
    return str(value) if isinstance(value, StrEnum) else value


TURNS = 1_000
"""Recent turns that a new rule is tested on. For a meaning all are embedded, which takes seconds, once."""

SPOKEN_AT = {CensorTextKind.INPUT: "user", CensorTextKind.OUTPUT: "assistant", CensorTextKind.TOOL: "tool"}
"""The role whose turns a text kind covers; learned text may come from any role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CensorRequest:
    """A request to create a censor."""

    rule: str = ""
    meaning: str | None = None
    reason: str = ""
    domain: str | None = None
    on: tuple[str, ...] = (CensorTextKind.OUTPUT, CensorTextKind.TOOL)
    action: str = CensorAction.WARN
    literal: bool = False
    threshold: int | None = None
    origin: Origin = Origin.PERSON
    shared: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRule:
    """A parsed rule: a pattern, a meaning, or both."""

    pattern: str | None
    meaning: str | None
    said: str


async def add_censor(watch: CensorCache, scope: Scope, rule: CensorRequest, *, by: str = "owner") -> Censor:
    """Create a censor. Raises `BadInput` with construct and position, `Refused` for unauthorized blocks."""
    read = parse_rule(rule)
    deps = watch.deps
    async with deps.store.transaction() as transaction:
        made = (await add_censor_in_transaction(deps, transaction, scope, rule, by=by)).censor
    watch.forget(scope.space)
    hits, looked_at = await count_past_hits(deps, made)
    return replace(made, would_have_hit=hits, looked_at=looked_at, said=read.said)


async def add_censor_in_transaction(
    deps: MemoryDeps, transaction: Transaction, scope: Scope, rule: CensorRequest, *, by: str
) -> CensorChangeResult:
    """Create a censor in the caller's transaction; the caller drops the cache afterwards."""
    read = parse_rule(rule)
    require_block_permission(parse_censor_action(rule.action), rule.origin)
    shared = scope.agent == DEFAULT_AGENT if rule.shared is None else rule.shared
    default = deps.terms(scope.space).memory.censor_threshold
    row = await transaction.one(
        Q["add_censor"],
        space=scope.space,
        id=deps.new_uuid(),
        agent=None if shared else scope.agent,
        reason=normalize_censor_text(rule.reason) or "",
        pattern=read.pattern,
        meaning=read.meaning,
        domain=normalize_censor_text(rule.domain),
        applies_to=[where.value for where in parse_text_kinds(rule.on)],
        action=parse_censor_action(rule.action).value,
        origin=rule.origin.value,
        threshold=default if rule.threshold is None else validate_threshold(rule.threshold),
        at=deps.clock(),
    )
    made = censor_from_row(row)
    note = CensorChangeNote(op=CensorOp.ADD, by=by)
    after = select_columns(made, ["active", "action"])
    change = await record_censor_change(deps, transaction, made, before={}, after=after, note=note)
    await publish_censor_change(deps, transaction, made, was=None, note=note)
    return CensorChangeResult(censor=made, change=change)


async def find_censor_by_rule(deps: MemoryDeps, space: SpaceId, rule: CensorRequest) -> Censor | None:
    """Find an active censor with the same rule that covers the same text kinds."""
    read, places = parse_rule(rule), set(parse_text_kinds(rule.on))
    rows = await deps.store.all(Q["censors_in_force"], space=space)
    return next(
        (
            each
            for each in map(censor_from_row, rows)
            if (each.pattern, each.meaning) == (read.pattern, read.meaning) and places <= set(each.applies_to)
        ),
        None,
    )


async def count_past_hits(deps: MemoryDeps, censor: Censor) -> tuple[int, int]:
    """Count the recent turns that a censor would have triggered on, and the turns checked."""
    roles = sorted(SPOKEN_AT[where] for where in censor.applies_to if where in SPOKEN_AT)
    rows = await deps.store.all(
        Q["latest_turns"],
        space=censor.space_id,
        roles=None if CensorTextKind.LEARN in censor.applies_to else roles,
        limit=TURNS,
    )
    texts = [to_searchable(row["content"]) for row in rows]
    struck = set(_find_pattern_hits(censor, texts)) | set(await _find_meaning_hits(deps, censor, texts))
    return len(struck), len(texts)


async def get_censor(deps: MemoryDeps, space: SpaceId, censor: UUID) -> Censor:
    """Return one censor. Raises `NotFound`."""
    row = await deps.store.maybe(Q["find_censor"], space=space, id=censor)
    if row is None:
        raise NotFound(f"There is no censor `{censor}`.")
    return censor_from_row(row)


async def load_page_of_censors(
    deps: MemoryDeps, space: SpaceId, *, active: bool | None = None, before: int | None = None, limit: int = 50
) -> list[Censor]:
    """List censors, newest first; `before` is the `seq` of the last one shown."""
    rows = await deps.store.all(Q["censors"], space=space, active=active, before=before, limit=limit)
    return [censor_from_row(row) for row in rows]


async def list_triggers(
    deps: MemoryDeps, space: SpaceId, censor: UUID, *, before: int | None = None, limit: int = 50
) -> list[CensorTriggerRecord]:
    """List the triggers of a censor, newest first."""
    rows = await deps.store.all(Q["triggers_of"], space=space, censor=censor, before=before, limit=limit)
    return [trigger_from_row(row) for row in rows]


def parse_rule(rule: CensorRequest) -> ParsedRule:
    """Parse a rule; plain prose is taken as a meaning."""
    text, meaning = rule.rule.strip(), normalize_censor_text(rule.meaning)
    if not text and meaning is None:
        raise BadInput("A censor needs a rule or a meaning.", hint="Give a pattern, or say what is meant.")
    if text and not rule.literal and meaning is None and is_prose(text):
        reading = "This is taken for what is meant, not for a pattern; `literal` takes it word for word."
        return ParsedRule(pattern=None, meaning=normalize_censor_text(text), said=reading)
    pattern = validate_pattern(escape_pattern(text) if rule.literal else text)
    return ParsedRule(pattern=pattern, meaning=meaning, said="")


def _find_pattern_hits(censor: Censor, texts: Sequence[str]) -> list[int]:
    patterns = build_pattern_set({censor.id: censor.pattern} if censor.pattern else {})
    return [place for place, text in enumerate(texts) if patterns.strikes(text)]


async def _find_meaning_hits(deps: MemoryDeps, censor: Censor, texts: Sequence[str]) -> list[int]:
    embedder = get_embedder(deps)
    threshold = embedder.profile.threshold(ThresholdName.CENSOR) if embedder else None
    if not censor.meaning or threshold is None or not texts:
        return []
    vectors = await embed_for_compare(deps, [censor.meaning, *texts])
    if vectors is None:
        return []
    cosines = vectors[1:] @ vectors[0]
    return [place for place, cosine in enumerate(cosines) if round_cosine(cosine) >= threshold]
