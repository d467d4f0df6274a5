"""What is true of one thing is not taken away by news about another: learned with the bundled models, as by default."""

from pathlib import Path
from typing import Any

import pytest
from tests.runtime.server import given

import festinger
from festinger.memory.model import LearnAction

MODELS: dict[str, Any] = {"model": "onnx:all-minilm-l6-v2"}

TWO_SUBJECTS = [
    ("The port is 8080.", "staging server", "The port is 9090.", "production server"),
    ("It is on the second floor.", "scanner", "It is on the third floor now.", "printer"),
    ("Closes at 18:00.", "library", "Closes at 17:00 now.", "post office"),
    ("It costs 20 euros a month.", "basic plan", "It costs 40 euros a month now.", "premium plan"),
    ("Works as a nurse.", "Tom", "Works as a baker now.", "Tim"),
    ("Timeout is 30 seconds.", "client", "Timeout is 60 seconds.", "server"),
    ("She lives in Oslo.", "Anna", "She lives in Oslo.", "Berta"),
    ("Needs a new battery.", "smoke detector", "Needs a new battery.", "doorbell"),
]


async def test_news_about_one_named_subject_retires_nothing_of_another(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, **MODELS), database=database_url) as memory:
        kept = []
        for old, one, new, other in TWO_SUBJECTS:
            first = await memory.learn(old, subject=one)
            second = await memory.learn(new, subject=other)
            assert first.memory
            assert second.memory
            kept.append((second.action, first.memory.id != second.memory.id, second.superseded))

        assert kept == [(LearnAction.STORED, True, ())] * len(TWO_SUBJECTS)


async def test_news_about_a_named_subject_retires_what_was_said_of_it(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, **MODELS), database=database_url) as memory:
        old = await memory.learn("The port is 8080.", subject="staging server")
        again = await memory.learn("The port is 8080.", subject="staging server")
        new = await memory.learn("The port is 9090.", subject="staging server")

        assert old.memory
        assert again.action is LearnAction.CONFIRMED
        assert new.superseded == (old.memory.id,)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ticket 311 is assigned to Ben.", "Ticket 312 is now assigned to Ines."),
        ("Room 12 seats eight people.", "Room 14 seats twelve people now."),
        ("The host web-3 has 16 GB of memory.", "The host web-4 has 32 GB of memory now."),
        ("Invoice 4411 is still unpaid.", "Invoice 4412 was paid yesterday."),
        ("My brother works at Siemens.", "I changed jobs and work at Bosch now."),
        ("We have a team lunch every Monday.", "The team dinner was moved to Friday."),
        ("I'm in the Central European time zone.", "I'm based in Leipzig these days, if that matters for shipping."),
        ("I had a Skoda before the Golf.", "I sold the Golf and drive a Skoda now."),
        ("I play the piano.", "I've been playing the piano since school."),
        ("The team meeting on Monday took 40 minutes.", "The team meeting on Thursday took 25 minutes."),
        ("The report for May had 40 pages.", "The report for June had 55 pages."),
        ("The customer data must stay in the EU.", "The customer data is not allowed to leave the EU."),
    ],
)
async def test_what_both_can_be_true_stands_side_by_side(database_url: str, tmp_path: Path, old: str, new: str):
    async with festinger.open(given(tmp_path, **MODELS), database=database_url) as memory:
        await memory.learn(old)
        learned = await memory.learn(new)

        assert (learned.superseded, learned.conflict) == ((), None)


@pytest.mark.parametrize("news", ["Aylin took over from Jonas as product owner of Falcon.", "Aylin owns Falcon now."])
async def test_news_retires_every_wording_and_undo_brings_all_back(database_url: str, tmp_path: Path, news: str):
    async with festinger.open(given(tmp_path, **MODELS), database=database_url) as memory:
        wordings = ["Jonas is the product owner of Falcon.", "Jonas has the role of product owner for Falcon."]
        # Nobody reads documents against each other, so these stay two.
        olds = [await memory.learn(each, origin="document") for each in wordings]
        new = await memory.learn(news)
        gone = {each.memory.id for each in olds if each.memory}

        assert set(new.superseded) == gone
        assert new.change
        await memory.undo(new.change)
        assert {each.id for each in (await memory.recall("Who is the product owner of Falcon?")).items} >= gone
