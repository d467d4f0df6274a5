"""Proposals over HTTP: who sees, who proposes, and what the gate says."""

from pathlib import Path
from typing import Any

import pytest
from tests.web.inbox import DRAFT, WHAT, inbox

from festinger.store.repositories.auth import AccessRole

HIDDEN = "Retry \u202ethe\u200b failed query"


@pytest.mark.requirement("H-51")
async def test_what_a_reviewer_proposes_is_before_a_person_at_once_and_what_an_agent_proposes_waits(
    database_url: str, tmp_path: Path
):
    async with inbox(database_url, tmp_path) as at:
        persons = await at.ask("POST", body=DRAFT | {"what": "Cache the answers"})
        agents = await at.sight()

        assert (persons.status, agents.status) == (201, 201)
        assert (persons.json["proposal"]["state"], persons.json["proposal"]["producer"]) == ("promoted", "person")
        assert (agents.json["proposal"]["state"], agents.json["proposal"]["producer"]) == ("waiting", "api")
        assert agents.json["proposal"]["gate"] == {"ripeness": "too few", "age_days": 0, "missing": "1 more cause"}
        assert agents.json["proposal"]["seen"][0]["origin"] == "model"


@pytest.mark.requirement("H-51")
async def test_a_reviewer_may_propose_and_approve_with_one_call_and_nobody_else(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        agents = await at.ask("POST", body=DRAFT | {"approve": True}, key=at.bot)
        admins = await at.ask("POST", body=DRAFT | {"approve": True}, key=at.deps.key)
        persons = await at.ask("POST", body=DRAFT | {"approve": True})

        assert (agents.status, admins.status, persons.status) == (403, 403, 201)
        assert persons.json["decided"]["state"] == "applied"
        assert [row["title"] for row in await at.table("task")] == [WHAT]


async def test_what_may_not_be_proposed_is_refused_with_its_reason(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        secret: dict[str, Any] = {
            "type": "settings_change",
            "payload": {"key": "auth.loopback", "from": "open", "to": "x"},
        }
        said = [
            await at.sight("to the and of"),
            await at.sight(category="wit"),
            await at.sight(type="wish"),
            await at.sight(**secret),
            await at.ask("POST", body={"what": WHAT}),
        ]

        assert [(got.status, got.json["error"]["name"]) for got in said] == [
            (422, "proposal_refused"),
            (422, "bad_input"),
            (422, "bad_input"),
            (409, "not_proposable"),
            (422, "bad_input"),
        ]


async def test_the_same_call_again_is_the_same_sighting(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        for _ in range(2):
            await at.ask("POST", body=DRAFT, key=at.bot, headers={"idempotency-key": "k1"})

        assert [row["times"] for row in await at.table("proposal_sighting")] == [1]


@pytest.mark.requirement("H-87")
async def test_a_list_is_narrowed_and_read_page_by_page(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        for number in range(3):
            await at.sight(f"Change number {number}")
        await at.proposed("Cache the answers", scope="cache")

        first = (await at.ask("GET", "?state=waiting&limit=2")).json
        second = (await at.ask("GET", f"?state=waiting&limit=2&cursor={first['next']}")).json
        scoped = (await at.ask("GET", "?scope=cache&category=reliability&held=false")).json
        none = (await at.ask("GET", "?held=true")).json
        refused = [await at.ask("GET", query) for query in ("?state=odd", "?held=maybe", "?cursor=x")]

        listed = [each["what"] for each in (*first["items"], *second["items"])]
        assert sorted(listed) == ["Change number 0", "Change number 1", "Change number 2"]
        assert second["next"] is None
        assert [each["what"] for each in scoped["items"]] == ["Cache the answers"]
        assert none["items"] == []
        assert [got.status for got in refused] == [422, 422, 422]


@pytest.mark.requirement("H-87")
async def test_a_card_shows_what_is_there_who_said_it_and_what_a_yes_would_do(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        for _ in range(3):
            seen = (await at.sight(HIDDEN)).json["proposal"]

        got = await at.ask("GET", f"/{seen['id'][:13]}")
        card = got.json

        assert "\u202e" not in got.text
        assert [each["text"] for each in card["wordings"]] == ["Retry ⟦U+202E⟧the⟦U+200B⟧ failed query"]
        assert (card["seen_count"], card["sightings"]) == (1, 3)
        assert [(each["origin"], each["agent_id"], each["times"]) for each in card["seen"]] == [("model", "default", 3)]
        assert card["effect"]["says"] == "Makes a task for a person; nothing else changes."
        assert (card["verdicts"], card["effects"], card["pairs"]) == ([], [], [])
        assert got.headers["etag"] == f'"{card["version"]}"'


@pytest.mark.requirement("H-35", "H-87")
async def test_the_gate_is_tried_and_then_run(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        waiting = (await at.sight()).json["proposal"]
        tried = (await at.ask("POST", "/promote", body={"dry_run": True})).json
        ripe = await at.ripened()
        rate = (await at.ask("GET", "/rate")).json

        assert (tried["dry_run"], tried["promoted"], tried["too_few"]) == (True, 0, 1)
        assert tried["readings"][0]["missing"] == "1 more cause"
        assert (ripe["id"], ripe["state"]) == (waiting["id"], "promoted")
        assert (rate["promoted"], rate["considered"], rate["reading"]) == (1, 1, "too little to say")


async def test_one_number_counts_what_waits_here_and_in_other_rooms(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        await at.proposed()
        await at.proposed("Cache the answers", approve=True)
        for fact in ("gnommoweb -isa repo", "gnommoweb -isa container"):
            await at.deps.ask("POST", "/iknowthat", key=None, body={"fact": fact})

        found = (await at.deps.ask("GET", "/admin/api/inbox", key=at.ann)).json

        assert (found["in_all"], found["open"]) == (3, 1)
        assert {each["kind"]: each["count"] for each in found["elsewhere"]} == {"conflicts": 1, "tasks": 1}
        assert found["elsewhere"][0]["items"][0]["link"].startswith("/admin/conflicts/")


@pytest.mark.requirement("H-92")
async def test_a_proposal_of_another_space_is_not_found(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        await at.deps.ask("POST", "/admin/api/spaces", body={"name": "team"})
        await at.deps.app.directory.reload()
        card = await at.proposed()
        theirs = await at.deps.new_key(AccessRole.REVIEWER, "team", name="tom")

        looked = await at.ask("GET", f"/{card['id']}", key=theirs)
        decided = await at.decide(card, "approve", key=theirs)

        assert (looked.status, decided.status) == (404, 404)
        assert (await at.ask("GET", f"/{card['id']}")).json["state"] == "promoted"
