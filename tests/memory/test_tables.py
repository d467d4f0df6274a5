"""What the tables themselves hold, whoever writes them."""

import re
from pathlib import Path

import pytest
from tests.jobs.deps import rows, run_sql
from tests.memory.remembering import Mind, known

from festinger.errors import Refused
from festinger.store.pool import Store

SOURCES = Path(__file__).parents[2] / "src" / "festinger"


@pytest.mark.requirement("M-04")
@pytest.mark.parametrize(
    "wrong",
    [
        "status = 'superseded'",
        "status = 'merged'",
        "superseded_by = id",
        "status = 'lost'",
        "kind = 'semantic'",
        "content = ''",
        "trust = 1.5",
        "weight_alpha = 0",
    ],
)
async def test_a_memory_is_in_one_of_its_states_with_what_belongs_to_it(store: Store, wrong: str):
    await Mind(store).learn("Ann keeps bees")

    with pytest.raises(Exception, match="violates check constraint"):
        await run_sql(store, f"update memory set {wrong}")


async def test_the_same_words_stand_once_among_the_live(store: Store):
    mind = Mind(store)
    learned = await mind.learn("Ann keeps bees")
    copy = (
        "insert into memory (space_id, id, kind, content, fold, gist, origin, trust, status, created_at, updated_at)"
        " select space_id, gen_random_uuid(), kind, content, fold, gist, origin, trust, %(status)s, created_at,"
        " updated_at from memory where id = %(id)s"
    )

    for status in ("active", "held", "quarantined"):
        with pytest.raises(Refused):
            await run_sql(store, copy, id=known(learned), status=status)
    assert await run_sql(store, copy, id=known(learned), status="archived") == 1


@pytest.mark.requirement("M-01", "M-03")
async def test_a_memory_begins_as_the_table_says(store: Store):
    mind = Mind(store)
    learned = await mind.learn("Ann keeps bees", event_time=mind.hands.now)

    (row,) = await rows(store, "select * from memory")
    assert (row["confidence"], row["weight_alpha"], row["weight_beta"], row["cause_count"]) == (0.5, 1.0, 4.0, 1)
    assert (row["version"], row["pending"], row["source_tag"]) == (1, False, "external_user")
    assert row["event_day"] == mind.hands.now.date()
    assert "'bee':" in row["content_tsv"]
    (vector,) = await rows(store, "select purpose, model, dims, is_bare from memory_vector")
    assert (vector["purpose"], vector["model"], vector["dims"]) == ("store", "scripted:near", 64)
    assert vector["is_bare"]
    (sighting,) = await rows(store, "select id, memory_id, counted, wording from memory_sighting")
    assert (sighting["id"], sighting["memory_id"], sighting["counted"]) == (known(learned), known(learned), True)
    (options,) = await rows(store, "select reloptions from pg_class where relname = 'memory'")
    assert options["reloptions"] == ["fillfactor=75"]


@pytest.mark.requirement("M-12")
def test_there_is_one_way_in():
    statements = [
        (path.relative_to(SOURCES), name)
        for path in SOURCES.rglob("*.sql")
        for name in re.findall(r"insert\s+into\s+(memory)\b(?!_)", path.read_text(), re.IGNORECASE)
    ]
    callers = [path.relative_to(SOURCES) for path in SOURCES.rglob("*.py") if 'Q["put_memory"]' in path.read_text()]

    assert statements == [(Path("memory/queries.sql"), "memory")]
    assert callers == [Path("memory/learn/store.py")]
