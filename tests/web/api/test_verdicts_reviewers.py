"""Reviewers over HTTP: an administrator says who decides, and whoever is sent away decides no more."""

from pathlib import Path

from tests.web.inbox import inbox

REVIEWERS = "/admin/api/reviewers"


async def test_whoever_is_sent_away_decides_no_more_until_they_are_back(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        first, second = await at.proposed("Cache the answers"), await at.proposed()
        before = await at.decide(first, "reject")
        gone = await at.deps.ask("DELETE", f"{REVIEWERS}/ann")
        refused = await at.decide(second, "reject")
        await at.deps.ask("POST", REVIEWERS, body={"name": "ann"})
        again = await at.decide(second, "reject")
        listed = (await at.deps.ask("GET", REVIEWERS)).json["items"]

        assert [got.status for got in (before, gone, refused, again)] == [200, 200, 403, 200]
        assert gone.json["active"] is False
        assert [(each["name"], each["active"]) for each in listed] == [("ann", True)]


async def test_a_reviewer_is_known_only_by_what_a_channel_proves(database_url: str, tmp_path: Path):
    async with inbox(database_url, tmp_path) as at:
        made = await at.deps.ask("POST", REVIEWERS, body={"name": "Ada", "identities": {"webhook": ["ada"]}})
        unknown = await at.deps.ask("DELETE", f"{REVIEWERS}/Bob")
        odd = await at.deps.ask("POST", REVIEWERS, body={"name": "Eve", "identities": {"face": ["eve"]}})

        assert made.status == 201
        assert made.json["identities"] == {"webhook": ["ada"]}
        assert (unknown.status, odd.status) == (404, 422)
