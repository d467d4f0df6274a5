"""What does a backup say about itself?

A small JSON file beside the dump. It lets a restore refuse what is damaged, foreign or too new before anything
is touched, and lets it prove afterwards that every row came back. It holds no secret and no text of anybody.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from festinger.clock import aware, iso
from festinger.errors import BadInput, NotFound

FORMAT = 1
SUFFIX = ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    made_at: datetime
    festinger: str
    postgres: int
    """The major version of the programs that wrote the dump."""
    migrations: Mapping[str, str]
    """Those that the database had taken, each with its hash."""
    tables: Mapping[str, int]
    """Rows of each table."""
    embedders: tuple[str, ...]
    """The models whose vectors are in it."""
    bytes: int
    sha256: str

    @property
    def schema_version(self) -> str:
        """The last migration of our own; empty for a database that never took one. Foreign ones carry a `/`."""
        return max((name for name in self.migrations if "/" not in name), default="")

    @property
    def rows(self) -> int:
        return sum(self.tables.values())


def beside(dump: Path) -> Path:
    """Where the manifest of a dump lies."""
    return dump.with_name(dump.name + SUFFIX)


def written(manifest: Manifest) -> str:
    body: dict[str, Any] = {
        "format": FORMAT,
        "schema_version": manifest.schema_version,
        **asdict(manifest),
        "made_at": iso(manifest.made_at),
    }
    return json.dumps(body, indent=2, sort_keys=True) + "\n"


def read(dump: Path) -> Manifest:
    """The manifest of a dump; a dump without one is the rest of a backup that was cut short."""
    path = beside(dump)
    if not path.exists():
        raise NotFound(
            f"There is no backup `{dump.name}` with its manifest `{path.name}`.",
            hint="Give the file that `festinger backup` made, and keep the two files together.",
        )
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body.pop("format") != FORMAT:
            raise BadInput(
                f"`{path.name}` was written by a newer Festinger.", hint="Restore it with that version."
            )
        del body["schema_version"]
        made_at = aware(datetime.fromisoformat(body.pop("made_at")))
        return Manifest(made_at=made_at, embedders=tuple(body.pop("embedders")), **body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"`{path.name}` is not a manifest of a backup.", hint="Use another backup.") from error
