"""The effect of an approved proposal, by its type, with those on settings and on conflicts.

Effects of approved proposals on censors.

An approval adds a censor that warns, escalates one from warning to blocking, or demotes it again. The package
`memory` logs each change and undoes it.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from festinger.errors import BadInput, NoSuchConflict, NotFound, NotProposable, UndoBlocked
from festinger.ids import DEFAULT_AGENT, EVERY_SPACE, Scope, SpaceId
from festinger.memory.censors.censor import Censor, CensorAction, parse_censor_action
from festinger.memory.censors.check import CensorCache
from festinger.memory.censors.edit import (
    CensorChangeResult,
    CensorRequest,
    add_censor_in_transaction,
    demote,
    escalate,
    find_censor_by_rule,
    get_censor,
    parse_rule,
    undo,
)
from festinger.memory.deps import MemoryDeps
from festinger.proposals.deps import (
    Afterwards,
    EffectContext,
    EffectPreview,
    EffectResult,
    Effects,
    ProposalDeps,
    require_all_effects,
    require_text,
)
from festinger.proposals.model import ProposalType
from festinger.proposals.verdicts.tasks import AdviceEffect
from festinger.runtime.effects.memories import ForgetEffect, IdentityPromotionEffect, MemoryChangeEffect, payload_id
from festinger.runtime.erasure import build_erasure_service
from festinger.runtime.settings import erase_setting, write_setting
from festinger.settings.keys import SettingKey, find_setting_key
from festinger.store.pool import NestedStore
from festinger.store.repositories.spaces import lock_config_value
from festinger.world.conflicts import PENDING, find_conflict
from festinger.world.decisions import (
    ConflictDecision,
    ConflictJudge,
    ConflictVerdict,
    decide_conflict,
    parse_dimension_name,
    undo_conflict_decision,
)
from festinger.world.model import WorldDeps, null_follow

if TYPE_CHECKING:
    from festinger.runtime.app import App

REASON = "approved"

_DEEDS: Mapping[CensorAction, Callable[..., Awaitable[CensorChangeResult]]] = {
    CensorAction.BLOCK: escalate,
    CensorAction.WARN: demote,
}


class _CensorEffect:
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
        parse_rule(_build_censor_request(payload))

    async def look(self, operation: EffectContext) -> EffectPreview:
        duplicate = await find_censor_by_rule(
            self.joined(operation), operation.space, _build_censor_request(operation.payload)
        )
        says = "Makes a censor that warns of what it matches."
        return EffectPreview(is_done=duplicate is not None, payload=operation.payload, says=says)

    async def apply(self, operation: EffectContext) -> EffectResult:
        deps, place = self.joined(operation), Scope(space=operation.space, agent=DEFAULT_AGENT)
        made = await add_censor_in_transaction(
            deps, operation.transaction, place, _build_censor_request(operation.payload), by=operation.by
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
        parse_censor_action(payload.get("to", CensorAction.BLOCK))

    async def look(self, operation: EffectContext) -> EffectPreview:
        censor, to = (
            payload_id(operation.payload, "censor_id"),
            parse_censor_action(operation.payload.get("to", CensorAction.BLOCK)),
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
        to = parse_censor_action(operation.payload.get("to", CensorAction.BLOCK))
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


def _build_censor_request(payload: Mapping[str, Any]) -> CensorRequest:
    on = payload.get("on", CensorRequest().on)
    places = (on,) if isinstance(on, str) else tuple(map(str, on))
    return CensorRequest(rule=require_text(payload, "pattern"), reason=str(payload.get("reason", "")), on=places)


GUARDED = ("auth", "secrets", "database", "proposals")
"""Access, secrets, storage, and how people are asked."""


class SettingsChangeEffect:
    def __init__(self, app: "App") -> None:
        self._app = app

    def check(self, payload: Mapping[str, Any]) -> None:
        key = find_proposable_key(require_text(payload, "key"))
        if not isinstance(payload.get("to"), str | int | float):
            raise BadInput("The payload must have the new value as `to`.")
        self._app.settings.change(key.name, _text(payload["to"]), space=_place(key, EVERY_SPACE))

    async def look(self, operation: EffectContext) -> EffectPreview:
        key = find_proposable_key(require_text(operation.payload, "key"))
        present = self._present(key, operation.space)
        wanted, expected = _text(operation.payload.get("to", "")), operation.payload.get("from")
        moved = expected is not None and _text(expected) != present
        return EffectPreview(
            versions={f"setting:{key.name}": present},
            changed=(f"setting:{key.name}",) if moved else (),
            is_done=present == wanted,
            payload=dict(operation.payload) | {"from": present},
            says=f"Sets `{key.name}` to `{wanted}`; it is `{present}` now.",
        )

    async def apply(self, operation: EffectContext) -> EffectResult:
        key = find_proposable_key(require_text(operation.payload, "key"))
        place, to = _place(key, operation.space), _text(operation.payload["to"])
        present = self._present(key, operation.space)
        row = await write_setting(self._app, operation.transaction, key.name, to, by=operation.by, space=place)
        return EffectResult(
            before={"key": key.name, "space": place, "value": present, "row": row},
            after={"key": key.name, "space": place, "value": to, "row": to},
            afterwards=self._app.reread_settings,
        )

    async def undo(self, operation: EffectContext, applied: EffectResult) -> Afterwards:
        key, place = find_setting_key(applied.after["key"]), SpaceId(applied.after["space"])
        row = await lock_config_value(operation.transaction, space=place, key=key.name)
        if row != applied.after["row"]:
            raise UndoBlocked(f"`{key.name}` was set again since.", changes=[f"setting:{key.name}"])
        before = applied.before["row"]
        if before is None:
            await erase_setting(self._app, operation.transaction, key.name, by=operation.by, space=place)
        else:
            await write_setting(self._app, operation.transaction, key.name, before, by=operation.by, space=place)
        return self._app.reread_settings

    def _present(self, key: SettingKey, space: SpaceId) -> str:
        return self._app.settings.loaded(_place(key, space)).setting(key.name).value


def find_proposable_key(name: str) -> SettingKey:
    key = find_setting_key(name)
    room = key.name.partition(".")[0]
    if key.secret or room in GUARDED or room.startswith("database"):
        raise NotProposable(f"`{key.name}` is changed by people themselves, and by nobody's proposal.")
    return key


def _place(key: SettingKey, space: SpaceId) -> SpaceId:
    """Return where the row belongs: the space if the setting is per space, else all spaces."""
    return space if key.per_space else EVERY_SPACE


def _text(value: object) -> str:
    """Format a value as it is written in a row."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class DecompositionEffect:
    def __init__(self, deps: WorldDeps) -> None:
        self._deps = deps

    def check(self, payload: Mapping[str, Any]) -> None:
        payload_id(payload, "conflict_id")
        for name in ("existing_dimension", "new_dimension"):
            parse_dimension_name(require_text(payload, name))

    async def look(self, operation: EffectContext) -> EffectPreview:
        id_ = payload_id(operation.payload, "conflict_id")
        try:
            found = await find_conflict(operation.transaction, operation.space, id_)
        except NoSuchConflict:
            return EffectPreview(gone=(f"conflict:{id_}",))
        names = [str(operation.payload.get(name, "?")) for name in ("existing_dimension", "new_dimension")]
        return EffectPreview(
            versions={f"conflict:{id_}": f"{found.status}:{found.existing_parent_id}"},
            is_done=found.status != PENDING,
            payload=operation.payload,
            says=f"Lets both stand: what is there as `{names[0]}`, the new one as `{names[1]}`.",
        )

    async def apply(self, operation: EffectContext) -> EffectResult:
        verdict = ConflictVerdict(
            decision=ConflictDecision.DECOMPOSE,
            judge=ConflictJudge.PERSON,
            by=operation.by,
            existing_dimension=require_text(operation.payload, "existing_dimension"),
            new_dimension=require_text(operation.payload, "new_dimension"),
            reasoning=operation.proposal.why[:500],
        )
        id_ = payload_id(operation.payload, "conflict_id")
        done = await decide_conflict(self._joined(operation), operation.space, id_, verdict)
        places: Mapping[str, Any] = done.resolution or {}
        return EffectResult(
            before={"conflict": str(id_), "status": PENDING, "places": places.get("before", [])},
            after={"conflict": str(id_), "status": done.status, "places": places.get("after", [])},
            changes=(f"conflict:{id_}",),
            afterwards=self._afterwards(operation),
        )

    async def undo(self, operation: EffectContext, applied: EffectResult) -> Afterwards:
        id_ = payload_id(applied.after, "conflict")
        await undo_conflict_decision(self._joined(operation), operation.space, id_, by=operation.by)
        return self._afterwards(operation)

    def _joined(self, operation: EffectContext) -> WorldDeps:
        # The caches of this process follow after the commit, not before.
        return replace(self._deps, store=NestedStore(operation.transaction), follow=null_follow)

    def _afterwards(self, operation: EffectContext) -> Afterwards:
        async def follow() -> None:
            await self._deps.follow(operation.space)

        return follow


def build_effects(app: "App", deps: ProposalDeps) -> Effects:
    """Build every effect; a type without one keeps the app from starting."""
    return require_all_effects(
        {
            ProposalType.MEMORY_CHANGE: MemoryChangeEffect(app.memory.deps),
            ProposalType.IDENTITY_PROMOTION: IdentityPromotionEffect(app.memory.deps),
            ProposalType.CENSOR_RULE: CensorRuleEffect(app.memory.watch),
            ProposalType.CENSOR_ESCALATION: CensorEscalationEffect(app.memory.watch),
            ProposalType.DIMENSION_DECOMPOSITION: DecompositionEffect(app.world.deps),
            ProposalType.SETTINGS_CHANGE: SettingsChangeEffect(app),
            ProposalType.FORGET_REQUEST: ForgetEffect(build_erasure_service(app).eraser),
            ProposalType.ADVICE: AdviceEffect(deps),
        }
    )
