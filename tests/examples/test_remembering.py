"""The demos of a fact that changes and of a page that wants to be believed are acceptance tests of that."""

from pathlib import Path

import pytest
from examples.ground import open_environment
from examples.poison import LIE, TRUTH, play_poison
from examples.supersede import FACT, NEWER, play_supersede


@pytest.mark.requirement("M-48")
async def test_a_fact_is_kept_confirmed_replaced_and_brought_back(database_url: str, tmp_path: Path):
    async with open_environment(tmp_path, say=lambda _: None, database_url=database_url) as ground:
        learnt, again, newer, stood, undone, once_more = [scene async for scene in play_supersede(ground)]

    assert learnt.got.startswith("stored: ")
    assert again.got.startswith("confirmed: ")
    assert newer.got.startswith("superseded: ")
    assert "number" in newer.got
    assert stood.got == f"{FACT} (superseded, said 2 times)\n{NEWER} (active)"
    assert undone.got == f"{FACT} (active, said 2 times)"
    assert once_more.got.startswith("stored: ")
    assert once_more.got.endswith(f"{FACT} (active, said 2 times)\n{NEWER} (active)")


@pytest.mark.requirement("M-45")
async def test_what_a_person_said_stands_whatever_a_page_says(database_url: str, tmp_path: Path):
    async with open_environment(tmp_path, say=lambda _: None, database_url=database_url) as ground:
        known, lie, order, insisted, stands, decided = [scene async for scene in play_poison(ground)]

    assert known.got.startswith("stored: ")
    assert lie.got.startswith("conflicted: ")
    assert order.got.startswith("quarantined: ")
    assert set(insisted.got.split()) == {"conflicted"}
    assert stands.got == f"{TRUTH} (active)"
    assert f"{LIE} (archived" in decided.got
    assert f"{TRUTH} (active)" in decided.got
