"""Loads the named SQL queries of a package from its `queries.sql`.

Each statement begins with `-- name: …` and a comment on its purpose. Shared fragments begin with `-- part: …`
and are included with `-- use: …`. Text between `-- when: …` and `-- end` can be left out of a statement, so
that the server plans no more than is needed. Files are read once at import, so an unknown name fails there
and not in the middle of an operation. Python never builds SQL: the server binds parameters as `%(name)s`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from textwrap import indent
from uuid import UUID

_HEAD = re.compile(r"^-- (name|part): ([a-z][a-z0-9_]*)$", re.MULTILINE)
_USE = re.compile(r"^( *)-- use: ([a-z][a-z0-9_]*)$", re.MULTILINE)
_WHEN = re.compile(r"^ *-- when: ([a-z][a-z0-9_]*)\n(.*?)^ *-- end$\n?", re.MULTILINE | re.DOTALL)
_PARAMETER = re.compile(r"%\(([a-z_][a-z0-9_]*)\)s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    room: str
    name: str
    purpose: str
    sql: str
    packed: bool = False
    """Whether rows come in binary rather than text form: half the bytes where they hold vectors."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Parameter names in the order of their first use."""
        return _numbered(self.sql)[1]

    @property
    def positional(self) -> str:
        """The statement with `$1`, `$2` … in place of named parameters."""
        return _numbered(self.sql)[0]

    @property
    def choices(self) -> frozenset[str]:
        """Names of the parts that can be left out."""
        return frozenset(name for name, _ in _WHEN.findall(self.sql))

    def only(self, chosen: frozenset[str]) -> "Query":
        """Return the statement with only these of its choices; raise `KeyError` for an unknown one."""
        return _only(self, chosen)


@cache
def _only(query: Query, chosen: frozenset[str]) -> Query:
    if unknown := chosen - query.choices:
        raise KeyError(*unknown)
    return replace(query, sql=_WHEN.sub(lambda when: when[2] if when[1] in chosen else "", query.sql))


@cache
def _numbered(sql: str) -> tuple[str, tuple[str, ...]]:
    names = tuple(dict.fromkeys(_PARAMETER.findall(sql)))
    numbers = {name: number for number, name in enumerate(names, 1)}
    return _PARAMETER.sub(lambda match: f"${numbers[match[1]]}", sql).replace("%%", "%"), names


def format_uuid_array(ids: Sequence[UUID]) -> str:
    """Write ids as one literal: for a hundred of them, psycopg's list of UUIDs takes five times as long."""
    return f"{{{','.join([each.hex for each in ids])}}}"


class Queries(Mapping[str, Query]):
    """The named queries of one package."""

    def __init__(self, room: str, text: str) -> None:
        self.room = room
        self._by_name: dict[str, Query] = {}
        for query in _parse(room, text):
            if query.name in self._by_name:
                raise ValueError(f"query `{query.name}` of `{room}` stands there twice")
            self._by_name[query.name] = query

    def __getitem__(self, name: str) -> Query:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


@cache
def load_queries(package: str, file: str = "queries.sql") -> Queries:
    """Load the queries of a package (such as `festinger.events`)."""
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    return Queries(package.rpartition(".")[2], text)


def _parse(room: str, text: str) -> Iterator[Query]:
    _, *pieces = _HEAD.split(text)
    parts: dict[str, str] = {}
    for kind, name, body in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        purpose, sql = _read(body)
        if not purpose or not sql:
            raise ValueError(f"query `{name}` of `{room}` needs a comment and a statement")
        if kind == "part":
            parts[name] = sql
        else:
            yield Query(room=room, name=name, purpose=purpose, sql=_whole(sql, parts))


def _read(body: str) -> tuple[str, str]:
    """Split a body into its purpose and its statement or fragment."""
    lines = body.strip().splitlines()
    comment = []
    while lines and lines[0].startswith("--"):
        comment.append(lines.pop(0).removeprefix("--").strip())
    return " ".join(comment), "\n".join(lines).strip().removesuffix(";").strip()


def _whole(sql: str, parts: Mapping[str, str]) -> str:
    """Return a statement with its parts included; parts must stand above it in the file."""
    return _USE.sub(lambda use: indent(parts[use[2]], use[1]), sql)
