"""Effect of an approved proposal to change a setting.

Writes the row of the config table that a person could have written, and every process applies it. Settings
that guard the installation itself may not be proposed at all.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from festinger.errors import BadInput, NotProposable, UndoBlocked
from festinger.ids import EVERY_SPACE, SpaceId
from festinger.proposals.verdicts.effects import Afterwards, EffectContext, EffectPreview, EffectResult, require_text
from festinger.runtime.settings import erase_setting, write_setting
from festinger.settings.keys import SettingKey, find_setting
from festinger.store.repositories.spaces import find_config

if TYPE_CHECKING:
    from festinger.runtime.app import App

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
        key, place = find_setting(applied.after["key"]), SpaceId(applied.after["space"])
        row = await find_config(operation.transaction, space=place, key=key.name)
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
    """Return the setting of this name if it may be proposed."""
    key = find_setting(name)
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
