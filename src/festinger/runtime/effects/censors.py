"""Effects of approved proposals on censors.

An approval adds a censor that warns, escalates one from warning to blocking, or demotes it again. The package
`memory` logs each change and undoes it.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, NotFound
from festinger.ids import DEFAULT_AGENT, Scope
from festinger.memory.censors.censor import Censor, CensorAction, parse_force
from festinger.memory.censors.check import CensorCache
from festinger.memory.censors.edit import (
    CensorChangeResult,
    CensorRequest,
    add_censor_in_transaction,
    demote,
    escalate,
    find_same_rule,
    get_censor,
    parse_rule,
    undo,
)
from festinger.memory.deps import MemoryDeps
from festinger.proposals.verdicts.effects import Afterwards, EffectContext, EffectPreview, EffectResult, require_text
from festinger.runtime.effects.memories import payload_id
from festinger.store.pool import NestedStore

REASON = "approved"

_DEEDS: Mapping[CensorAction, Callable[..., Awaitable[CensorChangeResult]]] = {
    CensorAction.BLOCK: escalate,
    CensorAction.WARN: demote,
}


class _CensorEffect:
    """Base of the effects on censors."""

    def __init__(self, watch: CensorCache) -> None:
        self._watch = watch

    def joined(self, operation: EffectContext) -> MemoryDeps:
        """Return the dependencies of the package within the transaction of the verdict."""
        return replace(self._watch.deps, store=NestedStore(operation.transaction))

    async def undo(self, operation: EffectContext, applied: EffectResult) -> Afterwards:
        for change in reversed(applied.changes):
            await undo(self.joined(operation), operation.space, UUID(change), by=operation.by)
        return self._afterwards(operation)

    def _afterwards(self, operation: EffectContext) -> Afterwards:
        async def look_again() -> None:
            self._watch.forget(operation.space)

        return look_again


class CensorRuleEffect(_CensorEffect):
    """Add a censor that warns."""

    def check(self, payload: Mapping[str, Any]) -> None:
        parse_rule(_rule(payload))

    async def look(self, operation: EffectContext) -> EffectPreview:
        duplicate = await find_same_rule(self.joined(operation), operation.space, _rule(operation.payload))
        says = "Makes a censor that warns of what it matches."
        return EffectPreview(is_done=duplicate is not None, payload=operation.payload, says=says)

    async def apply(self, operation: EffectContext) -> EffectResult:
        deps, place = self.joined(operation), Scope(space=operation.space, agent=DEFAULT_AGENT)
        made = await add_censor_in_transaction(
            deps, operation.transaction, place, _rule(operation.payload), by=operation.by
        )
        return EffectResult(
            after={"censor": str(made.censor.id), "standing": made.censor.standing},
            changes=(str(made.change),),
            afterwards=self._afterwards(operation),
        )


class CensorEscalationEffect(_CensorEffect):
    """Let a censor block what it warned of, or only warn of what it blocked."""

    def check(self, payload: Mapping[str, Any]) -> None:
        payload_id(payload, "censor_id")
        parse_force(payload.get("to", CensorAction.BLOCK))

    async def look(self, operation: EffectContext) -> EffectPreview:
        censor, to = (
            payload_id(operation.payload, "censor_id"),
            parse_force(operation.payload.get("to", CensorAction.BLOCK)),
        )
        try:
            found = await get_censor(self.joined(operation), operation.space, censor)
        except NotFound:
            return EffectPreview(gone=(f"censor:{censor}",))
        payload = dict(operation.payload) | {"from": found.action.value, "to": to.value}
        says = f"Lets this censor {'stop what it warns of' if to is CensorAction.BLOCK else 'warn of what it stops'}."
        return EffectPreview(
            versions={f"censor:{censor}": found.version},
            changed=() if found.active else (f"censor:{censor}",),
            is_done=found.action is to,
            payload=payload,
            says=says,
        )

    async def apply(self, operation: EffectContext) -> EffectResult:
        deps, id_ = self.joined(operation), payload_id(operation.payload, "censor_id")
        to = parse_force(operation.payload.get("to", CensorAction.BLOCK))
        was = await get_censor(deps, operation.space, id_)
        done = await _DEEDS[to](deps, operation.space, id_, by=operation.by, reason=REASON)
        if done.change is None:
            raise BadInput(f"This censor is `{to.value}` already.")
        return EffectResult(
            before=_standing(was),
            after=_standing(done.censor),
            changes=(str(done.change),),
            afterwards=self._afterwards(operation),
        )


def _standing(censor: Censor) -> dict[str, Any]:
    return {"censor": str(censor.id), "standing": censor.standing, "version": censor.version}


def _rule(payload: Mapping[str, Any]) -> CensorRequest:
    on = payload.get("on", CensorRequest().on)
    places = (on,) if isinstance(on, str) else tuple(map(str, on))
    return CensorRequest(rule=require_text(payload, "pattern"), reason=str(payload.get("reason", "")), on=places)
