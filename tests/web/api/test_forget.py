"""Forgetting, taking back and refusals over HTTP."""

from pathlib import Path

import pytest
from tests.web.deps import deps

from festinger.ids import MAIN_SPACE, Origin, Scope
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.store.repositories.auth import AccessRole

PLACE = Scope(space=MAIN_SPACE, agent="default", session="s1")  # type: ignore[arg-type]


async def test_a_reviewer_sees_the_plan_and_then_forgets(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        key = await at.new_key(AccessRole.REVIEWER)
        room = at.app.memory.deps
        learned = await learn(room, PLACE, LearnRequest(text="Zelda's key hangs behind the painting"))
        assert learned.memory is not None
        one = f"/admin/api/memories/{learned.memory.id}/forget"

        plan = await at.ask("POST", one, body={"dry_run": True}, key=key)
        done = await at.ask("POST", "/admin/api/forget", body={"ids": [str(learned.memory.id)]}, key=key)
        empty = await at.ask("POST", "/admin/api/forget", body={}, key=key)
        again = await learn(
            room, PLACE, LearnRequest(text="Zelda's key hangs behind the painting", origin=Origin.MODEL)
        )

    assert (plan.status, plan.json["dry_run"], plan.json["rows"]["memory"]) == (200, True, 1)
    assert done.json["erased"] == [str(learned.memory.id)]
    assert empty.status == 422
    assert again.reasons == ("forgotten",)


@pytest.mark.requirement("M-80")
async def test_an_agents_key_may_ask_for_forgetting_and_not_do_it(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        key = await at.new_key(AccessRole.AGENT)
        learned = await learn(at.app.memory.deps, PLACE, LearnRequest(text="Zelda's key hangs behind the painting"))
        assert learned.memory is not None
        one = f"/admin/api/memories/{learned.memory.id}"

        refused = await at.ask("POST", f"{one}/forget", body={"reason": "private"}, key=key)
        asked = await at.ask("POST", f"{one}/request-forget", body={"reason": "private"}, key=key)
        silent = await at.ask("POST", f"{one}/request-forget", body={}, key=key)
        kept = await at.ask("GET", one, key=key)

    proposal = asked.json["proposal"]
    assert (refused.status, asked.status, silent.status) == (403, 201, 422)
    assert (proposal["type"], proposal["state"], proposal["why"]) == ("forget_request", "waiting", "private")
    assert proposal["payload"] == {"memory_ids": [str(learned.memory.id)], "reason": "private"}
    assert (kept.status, kept.json["content"]) == (200, learned.memory.content)


async def test_a_reviewer_takes_a_source_back(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        key = await at.new_key(AccessRole.REVIEWER)
        given = LearnRequest(text="The bank account is 99", origin=Origin.DOCUMENT, source="https://example.org/x")
        learned = await learn(at.app.memory.deps, PLACE, given)
        assert learned.memory is not None

        done = await at.ask("POST", "/admin/api/repair", body={"source": "https://example.org/x"}, key=key)
        nowhere = await at.ask("POST", "/admin/api/repair", body={}, key=key)

    assert done.json["locked"] == [str(learned.memory.id)]
    assert done.json["change"]
    assert nowhere.status == 422


@pytest.mark.requirement("M-92")
async def test_refusals_are_listed_and_learnt_by_a_person(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        key = await at.new_key(AccessRole.REVIEWER)
        await learn(at.app.memory.deps, PLACE, LearnRequest(text="Blue sock", asked=False, origin=Origin.MODEL))

        listed = await at.ask("GET", "/admin/api/refusals", key=key)
        (refusal,) = listed.json["items"]
        learnt = await at.ask("POST", f"/admin/api/refusals/{refusal['id']}/learn", body={}, key=key)

    assert (refusal["reason"], refusal["text"]) == ("too_short", "Blue sock")
    assert (learnt.status, learnt.json["action"]) == (201, "stored")
