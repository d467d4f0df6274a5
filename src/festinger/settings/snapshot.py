"""What is in force, given what every source says?

A `Snapshot` is the whole answer in one frozen value: what is wanted, what is in force while keys that need a
restart wait for it, and the trees of the spaces that have rows of their own. Pure: `live` keeps the present
one, and two of them make the list of changes that others are told of.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from festinger.ids import EVERY_SPACE, SpaceId
from festinger.settings.keys import KEYS, Key, shown, value_at
from festinger.settings.loaded import Given, Layer, Loaded, Source
from festinger.settings.sources import combine
from festinger.settings.tree import Settings

Rows = Mapping[tuple[SpaceId, str], Given]
"""What the config table says, by space and full name of the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """One key that has another value now, in words that may be shown to anyone."""

    key: str
    old: str
    new: str
    source: Source
    space: SpaceId = EVERY_SPACE
    needs_restart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the sources say now. `pinned` is the environment and the command line together."""

    file: Layer = field(default_factory=dict)
    rows: Rows = field(default_factory=dict)
    pinned: Layer = field(default_factory=dict)

    def wanted(self, space: SpaceId = EVERY_SPACE) -> Loaded:
        """The tree that they ask for, for all spaces or for one."""
        own = self.rows_of(space) if space != EVERY_SPACE else {}
        return combine(self.file, self.rows_of(EVERY_SPACE), own, self.pinned)

    def rows_of(self, space: SpaceId) -> Layer:
        return {name: found for (owner, name), found in self.rows.items() if owner == space}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything about settings at one moment."""

    said: Said
    wanted: Loaded
    in_force: Loaded
    started: Settings
    spaces: Mapping[SpaceId, Loaded] = field(default_factory=dict)

    def of(self, space: SpaceId) -> Loaded:
        return self.spaces.get(space, self.in_force)


def first_snapshot(said: Said) -> Snapshot:
    """The moment of a start: all that is wanted is in force."""
    return next_snapshot(said, started=said.wanted().tree)


def next_snapshot(said: Said, *, started: Settings) -> Snapshot:
    """The moment after an edit, in a process that started with `started`."""
    owners = {owner for owner, _ in said.rows} - {EVERY_SPACE}
    wanted = said.wanted()
    return Snapshot(
        said=said,
        wanted=wanted,
        in_force=held_back(wanted, started),
        started=started,
        spaces={owner: held_back(said.wanted(owner), started) for owner in owners},
    )


def held_back(wanted: Loaded, started: Settings) -> Loaded:
    """What is wanted, but with the started value of every key that needs a restart."""
    live = {
        name: Given(value=value_at(wanted.tree, name), source=source)
        for name, source in wanted.sources.items()
    }
    held = {
        key.name: Given(value=value_at(started, key.name), source=wanted.source(key.name))
        for key in KEYS.values()
        if key.restart
    }
    return replace(wanted, tree=combine(live, held).tree)


def changes(old: Snapshot, new: Snapshot) -> tuple[Changed, ...]:
    """What another moment wants otherwise: for all spaces first, then for those with rows of their own."""
    for_all = _differences(old.wanted, new.wanted, KEYS.values())
    for_some = (
        replace(change, space=space)
        for space in sorted({*old.spaces, *new.spaces})
        for change in _differences(old.of(space), new.of(space), _own_keys(space, old, new))
    )
    return (*for_all, *for_some)


def waiting(snapshot: Snapshot) -> tuple[Changed, ...]:
    """The changes that wait for a restart."""
    started = Loaded(tree=snapshot.started)
    return tuple(_differences(started, snapshot.wanted, [key for key in KEYS.values() if key.restart]))


def _own_keys(space: SpaceId, *moments: Snapshot) -> list[Key]:
    """The keys for which a space had or has a row; in all others it follows the rest."""
    named = {name for moment in moments for name in moment.said.rows_of(space)}
    return [key for key in KEYS.values() if key.name in named]


def _differences(old: Loaded, new: Loaded, keys: Iterable[Key]) -> Iterator[Changed]:
    for key in keys:
        before, after = value_at(old.tree, key.name), value_at(new.tree, key.name)
        if before != after:
            yield Changed(
                key=key.name,
                old=shown(key, before),
                new=shown(key, after),
                source=new.source(key.name),
                needs_restart=key.restart,
            )
