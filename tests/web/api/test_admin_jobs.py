"""Jobs over HTTP."""

from pathlib import Path
from typing import Any

import pytest
from tests.jobs.deps import drain
from tests.web.deps import Desk, deps

from festinger.errors import BadInput


async def make_dead(at: Desk) -> int:
    """A job that can never be done."""

    async def broken(_run: Any, **_ids: Any) -> None:
        raise BadInput("It cannot be done.")

    at.app.jobs.register("hopeless", broken)
    job = await at.app.jobs.defer(None, "hopeless", thing="42")
    await drain(at.app.jobs)
    return job


@pytest.mark.requirement("X-52")
async def test_a_dead_job_is_listed_with_all_that_a_person_needs(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        job = await make_dead(at)

        (dead,) = (await at.ask("GET", "/admin/api/jobs?state=dead")).json["items"]
        one = (await at.ask("GET", f"/admin/api/jobs/{job}")).json

        assert dead == one
        assert (dead["id"], dead["name"], dead["ids"]) == (job, "hopeless", {"thing": "42"})
        assert (dead["error"], dead["error_text"]) == ("bad_input", "It cannot be done.")
        assert dead["attempts"] >= 1
        assert dead["first_failed_at"]
        assert dead["last_failed_at"]


@pytest.mark.requirement("X-52")
async def test_a_dead_job_can_be_retried_and_dropped_with_a_note(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        job = await make_dead(at)

        retried = await at.ask("POST", f"/admin/api/jobs/{job}/retry")
        await drain(at.app.jobs)
        unsaid = await at.ask("POST", f"/admin/api/jobs/{job}/drop", body={"note": " "})
        dropped = await at.ask("POST", f"/admin/api/jobs/{job}/drop", body={"note": "no longer needed"})
        (found,) = (await at.ask("GET", "/admin/api/jobs?state=dropped")).json["items"]

        assert (retried.json, unsaid.status, dropped.json) == ({"retried": [job]}, 422, {"dropped": job})
        assert found["drop_note"] == "no longer needed"
        assert (await at.ask("GET", "/admin/api/jobs?state=dead")).json["items"] == []


@pytest.mark.requirement("X-54")
async def test_the_schedule_shows_each_periodic_job_with_its_next_run(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        items = (await at.ask("GET", "/admin/api/jobs/schedule")).json["items"]
        found = {item["name"]: item for item in items}

        assert found["prune_events"]["next_at"].endswith("03:17:00Z")
        assert found["prune_events"]["last_due_at"] is None
        assert (found["backup"]["line"], found["backup"]["next_at"]) == ("", None)


@pytest.mark.requirement("X-54")
async def test_a_changed_schedule_is_shown_without_a_restart(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await at.ask("PUT", "/admin/api/config/store.backup_schedule", body={"value": "5 4 * * *"})
        items = (await at.ask("GET", "/admin/api/jobs/schedule")).json["items"]

        assert next(item["next_at"] for item in items if item["name"] == "backup").endswith("04:05:00Z")


@pytest.mark.requirement("X-56")
async def test_a_periodic_job_is_started_by_hand_once(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        first = await at.ask("POST", "/admin/api/jobs/prune_events/run")
        again = await at.ask("POST", "/admin/api/jobs/prune_events/run")
        await drain(at.app.jobs)
        later = await at.ask("POST", "/admin/api/jobs/prune_events/run")

        assert (first.status, again.status, later.status) == (202, 409, 202)
        assert again.json["error"]["name"] == "already_running"
        assert again.json["error"]["details"]["job"] == first.json["job"]


@pytest.mark.requirement("X-56")
@pytest.mark.parametrize(("name", "status"), [("no_such_job", 404), ("deliver_event", 409)])
async def test_what_is_not_periodic_cannot_be_started_by_hand(
    name: str, status: int, database_url: str, tmp_path: Path
):
    async with deps(database_url, tmp_path) as at:
        assert (await at.ask("POST", f"/admin/api/jobs/{name}/run")).status == status


async def test_a_waiting_job_can_be_cancelled(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        job = (await at.ask("POST", "/admin/api/jobs/prune_jobs/run")).json["job"]

        assert (await at.ask("POST", f"/admin/api/jobs/{job}/cancel")).json == {"job": job, "how": "cancelled"}
        assert (await at.ask("POST", f"/admin/api/jobs/{job}/cancel")).status == 404


@pytest.mark.parametrize("target", ["jobs?state=lost", "jobs?limit=0", "jobs/99999999999999999999"])
async def test_a_question_that_cannot_be_is_refused(target: str, database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        assert (await at.ask("GET", f"/admin/api/{target}")).status in (404, 422)
