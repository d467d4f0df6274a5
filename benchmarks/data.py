"""Reads public data sets, validates them, and selects the items of this run.

A set is a folder of `NAME.jsonl` or `NAME.jsonl.gz`, one JSON object per line. Errors are reported with file
and line before anything is scored. The files that were read and their checksums go into the result. Each
suite interprets its own rows.
"""

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson

from festinger.errors import BadInput

T = TypeVar("T")

THIRD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that was read."""

    set: str
    name: str
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """A folder of sets. `Data()` has none, for suites that need none."""

    folder: Path | None = None
    limit: int | None = None
    """The most items of each kind: for a quick look, which measures nothing."""
    third: bool = False
    """A fixed third of the items, the same on every machine."""
    read: dict[tuple[str, str], File] = field(default_factory=dict)

    def require(self, sets: Iterable[str]) -> None:
        """Refuse to begin when a set is missing."""
        for name in sets:
            self._folder_of(name)

    def rows(self, set_name: str, name: str, *, needs: Iterable[str] = ()) -> list[dict[str, Any]]:
        """Every row of a file, each with the fields that it needs."""
        path = self._path_of(set_name, name)
        content = path.read_bytes()
        found = [
            _row(line, path, number=number, needs=needs) for number, line in enumerate(_lines(content, path), start=1)
        ]
        self.read[set_name, path.name] = File(
            set=set_name, name=path.name, sha256=hashlib.sha256(content).hexdigest(), rows=len(found)
        )
        return found

    def has(self, set_name: str, name: str) -> bool:
        """Whether a set has this file; not every half has every one."""
        return any(path.is_file() for path in self._paths(set_name, name))

    def sampled(self, items: Sequence[T], by: Callable[[T], str]) -> list[T]:
        """The items of this run. `by` names what must stay together: an item's id, or its group."""
        kept = [item for item in items if _is_of_the_third(by(item))] if self.third else list(items)
        if self.limit is None:
            return kept
        wanted = set(list(dict.fromkeys(map(by, kept)))[: self.limit])
        return [item for item in kept if by(item) in wanted]

    def _folder_of(self, set_name: str) -> Path:
        if self.folder is None:
            raise BadInput(
                f"The data set `{set_name}` is needed.",
                hint="Say where data sets lie, with `--data` or the setting `bench.data`.",
            )
        if not (found := self.folder / set_name).is_dir():
            raise BadInput(f"There is no data set `{found}`.", hint="`festinger bench list` names the folders.")
        return found

    def _paths(self, set_name: str, name: str) -> list[Path]:
        return [self._folder_of(set_name) / f"{name}.jsonl{packed}" for packed in ("", ".gz")]

    def _path_of(self, set_name: str, name: str) -> Path:
        plain, packed = self._paths(set_name, name)
        for path in (plain, packed):
            if path.is_file():
                return path
        raise BadInput(f"`{plain}` is missing, and so is `{packed.name}`.", hint="Get the set again.")


def one_of(row: Mapping[str, Any], name: str, allowed: Iterable[str], *, file: str) -> str:
    """A label of a row, which must be a known one."""
    value = row.get(name)
    if value not in set(allowed):
        raise BadInput(
            f"`{file}`: item `{row.get('id')}` has the unknown {name} {value!r}.",
            hint="Nothing was scored; get the set again.",
        )
    return str(value)


def _lines(content: bytes, path: Path) -> list[bytes]:
    try:
        text = gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"`{path}` is no gzip file.", hint="Nothing was scored; get the set again.") from error
    return text.splitlines()


def _row(line: bytes, path: Path, *, number: int, needs: Iterable[str]) -> dict[str, Any]:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _bad(path, number, "is not JSON") from error
    if not isinstance(row, dict):
        raise _bad(path, number, "is not an object")
    if missing := [name for name in needs if name not in row]:
        raise _bad(path, number, f"has no `{missing[0]}`")
    return row


def _bad(path: Path, number: int, what: str) -> BadInput:
    return BadInput(f"`{path}`, line {number} {what}.", hint="Nothing was scored; get the set again.")


def _is_of_the_third(name: str) -> bool:
    # Not Python's own hash, which differs between processes.
    return hashlib.sha256(name.encode()).digest()[0] % THIRD == 0
