"""The page of a mind: a person talks, sees what was used, and tends the goals."""

import re
from html import unescape
from pathlib import Path

import pytest
from tests.jobs.deps import rows
from tests.web.asgi import streamed
from tests.web.deps import deps
from tests.web.pages.test_overview import read
from tests.web.visitor import visitor

from festinger.client.memory import Memory
from festinger.ids import MAIN_SPACE, AgentId, SessionId
from festinger.services.resident import tick
from festinger.store.repositories.auth import AccessRole

PAGE = "/admin/mind/ada"


@pytest.mark.requirement("A-97", "U-30")
async def test_the_page_is_live_and_shows_what_was_thought_meanwhile(database_url: str, tmp_path: Path):
    thought = "Pepper would like the park in Lisgate."
    (tmp_path / "answers.jsonl").write_text(f'"All right."\n"All right."\n"{thought}"')
    async with deps(database_url, tmp_path, llm__chat=f"scripted:{tmp_path}/answers.jsonl") as at:
        ann = await visitor(at)
        for said in ("Our dog is called Pepper.", "I live in Lisgate."):
            await ann.press(await ann.get(PAGE), "Say it", text=said, new="")
        page = await ann.get(PAGE)
        live = re.search(r'data-live="([^"]+)"', page.text)
        assert live is not None
        async with streamed(at.pages, unescape(live[1]), key=at.key) as stream:
            await rows(at.app.store, "update episode set last_at = last_at - interval '1 hour' returning id")
            assert [each.reply for each in await tick(at.app)] == [thought]
            happened = await stream.next()
        later = await ann.get(PAGE)

    words = " ".join("".join(read(later.text).words).split())
    assert happened is not None
    assert "event: cycle_finished" in happened
    assert f"Its own thought: {thought}" in words
    assert f"Thoughts of its own {thought}" in words


@pytest.mark.requirement("U-31")
async def test_a_person_talks_and_sees_what_the_answer_used(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path, proxy__upstream="http://127.0.0.1:9") as at:
        memory = Memory(space=MAIN_SPACE, agent=AgentId("ada"), session=SessionId("desk"), _app=at.app)
        await memory.learn("Never send mail on my behalf.", immutable=True)
        await memory.learn("I prefer short answers.", kind="preference")
        ann = await visitor(at)
        said = await ann.press(await ann.get(PAGE), "Say it", text="I live in Lisgate.")
        asked = await ann.press(await ann.get(said.headers["location"]), "Say it", text="Where do I live?", new="")
        page = await ann.get(asked.headers["location"])
        await ann.press(await ann.get(PAGE), "Say it", text="Please forget that I live in Lisgate.", new="")
        wish = " ".join("".join(read((await ann.get(PAGE)).text).words).split())
        await ann.press(await ann.get(PAGE), "Say it", text="Remind me in 2 hours to call Bob.", new="")
        ready = await ann.get(f"{PAGE}?readiness=yes")
        verified = await ann.get((await ann.press(ready, "Verify")).headers["location"])
        doubted = await ann.get((await ann.press(verified, "Take back")).headers["location"])
        other = await ann.get("/admin/mind")
        twin = (await ann.get(f"{PAGE}.json")).json

    words = " ".join("".join(read(page.text).words).split())
    assert "Never send mail on my behalf.They stand in every prompt." in words
    assert "I prefer short answers.weight 0.20, seldom in a prompt" in words
    assert "note: I live in Lisgate" in words
    assert "nothing else asked for attention; answered from memory, without a model" in words
    assert "I live in Lisgate. ada" in words
    assert "This is what I remember: - I live in Lisgate" in words
    assert f'href="{PAGE}"' in other.text
    assert [each["message"] for each in twin["cycles"]][1:] == [None, "Where do I live?", "I live in Lisgate."]
    assert "You asked to forget something: open a note to erase it note: I live in Lisgate" in wish
    come = " ".join("".join(read(ready.text).words).split())
    assert "A first memory was formed.reached 20" in come
    assert "out of a thought about what matters.not yet" in come
    assert [page.text.count(", verified 20") for page in (ready, verified, doubted)] == [0, 1, 0]
    assert "call Bobdue" in come


async def test_a_goal_is_added_reached_undone_and_reopened_on_the_page(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        ann = await visitor(at)
        await ann.press(await ann.get(PAGE), "Add", text="Read a book a month.")
        reached = await ann.press(await ann.get(PAGE), "Reached")
        shown = await ann.get(reached.headers["location"])
        undone = await ann.press(shown, "Undo")
        open_again = (await ann.get(f"{PAGE}.json")).json["goals"]
        await ann.press(await ann.get(PAGE), "Drop it")
        dropped = (await ann.get(f"{PAGE}.json")).json
        await ann.press(await ann.get(PAGE), "Reopen")
        reopened = (await ann.get(f"{PAGE}.json")).json

    assert undone.status == 303
    assert [each["text"] for each in open_again] == ["Read a book a month"]
    assert (dropped["goals"], [each["state"] for each in dropped["settled"]]) == ([], ["dropped"])
    assert ([each["text"] for each in reopened["goals"]], reopened["settled"]) == (["Read a book a month"], [])


async def test_an_agent_that_is_called_like_a_folder_has_a_page_too_and_an_unusable_model_does_not_hide_it(
    database_url: str, tmp_path: Path
):
    async with deps(database_url, tmp_path, llm__chat="openai:gpt") as at:
        memory = Memory(space=MAIN_SPACE, agent=AgentId("~/src/app"), session=SessionId("desk"), _app=at.app)
        await memory.learn("Run the migrations before the tests.", kind="procedural")
        ann = await visitor(at)
        listed = await ann.get("/admin/mind")
        goals, key = "/admin/api/agents/~/src/app/goals", await at.new_key(AccessRole.REVIEWER)
        await at.ask("POST", goals, key=key, body={"do": "add", "text": "Ship v2."})
        page = await ann.get("/admin/mind/~/src/app")
        twin = (await ann.get("/admin/mind/~/src/app.json")).json

    assert 'href="/admin/mind/~%2Fsrc%2Fapp"' in listed.text
    assert "Run the migrations before the tests." in page.text
    assert [each["text"] for each in twin["goals"]] == ["Ship v2"]
    assert twin["models"]["chat"] is None
