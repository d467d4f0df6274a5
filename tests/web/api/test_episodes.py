"""Episodes over HTTP."""

from pathlib import Path

import pytest
from tests.web.deps import deps

from festinger.ids import MAIN_SPACE, AgentId
from festinger.services.access import issue_key
from festinger.store.repositories.auth import AccessRole

EPISODES = "/admin/api/episodes"


@pytest.mark.requirement("M-50", "M-51", "M-52")
async def test_an_episode_is_opened_spoken_in_read_and_closed(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        made = await at.ask("POST", EPISODES, body={"session": "s1", "title": "Moving"})
        path = f"{EPISODES}/{made.json['id']}"
        said = await at.ask("POST", f"{path}/turns", body={"role": "user", "content": "Where is the vault?"})
        named = await at.ask("PATCH", path, body={"summary": "We spoke of the vault."})
        closed = await at.ask("POST", f"{path}/close")
        again = await at.ask("POST", f"{path}/close")
        shown = await at.ask("GET", path)
        listed = await at.ask("GET", f"{EPISODES}?state=closed&session=s1")
        after = await at.ask("POST", f"{path}/turns", body={"role": "user", "content": "One more thing."})

    assert (made.status, said.status, closed.status, again.json) == (201, 201, 200, closed.json)
    assert said.json["turn"]["origin"] == "person"
    assert named.json["summary"] == "We spoke of the vault."
    assert [turn["content"] for turn in shown.json["turns"]] == ["Where is the vault?"]
    assert [item["id"] for item in listed.json["items"]] == [made.json["id"]]
    assert after.json["episode"]["continues"] == made.json["id"]


async def test_an_agent_speaks_for_itself_and_sees_its_own_episodes_alone(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        _, own = await issue_key(at.app, "own", role=AccessRole.AGENT, space=MAIN_SPACE, agent=AgentId("a1"), by="test")
        _, other = await issue_key(
            at.app, "other", role=AccessRole.AGENT, space=MAIN_SPACE, agent=AgentId("a2"), by="test"
        )
        made = await at.ask("POST", EPISODES, body={"session": "s1"}, key=own)
        path = f"{EPISODES}/{made.json['id']}"
        said = await at.ask("POST", f"{path}/turns", body={"role": "user", "content": "I am a person."}, key=own)
        hidden = [
            (await at.ask("GET", path, key=other)).status,
            (await at.ask("POST", f"{path}/close", key=other)).status,
            (await at.ask("POST", f"{path}/turns", body={"role": "user", "content": "x"}, key=other)).status,
        ]
        listed = await at.ask("GET", EPISODES, key=other)

    assert said.json["turn"]["origin"] == "model"
    assert made.json["agent_id"] == "a1"
    assert hidden == [404, 404, 404]
    assert listed.json["items"] == []


async def test_what_does_not_fit_is_refused(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        made = await at.ask("POST", EPISODES, body={"session": "s1"})
        path = f"{EPISODES}/{made.json['id']}"
        bad = [
            await at.ask("POST", EPISODES, body={"session": ""}),
            await at.ask("POST", EPISODES, body={"session": "s", "origin": "person"}),
            await at.ask("POST", f"{path}/turns", body={"role": "oracle", "content": "x"}),
            await at.ask("POST", f"{path}/turns", body={"role": "user", "content": "a\x00b"}),
            await at.ask("GET", f"{EPISODES}?state=odd"),
            await at.ask("PATCH", path, body={}),
        ]

    assert {got.status for got in bad} == {422}
