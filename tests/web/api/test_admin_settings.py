"""Settings over HTTP."""

from pathlib import Path

import pytest
from tests.web.deps import deps

from festinger.services.access import add_space


@pytest.mark.requirement("X-12", "W-62")
async def test_every_setting_is_listed_with_value_default_source_and_meaning(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        items = (await at.ask("GET", "/admin/api/config")).json["items"]
        found = {item["key"]: item for item in items}

        assert found["llm.max_parallel"] == {
            "key": "llm.max_parallel",
            "value": "4",
            "default": "4",
            "source": "default",
            "meaning": "Model calls at once, per provider.",
            "pinned": False,
            "restart": False,
            "needs_restart": False,
            "after_restart": None,
        }
        assert found["home"]["pinned"] is True
        assert database_url not in str(items)


@pytest.mark.requirement("X-12", "W-62")
async def test_a_change_is_answered_with_old_and_new_and_is_in_force(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        got = await at.ask("PUT", "/admin/api/config/llm.max_parallel", body={"value": 9})

        assert got.json == {"key": "llm.max_parallel", "old": "4", "new": "9", "restart": False}
        assert at.app.settings.now.llm.max_parallel == 9


@pytest.mark.requirement("X-12", "W-62")
async def test_a_value_can_be_taken_back(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await at.ask("PUT", "/admin/api/config/llm.max_parallel", body={"value": "9"})

        got = await at.ask("DELETE", "/admin/api/config/llm.max_parallel")

        assert got.json == {"key": "llm.max_parallel", "value": "4", "source": "default"}
        assert at.app.settings.now.llm.max_parallel == 4


@pytest.mark.requirement("X-13", "W-62")
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_a_key_that_the_deployment_pins_is_refused_naming_the_source(
    method: str, database_url: str, tmp_path: Path
):
    async with deps(database_url, tmp_path, llm__max_parallel=3) as at:
        got = await at.ask(method, "/admin/api/config/llm.max_parallel", body={"value": 9})

        assert (got.status, got.json["error"]["name"]) == (409, "setting_pinned")
        assert got.json["error"]["details"]["source"] == "command line"
        assert at.app.settings.now.llm.max_parallel == 3


@pytest.mark.requirement("X-12", "W-62")
@pytest.mark.parametrize(
    ("key", "body", "status", "name"),
    [
        ("llm.no_such_key", {"value": 1}, 404, "unknown_setting"),
        ("llm.max_parallel", {"value": "many"}, 422, "bad_setting"),
        ("llm.max_parallel", {"value": 0}, 422, "bad_setting"),
        ("llm.max_parallel", {"worth": 1}, 422, "bad_input"),
        ("llm.max_parallel", b"{", 422, "bad_input"),
        ("llm.max_parallel", b"x" * (2**20 + 1), 413, "too_large"),
        ("server.port", {"value": 1}, 422, "bad_setting"),
    ],
)
async def test_what_is_not_allowed_changes_nothing(
    key: str, body: object, status: int, name: str, database_url: str, tmp_path: Path
):
    async with deps(database_url, tmp_path) as at:
        got = await at.ask("PUT", f"/admin/api/config/{key}", body=body)

        assert (got.status, got.json["error"]["name"]) == (status, name)
        assert at.app.settings.now.llm.max_parallel == 4


@pytest.mark.requirement("X-14")
async def test_a_key_that_needs_a_restart_is_stored_and_shown_as_waiting(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        got = await at.ask("PUT", "/admin/api/config/jobs.workers", body={"value": 7})
        items = (await at.ask("GET", "/admin/api/config")).json["items"]
        shown = next(item for item in items if item["key"] == "jobs.workers")
        ready = (await at.ask("GET", "/admin/readyz")).json

        assert (got.json["old"], got.json["new"], got.json["restart"]) == ("2", "7", True)
        assert (shown["value"], shown["needs_restart"], shown["after_restart"]) == ("2", True, "7")
        assert ready["needs_restart"] == ["jobs.workers"]


@pytest.mark.requirement("X-12", "W-62")
async def test_a_space_may_have_a_value_of_its_own(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        team = await add_space(at.app, "team")
        await at.app.directory.reload()

        await at.ask("PUT", "/admin/api/config/llm.judge?space=team", body={"value": "ollama:small"})

        assert at.app.settings.for_space(team.id).llm.judge == "ollama:small"
        assert at.app.settings.now.llm.judge == "auto"
        nowhere = await at.ask("PUT", "/admin/api/config/llm.judge?space=nowhere", body={"value": "x:y"})
        assert nowhere.status == 404


async def test_a_secret_is_never_shown(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        got = await at.ask("PUT", "/admin/api/config/proxy.upstream_key", body={"value": "sk-very-secret-1234"})
        items = await at.ask("GET", "/admin/api/config")
        events = await at.ask("GET", "/admin/api/events")

        assert (got.status, got.json["error"]["name"]) == (422, "bad_setting")
        assert "very-secret" not in got.text + items.text + events.text


async def test_a_long_value_is_told_as_well_as_a_short_one(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        long = "http://127.0.0.1/" + "x" * 1500

        assert (await at.ask("PUT", "/admin/api/config/proxy.upstream", body={"value": long})).status == 200
