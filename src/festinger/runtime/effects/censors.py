"""What does a yes do to censors?

It makes one that warns, or lets one that warned stop things, or lets one that stopped things only warn again. The room
`memory` logs each change, and its own undo takes it back.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, NotFound
from festinger.ids import DEFAULT_AGENT
from festinger.memory.censors.censor import Censor, Force, force_of
from festinger.memory.censors.check import Watch
from festinger.memory.censors.edit import (
    Changed,
    Rule,
    add_in,
    demote,
    escalate,
    find,
    read_rule,
    same_rule,
    undo,
)
from festinger.memory.deps import Desk
from festinger.memory.model import Place
from festinger.proposals.verdicts.effects import Afterwards, Applied, Deed, Look, text_in
from festinger.runtime.effects.memories import id_in
from festinger.store.pool import Joined

REASON = "approved"

_DEEDS: Mapping[Force, Callable[..., Awaitable[Changed]]] = {Force.BLOCK: escalate, Force.WARN: demote}


class _OfCensors:
    """What every effect on censors needs: the censors that this process holds."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def joined(self, deed: Deed) -> Desk:
        """The desk of the room, within the transaction of the verdict."""
        return replace(self._watch.desk, store=Joined(deed.transaction))

    async def undo(self, deed: Deed, applied: Applied) -> Afterwards:
        for change in reversed(applied.changes):
            await undo(self.joined(deed), deed.space, UUID(change), by=deed.by)
        return self._afterwards(deed)

    def _afterwards(self, deed: Deed) -> Afterwards:
        async def look_again() -> None:
            self._watch.forget(deed.space)

        return look_again


class CensorRule(_OfCensors):
    """Make a censor that warns."""

    def check(self, payload: Mapping[str, Any]) -> None:
        read_rule(_rule(payload))

    async def look(self, deed: Deed) -> Look:
        twin = await same_rule(self.joined(deed), deed.space, _rule(deed.payload))
        says = "Makes a censor that warns of what it matches."
        return Look(is_done=twin is not None, payload=deed.payload, says=says)

    async def apply(self, deed: Deed) -> Applied:
        desk, place = self.joined(deed), Place(space=deed.space, agent=DEFAULT_AGENT)
        made = await add_in(desk, deed.transaction, place, _rule(deed.payload), by=deed.by)
        return Applied(
            after={"censor": str(made.censor.id), "standing": made.censor.standing},
            changes=(str(made.change),),
            afterwards=self._afterwards(deed),
        )


class CensorEscalation(_OfCensors):
    """Let a censor stop what it warned of, or only warn of what it stopped."""

    def check(self, payload: Mapping[str, Any]) -> None:
        id_in(payload, "censor_id")
        force_of(payload.get("to", Force.BLOCK))

    async def look(self, deed: Deed) -> Look:
        censor, to = id_in(deed.payload, "censor_id"), force_of(deed.payload.get("to", Force.BLOCK))
        try:
            found = await find(self.joined(deed), deed.space, censor)
        except NotFound:
            return Look(gone=(f"censor:{censor}",))
        payload = dict(deed.payload) | {"from": found.action.value, "to": to.value}
        says = (
            f"Lets this censor {'stop what it warns of' if to is Force.BLOCK else 'warn of what it stops'}."
        )
        return Look(
            versions={f"censor:{censor}": found.version},
            changed=() if found.active else (f"censor:{censor}",),
            is_done=found.action is to,
            payload=payload,
            says=says,
        )

    async def apply(self, deed: Deed) -> Applied:
        desk, id_ = self.joined(deed), id_in(deed.payload, "censor_id")
        to = force_of(deed.payload.get("to", Force.BLOCK))
        was = await find(desk, deed.space, id_)
        done = await _DEEDS[to](desk, deed.space, id_, by=deed.by, reason=REASON)
        if done.change is None:
            raise BadInput(f"This censor is `{to.value}` already.")
        return Applied(
            before=_standing(was),
            after=_standing(done.censor),
            changes=(str(done.change),),
            afterwards=self._afterwards(deed),
        )


def _standing(censor: Censor) -> dict[str, Any]:
    return {"censor": str(censor.id), "standing": censor.standing, "version": censor.version}


def _rule(payload: Mapping[str, Any]) -> Rule:
    on = payload.get("on", Rule().on)
    places = (on,) if isinstance(on, str) else tuple(map(str, on))
    return Rule(rule=text_in(payload, "pattern"), reason=str(payload.get("reason", "")), on=places)
