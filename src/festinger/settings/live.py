"""Which settings are in force now?

`LiveSettings` holds the tree of a running process while its file and the rows of the config table change.
Readers take one snapshot (`now`, `for_space`) at the start of a request or job and keep it. An edit is taken
whole or not at all: a bad one is logged once and kept as a problem until it is mended, and the old tree stays.
A key that needs a restart keeps the value that the process started with. Who is told of a change, and where
rows are stored, is decided at wiring; `watch` follows the file.

What is in force, given what every source says?

A `SettingsSnapshot` is the whole answer in one frozen value: what is wanted, what is in force while keys that need a
restart wait for it, and the trees of the spaces that have rows of their own. Pure: `live` keeps the present
one, and two of them make the list of changes that others are told of.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from festinger.errors import BadInput, BadSetting, SettingPinned
from festinger.ids import EVERY_SPACE, SpaceId
from festinger.observability.metrics import SETTINGS_REFUSED
from festinger.settings.deployment import Deployment
from festinger.settings.keys import KEYS, Raw, SettingKey, find_setting, format_value, value_at
from festinger.settings.sources import (
    ConfigTableRow,
    Layer,
    LoadedSettings,
    SettingSource,
    SourcedValue,
    SourceKind,
    combine_layers,
    from_deployment,
    from_file,
    from_row,
)
from festinger.settings.tree import Settings

Rows = Mapping[tuple[SpaceId, str], SourcedValue]
"""What the config table says, by space and full name of the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One key that has another value now, in words that may be shown to anyone."""

    key: str
    old: str
    new: str
    source: SettingSource
    space: SpaceId = EVERY_SPACE
    needs_restart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceValues:
    """What the sources say now. `pinned` is the environment and the command line together."""

    file: Layer = field(default_factory=dict)
    rows: Rows = field(default_factory=dict)
    pinned: Layer = field(default_factory=dict)

    def wanted(self, space: SpaceId = EVERY_SPACE) -> LoadedSettings:
        """The tree that they ask for, for all spaces or for one."""
        own = self.rows_of(space) if space != EVERY_SPACE else {}
        return combine_layers(self.file, self.rows_of(EVERY_SPACE), own, self.pinned)

    def rows_of(self, space: SpaceId) -> Layer:
        return {name: found for (owner, name), found in self.rows.items() if owner == space}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsSnapshot:
    """Everything about settings at one moment."""

    said: SourceValues
    wanted: LoadedSettings
    in_force: LoadedSettings
    started: Settings
    spaces: Mapping[SpaceId, LoadedSettings] = field(default_factory=dict)

    def of(self, space: SpaceId) -> LoadedSettings:
        return self.spaces.get(space, self.in_force)


def first_snapshot(said: SourceValues) -> SettingsSnapshot:
    """The moment of a start: all that is wanted is in force."""
    return next_snapshot(said, started=said.wanted().tree)


def next_snapshot(said: SourceValues, *, started: Settings) -> SettingsSnapshot:
    """The moment after an edit, in a process that started with `started`."""
    owners = {owner for owner, _ in said.rows} - {EVERY_SPACE}
    wanted = said.wanted()
    return SettingsSnapshot(
        said=said,
        wanted=wanted,
        in_force=hold_restart_keys(wanted, started),
        started=started,
        spaces={owner: hold_restart_keys(said.wanted(owner), started) for owner in owners},
    )


def hold_restart_keys(wanted: LoadedSettings, started: Settings) -> LoadedSettings:
    """What is wanted, but with the started value of every key that needs a restart."""
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
    """What another moment wants otherwise: for all spaces first, then for those with rows of their own."""
    for_all = _differences(old.wanted, new.wanted, KEYS.values())
    for_some = (
        replace(change, space=space)
        for space in sorted({*old.spaces, *new.spaces})
        for change in _differences(old.of(space), new.of(space), _own_keys(space, old, new))
    )
    return (*for_all, *for_some)


def changes_awaiting_restart(snapshot: SettingsSnapshot) -> tuple[SettingChange, ...]:
    """The changes that wait for a restart."""
    started = LoadedSettings(tree=snapshot.started)
    return tuple(_differences(started, snapshot.wanted, [key for key in KEYS.values() if key.restart]))


def _own_keys(space: SpaceId, *moments: SettingsSnapshot) -> list[SettingKey]:
    """The keys for which a space had or has a row; in all others it follows the rest."""
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
    """An edit that was refused and still waits to be mended."""

    source: SourceKind
    message: str
    hint: str
    details: Mapping[str, Any]


OnChange = Callable[[tuple[SettingChange, ...]], None]
OnRefusal = Callable[[SettingsProblem], None]


class LiveSettings:
    """The settings of this process, as they are in force at each moment."""

    def __init__(self, deployment: Deployment) -> None:
        """Read what the process was started with; anything wrong in it stops the start."""
        self.deployment = deployment
        said = SourceValues(file=from_file(deployment.file()), pinned=from_deployment(deployment))
        self._snapshot = first_snapshot(said)
        self._problems: dict[SourceKind, SettingsProblem] = {}
        self._on_change: list[OnChange] = []
        self._on_refusal: list[OnRefusal] = []

    @property
    def now(self) -> Settings:
        """The tree in force. Take it once a request or job, and keep it."""
        return self._snapshot.in_force.tree

    def for_space(self, space: SpaceId) -> Settings:
        """The tree in force for one space."""
        return self._snapshot.of(space).tree

    def loaded(self, space: SpaceId = EVERY_SPACE) -> LoadedSettings:
        """The tree in force with the source of each value."""
        return self._snapshot.of(space)

    @property
    def needs_restart(self) -> tuple[SettingChange, ...]:
        """Keys whose new value waits for the next start."""
        return changes_awaiting_restart(self._snapshot)

    @property
    def problems(self) -> tuple[SettingsProblem, ...]:
        """What was refused and is not mended yet."""
        return tuple(self._problems.values())

    @property
    def problem(self) -> SettingsProblem | None:
        """The first of the problems."""
        return next(iter(self.problems), None)

    def on_change(self, subscriber: OnChange) -> None:
        """Have `subscriber` called with what changed, after it is in force."""
        self._on_change.append(subscriber)

    def on_refusal(self, subscriber: OnRefusal) -> None:
        """Have `subscriber` called once for each edit that is refused."""
        self._on_refusal.append(subscriber)

    def start_with(self, rows: Iterable[ConfigTableRow]) -> SettingsProblem | None:
        """Lay the config table over a process that is still starting: keys that need a restart are taken too.

        A row that does not fit this version is left out and told, but stops nothing: the process that could
        mend it would be stopped as well."""
        read, problem = _readable(rows, {})
        said = replace(self._snapshot.said, rows=read)
        try:
            self._take(said, started=said.wanted().tree)
        except BadSetting as error:
            problem = problem or error
        return self._refuse(SourceKind.TABLE, problem) if problem else None

    def is_whole(self) -> bool:
        """Whether the file holds something that can be read; a file that is being written often does not."""
        try:
            return bool(from_file(self.deployment.file()))
        except BadInput:
            return False

    def reload_file(self) -> SettingsProblem | None:
        """Read the file again. What is wrong with it is kept as a problem and changes nothing."""
        try:
            layer = from_file(self.deployment.file())
            self._take(replace(self._snapshot.said, file=layer))
        except BadInput as error:
            return self._refuse(SourceKind.FILE, error)
        self._problems.pop(SourceKind.FILE, None)
        return None

    def apply_rows(self, rows: Iterable[ConfigTableRow], *, space: SpaceId | None = None) -> SettingsProblem | None:
        """Take the rows that the config table holds now: all of them, or all of one space. A row that does
        not fit leaves its key as it was, and the others count."""
        before = self._snapshot.said.rows
        others = {at: found for at, found in before.items() if space is not None and at[0] != space}
        read, problem = _readable(rows, before)
        try:
            self._take(replace(self._snapshot.said, rows={**others, **read}))
        except BadSetting as error:
            problem = problem or error
        if problem:
            return self._refuse(SourceKind.TABLE, problem)
        self._problems.pop(SourceKind.TABLE, None)
        return None

    def change(self, name: str, raw: Raw, *, space: SpaceId = EVERY_SPACE) -> ConfigTableRow:
        """The row that sets a key to a value, with its full name, checked as it will be when it is read.
        Nothing is written and nothing is in force until `apply_rows` brings the row back from the table."""
        key = self.changeable(name)
        row = ConfigTableRow(space=space, key=key.name, value=raw if isinstance(raw, str) else ",".join(raw))
        full, found = from_row(row)
        said = self._snapshot.said
        replace(said, rows={**said.rows, (space, full): found}).wanted(space)
        return row

    @property
    def pinned(self) -> tuple[str, ...]:
        """The keys that the deployment has pinned."""
        return tuple(sorted(self._snapshot.said.pinned))

    def changeable(self, name: str) -> SettingKey:
        """The key that a name means, if the deployment has not pinned it."""
        key = find_setting(name)
        pin = self._snapshot.said.pinned.get(key.name)
        if pin:
            raise SettingPinned(f"`{key.name}` is pinned by the {pin.source}.", **_pin_details(key, pin))
        return key

    def _take(self, said: SourceValues, *, started: Settings | None = None) -> None:
        """Put what the sources say in force, in one step, and tell who wants to know."""
        old = self._snapshot
        # One assignment of a frozen value: whoever reads meanwhile has the old tree or the new one, never a mix.
        self._snapshot = next_snapshot(said, started=started or old.started)
        changed = diff_snapshots(old, self._snapshot)
        if not changed:
            return
        log.info("settings changed", keys=[change.key for change in changed])
        for subscriber in self._on_change:
            subscriber(changed)

    def _refuse(self, source: SourceKind, error: BadInput) -> SettingsProblem:
        problem = SettingsProblem(source=source, message=error.message, hint=error.hint, details=error.details)
        # The same bad edit is met again at every look; it is news once.
        if self._problems.get(source) == problem:
            return problem
        self._problems[source] = problem
        SETTINGS_REFUSED.labels(source.value).inc()
        place = {name: error.details[name] for name in ("file", "line", "key") if error.details.get(name)}
        log.error("settings refused", source=source.value, error=error.message, **place)
        for subscriber in self._on_refusal:
            subscriber(problem)
        return problem


def _readable(rows: Iterable[ConfigTableRow], before: Rows) -> tuple[Rows, BadInput | None]:
    """The rows that can be read, an unreadable one standing in its earlier form, and what was wrong first."""
    read: dict[tuple[SpaceId, str], SourcedValue] = {}
    problem: BadInput | None = None
    for row in rows:
        try:
            name, found = from_row(row)
            read[row.space, name] = found
        except BadInput as error:
            problem = problem or error
            earlier = before.get((row.space, row.key))
            read |= {(row.space, row.key): earlier} if earlier else {}
    return read, problem


def _pin_details(key: SettingKey, pin: SourcedValue) -> dict[str, str]:
    return {"key": key.name, "source": pin.source.kind.value, "place": pin.source.place}
