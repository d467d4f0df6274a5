"""A migration is named by what it does; one that runs before the new code only adds, one after it only removes."""

import re
from itertools import pairwise

import pytest

from festinger.store.migration import load_own_migrations

NAME = re.compile(r"(\d{4})_[a-z]+(?:_[a-z0-9]+)+\.(pre|post)")

COMMENT = re.compile(r"--[^\n]*")
QUOTED = re.compile(r"\$(\w*)\$.*?\$\1\$|'(?:[^']|'')*'", re.DOTALL)

REMOVES = re.compile(
    r"\s*(?:drop|delete|truncate|revoke)\b|\s*alter\b.*\b(?:drop|rename|type|set\s+not\s+null)\b",
    re.DOTALL | re.IGNORECASE,
)
ONLY_REMOVES = re.compile(r"\s*(?:drop|delete)\b|\s*alter\b.*\b(?:drop|set\s+not\s+null)\b", re.DOTALL | re.IGNORECASE)


def statements(text: str) -> list[str]:
    """The statements of a file, without comments and with every quoted text emptied."""
    bare = QUOTED.sub("''", COMMENT.sub("", text))
    return [statement for statement in bare.split(";") if statement.strip()]


def breaks(kind: str, text: str) -> list[str]:
    """What a migration of this kind may not do."""
    if kind == "pre":
        return [found for found in statements(text) if REMOVES.match(found)]
    return [found for found in statements(text) if not ONLY_REMOVES.match(found)]


@pytest.mark.requirement("X-34")
def test_every_migration_is_numbered_and_says_what_it_does() -> None:
    assert [migration.name for migration in load_own_migrations() if not NAME.fullmatch(migration.name)] == []


@pytest.mark.requirement("X-34")
def test_numbers_follow_one_another_without_gap_or_twin() -> None:
    numbers = [int(migration.name[:4]) for migration in load_own_migrations()]

    assert numbers[0] == 23, "the first one makes the whole schema"
    assert [(before, after) for before, after in pairwise(numbers) if after != before + 1] == []


@pytest.mark.requirement("X-34")
def test_what_runs_before_the_new_code_only_adds_and_what_runs_after_it_only_removes() -> None:
    found = {
        migration.name: broken
        for migration in load_own_migrations()
        if (broken := breaks(migration.name.rpartition(".")[2], migration.sql))
    }

    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "drop table a",
        "create table a (b int); drop index c",
        "alter table a drop column b",
        "alter table a rename column b to c",
        "ALTER TABLE a ALTER COLUMN b TYPE text",
        "delete from a",
        "truncate a",
        "-- why\ndrop table a",
    ],
)
def test_the_scan_sees_a_removal(text: str) -> None:
    assert breaks("pre", text)


@pytest.mark.parametrize(
    "text",
    [
        "create table a (b int)",
        "comment on table a is 'rows that we drop; later'",
        "create function f() returns void language sql as $$ delete from a; $$",
        "insert into a values (';drop table a')",
        "alter table a add column b int",
        "-- drop it later\ncreate index i on a (b)",
    ],
)
def test_the_scan_takes_an_addition_for_what_it_is(text: str) -> None:
    assert breaks("pre", text) == []
    assert breaks("post", text)
