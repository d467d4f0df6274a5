"""Censors over HTTP."""

from pathlib import Path

import pytest
from tests.web.deps import deps

from festinger.store.repositories.auth import AccessRole

CENSORS = "/admin/api/censors"


@pytest.mark.requirement("M-66", "M-69", "M-72")
async def test_a_censor_is_made_asked_changed_and_corrected(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        reviewer = await at.new_key(AccessRole.REVIEWER)
        made = await at.ask("POST", CENSORS, body={"rule": "zebra", "reason": "No animals."})
        path = f"{CENSORS}/{made.json['id']}"
        looked = await at.ask("POST", f"{CENSORS}/check", body={"text": "a zebra", "dry_run": True})
        struck = await at.ask("POST", f"{CENSORS}/check", body={"text": "a zebra"})
        raised = await at.ask("PATCH", path, body={"action": "block", "why": "it matters"}, key=reviewer)
        stopped = await at.ask("POST", f"{CENSORS}/check", body={"text": "a zebra"})
        wrong = await at.ask("POST", f"{path}/false-positive", key=reviewer)
        trigger = struck.json["triggered"][0]["trigger"]
        named = await at.ask("POST", f"{CENSORS}/triggers/{trigger}/false-positive", key=reviewer)
        strikes = await at.ask("GET", f"{path}/triggers")
        off = await at.ask("PATCH", path, body={"active": False}, key=reviewer)
        listed = await at.ask("GET", f"{CENSORS}?active=true")

    assert (made.status, made.json["would_have_hit"], made.json["action"]) == (201, 0, "warn")
    assert looked.json["triggered"][0]["trigger"] is None
    assert (struck.json["blocked"], struck.json["guidance"]) == (False, "No animals.")
    assert raised.json["censor"]["action"] == "block"
    assert stopped.json["blocked"]
    assert (wrong.json["counted"], named.json["counted"]) == (True, True)
    assert [item["false_positive"] for item in strikes.json["items"]] == [True, True]
    assert not off.json["censor"]["active"]
    assert listed.json == {"items": [], "next": None}


@pytest.mark.requirement("M-66", "M-72")
async def test_an_agent_may_warn_and_neither_stop_nor_change_what_guards_it(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        agent = await at.new_key(AccessRole.AGENT)
        made = await at.ask("POST", CENSORS, body={"rule": "zebra"}, key=agent)
        stop = await at.ask("POST", CENSORS, body={"rule": "lion", "action": "block"}, key=agent)
        path = f"{CENSORS}/{made.json['id']}"
        changed = await at.ask("PATCH", path, body={"active": False}, key=agent)
        wrong = await at.ask("POST", f"{path}/false-positive", key=agent)

    assert (made.status, made.json["origin"]) == (201, "model")
    assert (stop.status, stop.json["error"]["details"]["reason"]) == (409, "needs_person")
    assert (changed.status, wrong.status) == (403, 403)


@pytest.mark.requirement("M-68")
async def test_a_bad_pattern_is_refused_with_its_place(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        bad = await at.ask("POST", CENSORS, body={"rule": "ab(?=c)"})
        others = [
            await at.ask("POST", CENSORS, body={"rule": ""}),
            await at.ask("POST", CENSORS, body={"rule": "x", "origin": "person"}),
            await at.ask("POST", f"{CENSORS}/check", body={"text": "x", "on": "nowhere"}),
            await at.ask("GET", f"{CENSORS}?active=maybe"),
        ]

    assert (bad.status, bad.json["error"]["details"]["place"]) == (422, 3)
    assert {got.status for got in others} == {422}
