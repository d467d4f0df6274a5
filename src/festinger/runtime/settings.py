"""Changes settings while the app runs.

A new value is checked against the whole tree, then its row and event are written in one transaction; every
process applies it when notified of the row. A key that the deployment pins is refused. Edits of the settings
file are recorded as events too, once, although every process reads them.
"""

import socket
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from festinger.events.catalogue import MAX_TEXT
from festinger.ids import EVERY_SPACE, MAIN_SPACE, SpaceId
from festinger.settings.keys import find_setting_key, format_value
from festinger.settings.live import SettingChange, SettingsProblem
from festinger.settings.sources import Setting, SourceKind, sourced_value_from_row
from festinger.store.pool import Transaction
from festinger.store.repositories.spaces import ConfigRow, ProcessRun, delete_config, find_pinning_runs, put_config

if TYPE_CHECKING:
    from festinger.runtime.app import App

SAME_EDIT = timedelta(seconds=10)
"""Every process sees an edit of the file within 2 s; after this time an equal one is another edit."""

log = structlog.get_logger(room="app")

CHANGED = "setting_changed"
REFUSED = "config_refused"


async def change_setting(
    app: "App", name: str, raw: str, *, by: str, space: SpaceId = EVERY_SPACE
) -> tuple[Setting, Setting]:
    """Set a key for all spaces or for one; return the effective setting before and after."""
    space = _known(app, space)
    row = app.settings.change(name, raw, space=space)
    before = app.settings.loaded(space).setting(row.key)
    async with app.store.transaction() as transaction:
        await write_setting(app, transaction, name, raw, by=by, space=space)
    # Logged here, where the request is known: the listener may apply the row before we do.
    log.info("setting written", key=row.key, by=by)
    await app.reread_settings()
    return before, app.settings.loaded(space).setting(row.key)


async def reset_setting(app: "App", name: str, *, by: str, space: SpaceId = EVERY_SPACE) -> Setting:
    """Remove a changed value, so that the next weaker source counts; return the resulting setting."""
    space = _known(app, space)
    key = app.settings.require_changeable_key(name)
    async with app.store.transaction() as transaction:
        await erase_setting(app, transaction, key.name, by=by, space=space)
    log.info("setting reset", key=key.name, by=by)
    await app.reread_settings()
    return app.settings.loaded(space).setting(key.name)


async def list_pinning_runs(app: "App", setting: Setting) -> list[ProcessRun]:
    """List the processes that ignore the table for this key, because their own deployment pins it."""
    return await find_pinning_runs(app.store, setting.key.name, host=socket.gethostname())


async def write_setting(
    app: "App", transaction: Transaction, name: str, raw: str, *, by: str, space: SpaceId = EVERY_SPACE
) -> str | None:
    """Write the row of a setting in the caller's transaction and return the value it replaces, if any. The
    caller reloads the settings afterwards."""
    row = app.settings.change(name, raw, space=space)
    old = app.settings.loaded(space).setting(row.key).value
    new = format_value(find_setting_key(row.key), sourced_value_from_row(row)[1].value)
    written = ConfigRow(space=space, key=row.key, value=row.value, updated_at=app.tools.clock(), updated_by=by)
    replaced = await put_config(transaction, written)
    await _tell(app, transaction, _payload(key=row.key, old=old, new=new, source=SourceKind.TABLE, by=by))
    return replaced


async def erase_setting(
    app: "App", transaction: Transaction, name: str, *, by: str, space: SpaceId = EVERY_SPACE
) -> None:
    """Delete the row of a setting in the caller's transaction, if there is one."""
    key = app.settings.require_changeable_key(name)
    old = app.settings.loaded(space).setting(key.name).value
    if await delete_config(transaction, space=space, key=key.name) is not None:
        # The new value is known only after the rows are reread; the event says that it was reset.
        payload = _payload(key=key.name, old=old, new="", source=SourceKind.TABLE, by=by)
        await _tell(app, transaction, payload)


def subscribe_to_file_edits(app: "App") -> None:
    """Record every change and refusal that comes from the settings file as an event."""

    def changed(changes: tuple[SettingChange, ...]) -> None:
        edits = [change for change in changes if change.source.kind is SourceKind.FILE]
        if edits:
            app.background.start(_emit_file_edits(app, edits))

    def refused(problem: SettingsProblem) -> None:
        app.background.start(_emit_settings_refusal(app, problem))

    app.settings.on_change(changed)
    app.settings.on_refusal(refused)


def _known(app: "App", space: SpaceId) -> SpaceId:
    return space if space == EVERY_SPACE else app.directory.need(space)


async def _emit_file_edits(app: "App", edits: list[SettingChange]) -> None:
    for edit in edits:
        payload = _payload(key=edit.key, old=edit.old, new=edit.new, source=SourceKind.FILE, by="file")
        # One transaction each, so that two processes that record the same edits cannot deadlock.
        async with app.store.transaction() as transaction:
            await app.outbox.emit_unless_recent(
                transaction, CHANGED, space=MAIN_SPACE, subject=f"setting:{edit.key}", payload=payload, within=SAME_EDIT
            )


async def _emit_settings_refusal(app: "App", problem: SettingsProblem) -> None:
    async with app.store.transaction() as transaction:
        await app.outbox.emit_unless_recent(
            transaction,
            REFUSED,
            space=MAIN_SPACE,
            subject="settings",
            payload={"source": problem.source.value, "error": _short(problem.message)},
            within=SAME_EDIT,
        )


async def _tell(app: "App", transaction: Transaction, payload: dict[str, str]) -> None:
    subject = f"setting:{payload['key']}"
    await app.outbox.emit(transaction, CHANGED, space=MAIN_SPACE, subject=subject, payload=payload)


def _payload(*, key: str, old: str, new: str, source: SourceKind, by: str) -> dict[str, str]:
    return {"key": key, "old": _short(old), "new": _short(new), "source": source.value, "by": _short(by)}


def _short(text: str) -> str:
    """Shorten a text for an event; the whole value is in its source."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
