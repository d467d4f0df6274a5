"""Models, keys, spaces and numbers over HTTP."""

from pathlib import Path

import pytest
from tests.runtime.server import told
from tests.web.deps import deps

from festinger.store.repositories.auth import AccessRole

SECRET = "sk-1234567890-abcdefgh-WXYZ"
MODEL = {"provider": "openai", "model_name": "gpt-5", "api_key": SECRET}


@pytest.mark.requirement("X-81")
async def test_the_key_of_a_model_is_never_shown_again(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        made = await at.ask("POST", "/admin/api/models", body=MODEL)
        listed = await at.ask("GET", "/admin/api/models")
        (model,) = listed.json["items"]

        assert (made.status, model["id"]) == (201, made.json["id"])
        assert "set" in model["api_key"]
        assert model["api_key"].endswith("WXYZ)")
        assert SECRET not in made.text + listed.text


@pytest.mark.requirement("X-81")
async def test_a_model_in_use_cannot_be_taken_away_and_the_purpose_is_named(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        model = (await at.ask("POST", "/admin/api/models", body=MODEL)).json["id"]
        await at.ask("PUT", "/admin/api/config/llm.judge", body={"value": model})

        refused = await at.ask("DELETE", f"/admin/api/models/{model}")
        await at.ask("DELETE", "/admin/api/config/llm.judge")
        gone = await at.ask("DELETE", f"/admin/api/models/{model}")

        assert (refused.status, refused.json["error"]["name"]) == (409, "model_in_use")
        assert refused.json["error"]["details"] == {"purposes": ["judge"]}
        assert (gone.status, (await at.ask("GET", "/admin/api/models")).json["items"]) == (200, [])


@pytest.mark.requirement("X-81")
async def test_trying_a_model_out_tells_the_error_without_the_key(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        model = (await at.ask("POST", "/admin/api/models", body=MODEL)).json["id"]

        got = await at.ask("POST", f"/admin/api/models/{model}/test")

        assert got.status == 200
        assert got.json["latency_ms"] is None
        assert got.json["error"]  # this house is offline
        assert SECRET not in got.text


@pytest.mark.requirement("X-81")
@pytest.mark.parametrize(
    "body",
    [
        {**MODEL, "provider": "nobody"},
        {**MODEL, "model_name": " "},
        {**MODEL, "base_url": "ftp://x"},
        {**MODEL, "extra": 1},
    ],
)
async def test_a_model_that_cannot_be_is_refused(body: dict[str, str], database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        got = await at.ask("POST", "/admin/api/models", body=body)

        assert got.status == 422
        assert SECRET not in got.text


async def test_a_key_is_shown_once_and_told_as_an_event_without_it(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        made = await at.ask("POST", "/admin/api/keys", body={"name": "laptop", "role": "agent"})
        listed = await at.ask("GET", "/admin/api/keys")
        *_, event = await told(at.app, "key_made")

        assert made.status == 201
        assert made.json["key"].startswith("fst_")
        assert made.json["key"] not in listed.text
        assert event.payload == {"key": made.json["id"], "scopes": ["agent"], "by": "key:root"}


async def test_a_second_live_key_of_the_same_name_is_refused(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await at.ask("POST", "/admin/api/keys", body={"name": "laptop"})

        assert (await at.ask("POST", "/admin/api/keys", body={"name": "laptop"})).status == 409
        assert (await at.ask("POST", "/admin/api/keys", body={"name": "x", "space": "nowhere"})).status == 404


async def test_an_administrator_belongs_to_all_spaces(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        made = await at.ask("POST", "/admin/api/keys", body={"name": "ops", "role": "admin", "space": "main"})

        assert made.json["space"] == "*"


@pytest.mark.requirement("X-31")
async def test_a_space_comes_gets_another_name_and_goes(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        made = await at.ask("POST", "/admin/api/spaces", body={"name": "team"})
        renamed = await at.ask("PATCH", "/admin/api/spaces/team", body={"name": "crew"})
        unsure = await at.ask("DELETE", "/admin/api/spaces/crew", body={"confirm": "team"})
        gone = await at.ask("DELETE", "/admin/api/spaces/crew", body={"confirm": "crew"})
        listed = (await at.ask("GET", "/admin/api/spaces")).json["items"]

        assert (made.status, renamed.json["name"], renamed.json["id"]) == (201, "crew", "team")
        assert (unsure.status, gone.status) == (422, 200)
        assert [space["name"] for space in listed] == ["main"]
        assert (await at.ask("DELETE", "/admin/api/spaces/main", body={"confirm": "main"})).status == 409


async def test_the_numbers_are_those_of_the_space(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        agent = await at.new_key(AccessRole.AGENT)
        found = (await at.ask("GET", "/admin/api/status", key=agent)).json

        assert found["health"]["jobs"]["dead"] == 0
        assert found["cost"]["24 h"] == {"calls": 0, "failed": 0, "usd": 0.0, "unpriced": 0}
        assert found["life"]["crashes"] == 0
