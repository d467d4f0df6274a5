"""All rows of all tables of a database: what has changed of them, and how to put it back."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Self

import psycopg

Row = tuple[str, str]
"""A table, and a row of it as JSON."""
Change = tuple[str, str, str]
"""Whether a row came (`+`) or went (`-`), its table, and the row."""

BOOKKEEPING = "procrastinate_events"
"""The log of the queue, which a trigger writes by the clock of the server. The jobs themselves are compared."""
IDS = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?<=:)[0-9a-f]{32}")
"""Ids, and what the keys of the units of a night have made of ids."""
ROUNDS = 3
"""How far from an id the rows are that tell it from others."""

COLUMNS = """
select c.table_name, c.column_name, c.is_identity = 'YES' or coalesce(c.column_default, '') like 'nextval%'
from information_schema.columns c
join information_schema.tables t using (table_schema, table_name)
where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER'
order by 1, c.ordinal_position
"""


@dataclass(frozen=True, kw_only=True)
class Tables:
    connection: "psycopg.Connection[Any]"
    columns: dict[str, list[str]]
    counted: frozenset[tuple[str, str]]
    """Columns whose values come from a sequence."""
    kept: Counter[Row] = field(default_factory=Counter)

    @classmethod
    def of(cls, connection: "psycopg.Connection[Any]") -> Self:
        """The tables of a database, whose present rows are kept."""
        found: dict[str, list[str]] = defaultdict(list)
        rows = connection.execute(COLUMNS).fetchall()
        for table, column, _ in rows:
            found[table].append(column)
        counted = frozenset((table, column) for table, column, is_counted in rows if is_counted)
        tables = cls(connection=connection, columns=dict(found), counted=counted)
        connection.execute("create schema kept")
        for table in tables.columns:
            connection.execute(_text("create table kept.{0} as table public.{0}", table))
        tables.kept.update(tables._rows())
        return tables

    def changes(self) -> list[Change]:
        """What has changed since the rows were kept."""
        now = Counter(self._rows())
        came, went = (now - self.kept).elements(), (self.kept - now).elements()
        return sorted([("+", *row) for row in came] + [("-", *row) for row in went])

    def put_back(self) -> None:
        """Bring back the rows that were kept."""
        changed = sorted({table for _, table, _ in self.changes()})
        self.connection.execute("set session_replication_role = replica")  # neither triggers nor references
        for table in changed:
            columns = ", ".join(f'"{each}"' for each in self.columns[table])
            self.connection.execute(_text("delete from public.{0}", table))
            insert = f"insert into public.{{0}} ({columns}) overriding system value select {columns} from kept.{{0}}"
            self.connection.execute(_text(insert, table))

    def without_names(self, changes: Sequence[Change]) -> list[str]:
        """Changes without what is random in them: a new id is named after all rows that mention it, and the values
        of a sequence, which leaves out those of transactions that failed, are counted anew."""
        known = [(sign, table, json.loads(row)) for sign, table, row in changes if table != BOOKKEEPING]
        for table, column in self.counted:
            came = [row for sign, name, row in known if (sign, name) == ("+", table)]
            ranks = {value: rank for rank, value in enumerate(sorted(row[column] for row in came if row[column]))}
            for row in came:
                row[column] = ranks.get(row[column])
        lines = [f"{sign} {table} {json.dumps(row)}" for sign, table, row in known]
        standing = frozenset(id_ for _, row in self.kept for id_ in IDS.findall(row))
        return sorted(_renamed(lines, standing))

    def _rows(self) -> list[Row]:
        one = "select '{1}', to_jsonb(x)::text from public.{0} x"
        return self.connection.execute(" union all ".join(_text(one, table) for table in self.columns)).fetchall()


def _text(statement: str, table: str) -> str:
    return statement.format(f'"{table}"', table)


def _renamed(lines: Sequence[str], standing: frozenset[str]) -> Iterator[str]:
    """The lines with each new id replaced by a mark of the lines in which it stands, and of the ids beside it."""
    marks = {id_: id_ for id_ in standing}
    for _ in range(ROUNDS):
        places: dict[str, list[str]] = defaultdict(list)
        for line in lines:
            for id_ in {*IDS.findall(line)} - standing:
                places[id_].append(_marked(line, marks, itself=id_))
        marks |= {
            id_: blake2b(repr(sorted(found)).encode(), digest_size=6).hexdigest() for id_, found in places.items()
        }
    return (_marked(line, marks) for line in lines)


def _marked(line: str, marks: dict[str, str], *, itself: str = "") -> str:
    sign, table, row = line.split(" ", 2)
    text = IDS.sub(lambda found: "@" if found[0] == itself else marks.get(found[0], "#"), row)
    return f"{sign} {table} {json.dumps(_in_order(json.loads(text)), sort_keys=True)}"


def _in_order(value: Any) -> Any:
    """A value whose lists are sorted: those of ids are in the order of the ids."""
    if isinstance(value, dict):
        return {key: _in_order(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted(map(_in_order, value), key=json.dumps)
    return value


@contextmanager
def tables_of(url: str) -> Iterator[Tables]:
    """The tables of a database as they are now."""
    with psycopg.connect(url, autocommit=True) as connection:
        yield Tables.of(connection)
