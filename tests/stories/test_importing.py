"""A person imports files of facts with default settings, and asks."""

from pathlib import Path

import pytest
from tests.runtime.server import opened
from tests.runtime.test_retrieval_outcomes import handle

from festinger.ids import Origin
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import LearnAction
from festinger.runtime.app import StartOptions

SERVICES = 300


@pytest.mark.requirement("M-14", "M-42")
async def test_three_hundred_numbered_services_are_three_hundred_facts(database_url: str, tmp_path: Path):
    lines = [f"Service number {number} listens on port {8000 + 7 * number % 911}." for number in range(SERVICES)]
    async with opened(database_url, tmp_path, start=StartOptions(providers=True)) as app:
        memory = handle(app)
        learned = await memory.learn_many([LearnRequest(text=line, origin=Origin.DOCUMENT) for line in lines])
        found = await memory.recall("On which port does service number 217 listen?")

    assert {each.action for each in learned} == {LearnAction.STORED}
    assert found.items[0].text == lines[217]


@pytest.mark.requirement("M-14")
@pytest.mark.parametrize("origin", [Origin.DOCUMENT, Origin.PERSON])
async def test_what_was_stated_later_is_what_comes_first(database_url: str, tmp_path: Path, origin: Origin):
    """A changed owner is replaced; a birthplace cannot change, and yet the later word comes first, marked."""
    stream = [
        "The owner of the billing service is Ann Lee.",
        "Anna Karlsson was born in the city of Uppsala.",
        "The owner of the billing service is Bo Sand.",
        "Anna Karlsson was born in the city of Lund.",
    ]
    async with opened(database_url, tmp_path, start=StartOptions(providers=True)) as app:
        memory = handle(app)
        for text in stream:
            await memory.learn(text, origin=origin)
        owner = await memory.recall("Who is the owner of the billing service?")
        born = await memory.recall("In which city was Anna Karlsson born?")

    assert owner.items[0].text == stream[2]
    assert stream[0] not in [item.text for item in owner.items]
    assert born.items[0].text == stream[3]
    assert born.items[0].disputed is (origin is Origin.PERSON)
