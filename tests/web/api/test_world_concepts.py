"""Words of the world over HTTP: what stands around one, and what nobody has explained."""

from pathlib import Path

import pytest
from tests.web.deps import deps

from festinger.ids import MAIN_SPACE, AgentId, Origin, Scope, SessionId
from festinger.jobs.worker import WorkerPool
from festinger.world.recall import SourceText


@pytest.mark.requirement("W-57")
async def test_without_a_model_a_name_that_stands_out_is_listed_as_wanted(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        room = at.app.world
        await room.need(MAIN_SPACE)
        place = Scope(space=MAIN_SPACE, agent=AgentId("a1"), session=SessionId("s1"))
        for number in range(16):
            said = SourceText(text=f"open gnommoweb again, {number}", origin=Origin.PERSON)
            await room.recollector.count(place, said)
        before = (await at.ask("GET", "/admin/api/wanted")).json
        await room.write_counts()
        await WorkerPool(at.app.jobs, shutdown_seconds=5).drain()
        after = (await at.ask("GET", "/admin/api/wanted")).json
        await at.ask("POST", "/iknowthat", body={"fact": "gnommoweb -isa repo"})
        explained = (await at.ask("GET", "/admin/api/wanted")).json

    assert before["items"] == []
    assert [(item["token"], item["encounters"]) for item in after["items"]] == [("gnommoweb", 16)]
    assert explained["items"] == []


async def test_the_graph_shows_what_stands_around_a_word(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        facts = ["gnommoweb -isa repo", "repo -isa artifact", "gnommoweb -ispart glitch", "tiny -isa gnommoweb"]
        await at.ask("POST", "/iknowthat", body={"facts": facts})
        near = (await at.ask("GET", "/admin/api/graph?centre=gnommoweb")).json
        far = (await at.ask("GET", "/admin/api/graph?centre=GNOMMOWEB&depth=2&dim=type")).json
        wrong = [
            (await at.ask("GET", f"/admin/api/graph?{query}")).status
            for query in ("", "centre=x&depth=4", "centre=x&depth=0", "centre=nobody")
        ]

    assert {(word["token"], word["level"]) for word in near["words"]} == {
        ("gnommoweb", 0),
        ("repo", -1),
        ("glitch", -1),
        ("tiny", 1),
    }
    assert {word["token"] for word in far["words"]} == {"gnommoweb", "repo", "artifact", "tiny"}
    assert wrong == [422, 422, 422, 404]
