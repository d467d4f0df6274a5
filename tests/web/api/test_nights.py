"""Nights over HTTP: started, listed, read and taken back."""

from pathlib import Path

import pytest
from tests.jobs.deps import drain
from tests.web.deps import deps

from festinger.consolidation.night import NO_MODEL
from festinger.store.repositories.auth import AccessRole


@pytest.mark.requirement("C-14", "C-16")
async def test_a_reviewer_starts_reads_and_takes_back_a_night(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        reviewer = await at.new_key(AccessRole.REVIEWER)
        refused = await at.ask("POST", "/admin/api/nights", body={})
        begun = await at.ask("POST", "/admin/api/nights", body={"dry_run": False}, key=reviewer)
        again = await at.ask("POST", "/admin/api/nights", body={}, key=reviewer)
        await drain(at.app.jobs)
        night = begun.json["night"]
        listed = await at.ask("GET", "/admin/api/nights?limit=1")
        page = await at.ask("GET", f"/admin/api/nights?cursor={night}")
        told = await at.ask("GET", f"/admin/api/nights/{night}")
        undone = await at.ask("POST", f"/admin/api/nights/{night}/undo", body={}, key=reviewer)
        wrong = await at.ask("POST", "/admin/api/nights", body={"step": "dance"}, key=reviewer)
        unknown = await at.ask("GET", "/admin/api/nights/018f3a5e-7b21-7000-8000-000000000001")

    assert (refused.status, begun.status, again.status) == (403, 202, 409)
    assert [each["id"] for each in listed.json["items"]] == [night]
    assert (listed.json["next"], page.json["items"]) == (night, [])
    assert (told.json["state"], told.json["lines"]) == ("done", [NO_MODEL, "Nothing was changed."])
    assert undone.json == {"night": night, "undone": 0}
    assert (wrong.status, unknown.status) == (422, 404)
