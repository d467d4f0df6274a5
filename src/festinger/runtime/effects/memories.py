"""Effects of approved proposals on memories: change, promote to identity, or forget.

Changes are what a person may do by hand (merge, supersede, archive, restore, edit, split), done in the
reviewer's name and undone by the package `memory`. Ids in payloads come from models and people and are
validated before anything is looked up. An agent may only request to forget what it sees, by id, so that the
request does not repeat the words; that cannot be undone, and only ids are kept of it.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, NotFound, UndoBlocked
from festinger.ids import MemoryId, Scope, read_id
from festinger.memory.changes import (
    BeliefUpdate,
    adjust_belief,
    find_memory,
    load_existing_memories,
    lock_memory,
    lock_owners,
)
from festinger.memory.confidence import Weight, reinforce_weight
from festinger.memory.deps import MemoryDeps
from festinger.memory.edit import (
    MOST_PARTS,
    MemoryEditResult,
    archive,
    edit,
    learn_replacement_texts,
    merge,
    restore,
    supersede,
)
from festinger.memory.erasure.erase import ErasureDeps, forget_in_transaction
from festinger.memory.erasure.selector import ErasureSelector, find_erasure_targets
from festinger.memory.model import Memory, Status
from festinger.memory.query import require_visible
from festinger.memory.undo import undo_in_transaction
from festinger.proposals.deps import (
    Afterwards,
    EffectContext,
    EffectPreview,
    EffectResult,
    null_follow_up,
    require_text,
)
from festinger.proposals.model import ProposalType
from festinger.proposals.verdicts.apply import with_blockers_newest_first
from festinger.store.pool import NestedStore


def payload_id(payload: Mapping[str, Any], name: str) -> UUID:
    return _read(payload.get(name), name)


def payload_ids(payload: Mapping[str, Any], name: str) -> list[MemoryId]:
    """Return the ids that a payload must have, at least one."""
    given = payload.get(name)
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise BadInput(f"The payload must have a list of ids `{name}`.")
    return [MemoryId(_read(each, name)) for each in dict.fromkeys(given)]


def preview_targets(wanted: Iterable[UUID], found: Mapping[MemoryId, Memory], **more: Any) -> EffectPreview:
    """Preview the state of some memories. Only forgetting makes one disappear."""
    gone = tuple(target_name(each) for each in wanted if each not in found)
    versions = {target_name(id_): memory.version for id_, memory in found.items()}
    return EffectPreview(versions=versions, gone=gone, is_forgotten=bool(gone), **more)


def target_name(memory: UUID) -> str:
    """Return the name of a memory among the targets of a proposal."""
    return f"memory:{memory}"


def _read(value: object, name: str) -> UUID:
    try:
        return read_id(str(value))
    except (BadInput, NotFound) as error:
        raise BadInput(f"`{str(value)[:40]}` is no id; the payload must have one as `{name}`.") from error


Found = Mapping[MemoryId, Memory]
Doing = Callable[[MemoryDeps, EffectContext, Sequence[MemoryId]], Awaitable[EffectResult]]

IDENTITY = 0.85
"""Above this center a memory is part of the agent's identity."""
GAINS = (2.0, 5.0)

REASON = "approved"


class MemoryChangeEffect:
    """Merge, supersede, archive, restore, edit or split."""

    def __init__(self, deps: MemoryDeps) -> None:
        self._deps = deps

    def check(self, payload: Mapping[str, Any]) -> None:
        op, ids = _parse_op(payload), payload_ids(payload, "ids")
        fewest, most = _HOW_MANY[op]
        if not fewest <= len(ids) <= most:
            raise BadInput(f"`{op}` needs {fewest} ids{' or more' if most > fewest else ''}.")
        if op == "edit":
            require_text(payload, "text")
        if op == "split":
            _parts(payload)

    async def look(self, operation: EffectContext) -> EffectPreview:
        op, ids = _parse_op(operation.payload), payload_ids(operation.payload, "ids")
        found = await load_existing_memories(operation.transaction, operation.space, ids)
        is_done = len(found) == len(ids) and _is_done(op, ids, found, operation.payload)
        return preview_targets(ids, found, is_done=is_done, payload=operation.payload, says=_SAYS[op])

    async def apply(self, operation: EffectContext) -> EffectResult:
        op, ids = _parse_op(operation.payload), payload_ids(operation.payload, "ids")
        before = await load_existing_memories(operation.transaction, operation.space, ids)
        done = await _OPS[op](replace(self._deps, store=NestedStore(operation.transaction)), operation, ids)
        after = await load_existing_memories(operation.transaction, operation.space, ids)
        return replace(done, before=_shown(before), after=_shown(after) | dict(done.after))

    async def undo(self, operation: EffectContext, applied: EffectResult) -> Afterwards:
        for part in applied.after.get("parts", []):
            made = await lock_memory(operation.transaction, operation.space, UUID(part))
            if made.is_live:
                joined = replace(self._deps, store=NestedStore(operation.transaction))
                await archive(joined, operation.space, made.id, by=operation.by, reason="the split was undone")
        await undo_changes(self._deps, operation, applied)
        return null_follow_up


class IdentityPromotionEffect:
    """Raise the weight of a memory until it is part of the agent's identity."""

    def __init__(self, deps: MemoryDeps) -> None:
        self._deps = deps

    def check(self, payload: Mapping[str, Any]) -> None:
        payload_id(payload, "memory_id")
        _parse_gain(payload)

    async def look(self, operation: EffectContext) -> EffectPreview:
        memory = MemoryId(payload_id(operation.payload, "memory_id"))
        found = await load_existing_memories(operation.transaction, operation.space, [memory])
        is_done = (
            memory in found
            and _weight_after_gain(found[memory], _parse_gain(operation.payload)) == found[memory].weight
        )
        says = f"Holds this memory more deeply, past {IDENTITY} and never past 0.95."
        return preview_targets([memory], found, is_done=is_done, payload=operation.payload, says=says)

    async def apply(self, operation: EffectContext) -> EffectResult:
        held = await lock_memory(operation.transaction, operation.space, payload_id(operation.payload, "memory_id"))
        if held.status is not Status.ACTIVE:
            raise BadInput(f"A memory that is {held.status.value} cannot be held more deeply.")
        deeper = _weight_after_gain(held, _parse_gain(operation.payload))
        belief = replace(held.belief, weight=deeper)
        change = await adjust_belief(
            self._deps,
            operation.transaction,
            operation.space,
            BeliefUpdate(memory=held.id, belief=belief),
            by=operation.by,
            reason="part of who the agent is",
        )
        return EffectResult(
            before=_weight(held.id, held.weight),
            after=_weight(held.id, deeper) | {"gained": deeper.alpha - held.weight.alpha},
            changes=(str(change),),
        )

    async def undo(self, operation: EffectContext, applied: EffectResult) -> Afterwards:
        """Restore the weight; if it changed since, take away only what was gained here."""
        try:
            async with operation.transaction.savepoint():
                await undo_changes(self._deps, operation, applied)
        except UndoBlocked:
            await self._remove_gain(operation, applied)
        return null_follow_up

    async def _remove_gain(self, operation: EffectContext, applied: EffectResult) -> None:
        held = await lock_memory(operation.transaction, operation.space, UUID(applied.after["memory"]))
        least = min(applied.before["alpha"], held.weight.alpha)
        weight = Weight(alpha=max(least, held.weight.alpha - applied.after["gained"]), beta=held.weight.beta)
        effect = BeliefUpdate(memory=held.id, belief=replace(held.belief, weight=weight))
        reason = "no longer part of who the agent is"
        await adjust_belief(self._deps, operation.transaction, operation.space, effect, by=operation.by, reason=reason)


async def undo_changes(deps: MemoryDeps, operation: EffectContext, applied: EffectResult) -> None:
    """Undo the changes of an effect, last one first."""
    for change in reversed(applied.changes):
        try:
            await undo_in_transaction(deps, operation.transaction, operation.space, UUID(change), by=operation.by)
        except UndoBlocked as error:
            raise with_blockers_newest_first(error) from error


async def _merge(deps: MemoryDeps, operation: EffectContext, ids: Sequence[MemoryId]) -> EffectResult:
    stays, changes = ids[0], []
    for other in ids[1:]:
        done = await merge(deps, operation.space, [stays, other], by=operation.by, reason=REASON)
        stays = done.memory.id
        changes.append(str(done.change))
    return EffectResult(changes=tuple(changes))


async def _supersede(deps: MemoryDeps, operation: EffectContext, ids: Sequence[MemoryId]) -> EffectResult:
    old, new = ids
    return _changed(await supersede(deps, operation.space, old, new, by=operation.by, reason=REASON))


async def _archive(deps: MemoryDeps, operation: EffectContext, ids: Sequence[MemoryId]) -> EffectResult:
    done = [await archive(deps, operation.space, each, by=operation.by, reason=REASON) for each in ids]
    return _changed(*done)


async def _restore(deps: MemoryDeps, operation: EffectContext, ids: Sequence[MemoryId]) -> EffectResult:
    done = [await restore(deps, operation.space, each, by=operation.by, reason=REASON) for each in ids]
    return _changed(*done)


async def _edit(deps: MemoryDeps, operation: EffectContext, ids: Sequence[MemoryId]) -> EffectResult:
    return _changed(await edit(deps, operation.space, ids[0], require_text(operation.payload, "text"), by=operation.by))


async def _split(deps: MemoryDeps, operation: EffectContext, ids: Sequence[MemoryId]) -> EffectResult:
    """Learn each part, then archive the source. Embedding is too slow for a transaction and comes later.

    A part that only confirmed an existing memory is not archived on undo.
    """
    parted = await find_memory(operation.transaction, operation.space, ids[0])
    await lock_owners(operation.transaction, operation.space, [parted.agent_id])
    source = await lock_memory(operation.transaction, operation.space, ids[0])
    said = await learn_replacement_texts(deps, operation.transaction, [source], _parts(operation.payload))
    done = await archive(deps, operation.space, source.id, by=operation.by, reason="parted")
    fresh = [str(each.memory.id) for each in said if each.memory and each.created]
    return replace(_changed(done), after={"parts": fresh})


_OPS: Mapping[str, Doing] = {
    "merge": _merge,
    "supersede": _supersede,
    "archive": _archive,
    "restore": _restore,
    "edit": _edit,
    "split": _split,
}

_HOW_MANY = {
    "merge": (2, 20),
    "supersede": (2, 2),
    "archive": (1, 20),
    "restore": (1, 20),
    "edit": (1, 1),
    "split": (1, 1),
}

_SAYS = {
    "merge": "Folds these memories into one.",
    "supersede": "Lets the second memory stand in place of the first.",
    "archive": "Puts these memories away; they are not recalled any more.",
    "restore": "Brings these memories back.",
    "edit": "Gives this memory other words.",
    "split": "Parts this memory into several and puts it away.",
}


def _parse_op(payload: Mapping[str, Any]) -> str:
    op = payload.get("op")
    if op not in _OPS:
        raise BadInput(f"`{str(op)[:40]}` is nothing that is done to memories.", hint=f"Say {', '.join(_OPS)}.")
    return str(op)


def _parts(payload: Mapping[str, Any]) -> list[str]:
    """Return the texts into which a memory is split: a list, or one text with a part per line."""
    given = payload.get("texts", payload.get("text"))
    texts = given.splitlines() if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise BadInput("To split, the payload must have the parts as `texts`.")
    parts = [each.strip() for each in texts if each.strip()]
    if not 2 <= len(parts) <= MOST_PARTS:
        raise BadInput(f"A memory is parted into 2 to {MOST_PARTS} texts.")
    return parts


def _is_done(op: str, ids: Sequence[MemoryId], found: Found, payload: Mapping[str, Any]) -> bool:
    """Whether the memories are already as the change would leave them."""
    first = found[ids[0]]
    match op:
        case "archive":
            return all(found[each].status is Status.ARCHIVED for each in ids)
        case "restore":
            return all(found[each].status is Status.ACTIVE for each in ids)
        case "edit":
            return first.content == payload.get("text")
        case "merge":
            return sum(found[each].is_live for each in ids) < 2
    return not first.is_live


def _changed(*done: MemoryEditResult) -> EffectResult:
    return EffectResult(changes=tuple(str(each.change) for each in done if each.change))


def _shown(memories: Found) -> dict[str, Any]:
    """Return the state of memories, without their words: those stay where forgetting finds them."""
    return {str(id_): {"status": each.status.value, "version": each.version} for id_, each in memories.items()}


def _parse_gain(payload: Mapping[str, Any]) -> float:
    gain = payload.get("gain", GAINS[0])
    if gain not in GAINS:
        raise BadInput(f"The gain is {GAINS[0]} or {GAINS[1]}.")
    return float(gain)


def _weight_after_gain(memory: Memory, gain: float) -> Weight:
    """Return the weight after the gain, which may pass the bound that only a person may lift."""
    return reinforce_weight(memory.weight, gain, immutable=memory.immutable, ceiling=memory.belief.weight_ceiling)


def _weight(memory: MemoryId, weight: Weight) -> dict[str, Any]:
    return {"memory": str(memory), "alpha": weight.alpha, "beta": weight.beta, "center": weight.center}


CATEGORY, SCOPE = "safety", "memory"


async def build_forget_proposal(deps: MemoryDeps, scope: Scope, memory: UUID, *, reason: str) -> dict[str, Any]:
    """Build the proposal to forget a memory. Raises `NotFound` for one that this agent does not see."""
    async with deps.store.transaction() as transaction:
        found = require_visible(scope, await find_memory(transaction, scope.space, memory))
    return {
        "what": f"Forget memory {found.id}",
        "category": CATEGORY,
        "scope": SCOPE,
        "type": ProposalType.FORGET_REQUEST.value,
        "why": reason,
        "payload": {"memory_ids": [str(found.id)], "reason": reason},
    }


class ForgetEffect:
    def __init__(self, eraser: ErasureDeps) -> None:
        self._eraser = eraser

    def check(self, payload: Mapping[str, Any]) -> None:
        payload_ids(payload, "memory_ids")
        require_text(payload, "reason")

    async def look(self, operation: EffectContext) -> EffectPreview:
        ids = payload_ids(operation.payload, "memory_ids")
        found = await load_existing_memories(operation.transaction, operation.space, ids)
        says = "Forgets these memories and all that derives from them. This cannot be undone."
        seen = preview_targets(ids, found, payload=operation.payload, says=says)
        return replace(seen, is_forgotten=not found, gone=seen.gone if not found else ())

    async def apply(self, operation: EffectContext) -> EffectResult:
        ids = tuple(payload_ids(operation.payload, "memory_ids"))
        meant = await find_erasure_targets(operation.transaction, operation.space, ErasureSelector(ids=ids))
        joined = replace(self._eraser.deps, store=NestedStore(operation.transaction))
        plan = await forget_in_transaction(
            replace(self._eraser, deps=joined),
            operation.transaction,
            operation.space,
            meant,
            reason=require_text(operation.payload, "reason"),
            by=operation.by,
        )
        return EffectResult(after=plan.as_json())

    async def undo(self, operation: EffectContext, applied: EffectResult) -> Afterwards:
        raise UndoBlocked(
            "What was forgotten cannot be brought back.", hint="Say it again, if it is to be known.", changes=[]
        )
