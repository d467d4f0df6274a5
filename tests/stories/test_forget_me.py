"""Somebody asks to be forgotten: what was said through every door is nowhere any more."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.memory.oblivion import files_with, places_of
from tests.stories.stage import stage
from tests.stories.test_recalling import key_of, library, talk

from festinger.ids import EVERY_SPACE, SessionId
from festinger.jobs.worker import WorkerPool
from festinger.memory.episodes.store import append_turn
from festinger.services.access import issue_key
from festinger.store.repositories.auth import AccessRole

PHRASE = "Zelda's spare key hangs behind the quokka painting"
WORDS = ("spare key hangs", "behind the quokka")


@pytest.mark.requirement("M-82")
async def test_a_phrase_that_came_through_every_door_is_found_nowhere(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        memory, key = library(at.app, "desk"), await key_of(at)
        learned = await memory.learn(PHRASE)
        await at.post("/admin/api/memories", {"text": PHRASE.upper()}, **key)
        await talk(at, f"Please note: {PHRASE}. And feed the cat.")
        await talk(at, "Where does Zelda's key hang?")
        await at.post("/admin/api/recall", {"cue": PHRASE}, **key)
        heard = replace(memory._place, session=SessionId("talk"))
        await append_turn(at.app.memory.deps, heard, "user", f"{PHRASE}, she said.")
        await at.kept()
        await WorkerPool(at.app.jobs, shutdown_seconds=5).drain()
        before = await places_of(at.app.store, *WORDS)
        assert learned.memory is not None
        asked = {"ids": [str(learned.memory.id)], "reason": "she asked"}
        _, secret = await issue_key(
            at.app, "ann", role=AccessRole.REVIEWER, space=EVERY_SPACE, agent=None, by="the test"
        )
        got = await at.post("/admin/api/forget", asked, **{"X-Festinger-Key": secret})
        await WorkerPool(at.app.jobs, shutdown_seconds=5).drain()
        after = await places_of(at.app.store, *WORDS)
        left = await places_of(at.app.store, "feed the cat")
        again = await library(at.app, "later").learn(PHRASE, origin="model")
        home = at.app.home

    assert got.status == 200
    assert any("exchange_message" in place for place in before)
    assert any("episode_turn" in place for place in before)
    assert after == []
    assert left != []
    assert again.reasons == ("forgotten",)
    assert files_with(home, *WORDS) == []
