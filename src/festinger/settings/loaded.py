"""What is set, by which source, and how may it be shown?

The values that `sources` makes and `live` holds: where something was set, a row of the config table, and a
whole tree that can say of each key its value, default, source and meaning. Secrets are never shown whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from festinger.ids import SpaceId
from festinger.settings.deployment import Deployment
from festinger.settings.keys import KEYS, Key, find, shown, value_at
from festinger.settings.tree import Settings


class Kind(StrEnum):
    """The sources from the weakest to the strongest."""

    DEFAULT = "default"
    FILE = "file"
    TABLE = "table"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"


PINNING = (Kind.ENVIRONMENT, Kind.COMMAND_LINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a value was set: which source, and the place in it (`festinger.yaml:3`, `FESTINGER_HOME`, `--home`)."""

    kind: Kind
    place: str = ""
    line: int | None = None

    @property
    def pins(self) -> bool:
        """Whether the deployment has the last word on what is set here."""
        return self.kind in PINNING

    def __str__(self) -> str:
        where = f"{self.place}:{self.line}" if self.line else self.place
        return f"{self.kind} {where}".strip()


DEFAULT = Source(kind=Kind.DEFAULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A value that some source gives to a key."""

    value: Any
    source: Source


Layer = Mapping[str, Given]
"""What one source says, by full name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the config table."""

    space: SpaceId
    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """All that can be said of one key at one moment. `value` and `default` are as people may see them."""

    key: Key
    value: str
    default: str
    source: Source

    @property
    def pinned(self) -> bool:
        return self.source.pins


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A whole tree and where each of its values comes from."""

    tree: Settings
    sources: Mapping[str, Source] = field(default_factory=dict)
    deployment: Deployment | None = None

    def source(self, name: str) -> Source:
        return self.sources.get(name, DEFAULT)

    def setting(self, name: str) -> Setting:
        key = find(name)
        return Setting(
            key=key,
            value=shown(key, value_at(self.tree, key.name)),
            default=shown(key, key.default),
            source=self.source(key.name),
        )

    def settings(self) -> tuple[Setting, ...]:
        """Every key, in the order of the tree."""
        return tuple(self.setting(name) for name in KEYS)
