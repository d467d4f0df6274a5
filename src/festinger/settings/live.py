"""Holds the settings in force while the config file and table change.

Readers take one snapshot (`now`, `for_space`) at the start of a request or job and keep it. An edit applies
as a whole or not at all: a bad one is logged once and kept as a problem until it is fixed, and the old tree
stays. A key that needs a restart keeps the value that the process started with. A `SettingsSnapshot` is a
frozen value: what is wanted, what is in force, and the trees of spaces with their own rows; comparing two
gives the changes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from festinger.errors import BadInput, BadSetting, SettingPinned
from festinger.ids import EVERY_SPACE, SpaceId
from festinger.observability.metrics import SETTINGS_REFUSED
from festinger.settings.deployment import Deployment
from festinger.settings.keys import KEYS, Raw, SettingKey, find_setting_key, format_value, value_at
from festinger.settings.sources import (
    ConfigTableRow,
    Layer,
    LoadedSettings,
    SettingSource,
    SourcedValue,
    SourceKind,
    combine_layers,
    layer_from_deployment,
    layer_from_file,
    sourced_value_from_row,
)
from festinger.settings.tree import Settings

Rows = Mapping[tuple[SpaceId, str], SourcedValue]
"""Contents of the config table, by space and full name of the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """A key with a new value, in words that may be shown to anyone."""

    key: str
    old: str
    new: str
    source: SettingSource
    space: SpaceId = EVERY_SPACE
    needs_restart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceValues:
    """What the sources say now. `pinned` combines the environment and the command line."""

    file: Layer = field(default_factory=dict)
    rows: Rows = field(default_factory=dict)
    pinned: Layer = field(default_factory=dict)

    def wanted(self, space: SpaceId = EVERY_SPACE) -> LoadedSettings:
        """Return the tree they ask for, for all spaces or for one."""
        own = self.rows_of(space) if space != EVERY_SPACE else {}
        return combine_layers(self.file, self.rows_of(EVERY_SPACE), own, self.pinned)

    def rows_of(self, space: SpaceId) -> Layer:
        return {name: found for (owner, name), found in self.rows.items() if owner == space}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSnapshot:
    """The complete state of the settings at one moment."""

    said: SourceValues
    wanted: LoadedSettings
    in_force: LoadedSettings
    started: Settings
    spaces: Mapping[SpaceId, LoadedSettings] = field(default_factory=dict)

    def of(self, space: SpaceId) -> LoadedSettings:
        return self.spaces.get(space, self.in_force)


def first_snapshot(said: SourceValues) -> SettingsSnapshot:
    """Return the snapshot at start: all that is wanted is in force."""
    return next_snapshot(said, started=said.wanted().tree)


def next_snapshot(said: SourceValues, *, started: Settings) -> SettingsSnapshot:
    """Return the snapshot after an edit, in a process that started with `started`."""
    owners = {owner for owner, _ in said.rows} - {EVERY_SPACE}
    wanted = said.wanted()
    return SettingsSnapshot(
        said=said,
        wanted=wanted,
        in_force=keep_started_values(wanted, started),
        started=started,
        spaces={owner: keep_started_values(said.wanted(owner), started) for owner in owners},
    )


def keep_started_values(wanted: LoadedSettings, started: Settings) -> LoadedSettings:
    """Return what is wanted, but with the started value of every key that needs a restart."""
    live = {
        name: SourcedValue(value=value_at(wanted.tree, name), source=source) for name, source in wanted.sources.items()
    }
    held = {
        key.name: SourcedValue(value=value_at(started, key.name), source=wanted.source(key.name))
        for key in KEYS.values()
        if key.restart
    }
    return replace(wanted, tree=combine_layers(live, held).tree)


def diff_snapshots(old: SettingsSnapshot, new: SettingsSnapshot) -> tuple[SettingChange, ...]:
    """Return the changes between two snapshots: for all spaces first, then for those with their own rows."""
    for_all = _differences(old.wanted, new.wanted, KEYS.values())
    for_some = (
        replace(change, space=space)
        for space in sorted({*old.spaces, *new.spaces})
        for change in _differences(old.of(space), new.of(space), _keys_with_rows(space, old, new))
    )
    return (*for_all, *for_some)


def changes_awaiting_restart(snapshot: SettingsSnapshot) -> tuple[SettingChange, ...]:
    started = LoadedSettings(tree=snapshot.started)
    return tuple(_differences(started, snapshot.wanted, [key for key in KEYS.values() if key.restart]))


def _keys_with_rows(space: SpaceId, *moments: SettingsSnapshot) -> list[SettingKey]:
    """Return the keys for which a space had or has a row; it inherits all others."""
    named = {name for moment in moments for name in moment.said.rows_of(space)}
    return [key for key in KEYS.values() if key.name in named]


def _differences(old: LoadedSettings, new: LoadedSettings, keys: Iterable[SettingKey]) -> Iterator[SettingChange]:
    for key in keys:
        before, after = value_at(old.tree, key.name), value_at(new.tree, key.name)
        if before != after:
            yield SettingChange(
                key=key.name,
                old=format_value(key, before),
                new=format_value(key, after),
                source=new.source(key.name),
                needs_restart=key.restart,
            )


log = structlog.get_logger(room="settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsProblem:
    """A rejected edit that is not fixed yet."""

    source: SourceKind
    message: str
    hint: str
    details: Mapping[str, Any]


OnChange = Callable[[tuple[SettingChange, ...]], None]
OnRefusal = Callable[[SettingsProblem], None]


class LiveSettings:
    """The settings of this process that are in force."""

    def __init__(self, deployment: Deployment) -> None:
        """Read what the process was started with; any error in it stops the start."""
        self.deployment = deployment
        said = SourceValues(file=layer_from_file(deployment.file()), pinned=layer_from_deployment(deployment))
        self._snapshot = first_snapshot(said)
        self._problems: dict[SourceKind, SettingsProblem] = {}
        self._on_change: list[OnChange] = []
        self._on_refusal: list[OnRefusal] = []

    @property
    def now(self) -> Settings:
        """The tree in force. Take it once per request or job, and keep it."""
        return self._snapshot.in_force.tree

    def for_space(self, space: SpaceId) -> Settings:
        """Return the tree in force for one space."""
        return self._snapshot.of(space).tree

    def loaded(self, space: SpaceId = EVERY_SPACE) -> LoadedSettings:
        """Return the tree in force with the source of each value."""
        return self._snapshot.of(space)

    @property
    def needs_restart(self) -> tuple[SettingChange, ...]:
        """Changes that wait for the next start."""
        return changes_awaiting_restart(self._snapshot)

    @property
    def problems(self) -> tuple[SettingsProblem, ...]:
        """Rejected edits that are not fixed yet."""
        return tuple(self._problems.values())

    @property
    def problem(self) -> SettingsProblem | None:
        """The first problem, if there is one."""
        return next(iter(self.problems), None)

    def on_change(self, subscriber: OnChange) -> None:
        """Call `subscriber` with what changed, after it is in force."""
        self._on_change.append(subscriber)

    def on_refusal(self, subscriber: OnRefusal) -> None:
        """Call `subscriber` once for each rejected edit."""
        self._on_refusal.append(subscriber)

    def apply_rows_at_start(self, rows: Iterable[ConfigTableRow]) -> SettingsProblem | None:
        """Apply the config table to a process that is still starting, including keys that need a restart.

        A row that does not fit this version is skipped and reported but stops nothing: the process that could
        fix it would be stopped as well.
        """
        read, problem = _read_rows_or_earlier(rows, {})
        said = replace(self._snapshot.said, rows=read)
        try:
            self._take(said, started=said.wanted().tree)
        except BadSetting as error:
            problem = problem or error
        return self._refuse(SourceKind.TABLE, problem) if problem else None

    def is_whole(self) -> bool:
        """Return whether the file has readable content; a file that is being written often has not."""
        try:
            return bool(layer_from_file(self.deployment.file()))
        except BadInput:
            return False

    def reload_file(self) -> SettingsProblem | None:
        """Reread the file. An error is kept as a problem and changes nothing."""
        try:
            layer = layer_from_file(self.deployment.file())
            self._take(replace(self._snapshot.said, file=layer))
        except BadInput as error:
            return self._refuse(SourceKind.FILE, error)
        self._problems.pop(SourceKind.FILE, None)
        return None

    def apply_rows(self, rows: Iterable[ConfigTableRow], *, space: SpaceId | None = None) -> SettingsProblem | None:
        """Apply the current rows of the config table: all of them, or all of one space.

        A row that does not fit leaves its key as it was; the others apply.
        """
        before = self._snapshot.said.rows
        others = {at: found for at, found in before.items() if space is not None and at[0] != space}
        read, problem = _read_rows_or_earlier(rows, before)
        try:
            self._take(replace(self._snapshot.said, rows={**others, **read}))
        except BadSetting as error:
            problem = problem or error
        if problem:
            return self._refuse(SourceKind.TABLE, problem)
        self._problems.pop(SourceKind.TABLE, None)
        return None

    def change(self, name: str, raw: Raw, *, space: SpaceId = EVERY_SPACE) -> ConfigTableRow:
        """Return the row that sets a key, with its full name, validated as it will be when it is read.

        Nothing is written, and nothing applies until `apply_rows` brings the row back from the table.
        """
        key = self.require_changeable_key(name)
        row = ConfigTableRow(space=space, key=key.name, value=raw if isinstance(raw, str) else ",".join(raw))
        full, found = sourced_value_from_row(row)
        said = self._snapshot.said
        replace(said, rows={**said.rows, (space, full): found}).wanted(space)
        return row

    @property
    def pinned(self) -> tuple[str, ...]:
        """The keys that the deployment pins."""
        return tuple(sorted(self._snapshot.said.pinned))

    def require_changeable_key(self, name: str) -> SettingKey:
        """Return the key for a name, unless the deployment pins it."""
        key = find_setting_key(name)
        pin = self._snapshot.said.pinned.get(key.name)
        if pin:
            where = {"source": pin.source.kind.value, "place": pin.source.place}
            raise SettingPinned(f"`{key.name}` is pinned by the {pin.source}.", key=key.name, **where)
        return key

    def _take(self, said: SourceValues, *, started: Settings | None = None) -> None:
        """Put the sources in force in one step and notify subscribers."""
        old = self._snapshot
        # One assignment of a frozen value: concurrent readers see the old tree or the new one, never a mix.
        self._snapshot = next_snapshot(said, started=started or old.started)
        changed = diff_snapshots(old, self._snapshot)
        if not changed:
            return
        log.info("settings changed", keys=[change.key for change in changed])
        for subscriber in self._on_change:
            subscriber(changed)

    def _refuse(self, source: SourceKind, error: BadInput) -> SettingsProblem:
        problem = SettingsProblem(source=source, message=error.message, hint=error.hint, details=error.details)
        # Every check meets the same bad edit again; report it once.
        if self._problems.get(source) == problem:
            return problem
        self._problems[source] = problem
        SETTINGS_REFUSED.labels(source.value).inc()
        place = {name: error.details[name] for name in ("file", "line", "key") if error.details.get(name)}
        log.error("settings refused", source=source.value, error=error.message, **place)
        for subscriber in self._on_refusal:
            subscriber(problem)
        return problem


def _read_rows_or_earlier(rows: Iterable[ConfigTableRow], before: Rows) -> tuple[Rows, BadInput | None]:
    """Return the readable rows, with the earlier value of unreadable ones, and the first problem."""
    read: dict[tuple[SpaceId, str], SourcedValue] = {}
    problem: BadInput | None = None
    for row in rows:
        try:
            name, found = sourced_value_from_row(row)
            read[row.space, name] = found
        except BadInput as error:
            problem = problem or error
            earlier = before.get((row.space, row.key))
            read |= {(row.space, row.key): earlier} if earlier else {}
    return read, problem
