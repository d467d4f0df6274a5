"""Who may do what: every route, every kind of caller, from here and from beyond."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from starlette.requests import Request
from starlette.responses import Response
from tests.runtime.server import settings_of
from tests.web.asgi import BEYOND, HERE, ask
from tests.web.deps import deps

from festinger.errors import StoreDown
from festinger.ids import EVERY_SPACE, SpaceId
from festinger.runtime.supervisor import Supervisor
from festinger.store.repositories.auth import AccessRole, ApiKey, LoginSession, derive_csrf_token
from festinger.web.app import all_routes, build_admin_app
from festinger.web.auth import (
    COOKIE,
    READING,
    SCOPES,
    TOKEN_HEADER,
    AccessScope,
    CallerIdentity,
    is_local_caller,
    read_request_key,
)
from festinger.web.route import AdminCall, AdminRoute, json_response

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)

IN, NO_KEY, NO_RIGHT = 200, 401, 403

CALLERS = ("none", "wrong", "proxy", "hook", "agent", "reviewer", "admin", "revoked", "uncheckable")

MATRIX: dict[str, dict[str, tuple[int, ...]]] = {
    # none, wrong, proxy, hook, agent, reviewer, admin, revoked, uncheckable
    "probe": {HERE: (IN, 401, IN, IN, IN, IN, IN, 401, 401), BEYOND: (IN, 401, IN, IN, IN, IN, IN, 401, 401)},
    "here": {HERE: (IN, 401, IN, IN, IN, IN, IN, 401, 401), BEYOND: (401, 401, IN, IN, IN, IN, IN, 401, 401)},
    # They get as far as being written down; the room refuses whoever is no reviewer.
    "known": {HERE: (401, 401, IN, IN, IN, IN, IN, 401, 401), BEYOND: (401, 401, IN, IN, IN, IN, IN, 401, 401)},
    "hook": {HERE: (401, 401, 403, IN, 403, 403, 403, 401, 401), BEYOND: (401, 401, 403, IN, 403, 403, 403, 401, 401)},
    "read": {HERE: (401, 401, 403, 403, IN, IN, IN, 401, 401), BEYOND: (401, 401, 403, 403, IN, IN, IN, 401, 401)},
    "keyless": {HERE: (IN, 401, 403, 403, IN, IN, IN, 401, 401), BEYOND: (401, 401, 403, 403, IN, IN, IN, 401, 401)},
    "write": {HERE: (401, 401, 403, 403, IN, IN, IN, 401, 401), BEYOND: (401, 401, 403, 403, IN, IN, IN, 401, 401)},
    "review": {
        HERE: (401, 401, 403, 403, 403, IN, 403, 401, 401),
        BEYOND: (401, 401, 403, 403, 403, IN, 403, 401, 401),
    },
    "admin": {HERE: (401, 401, 403, 403, 403, 403, IN, 401, 401), BEYOND: (401, 401, 403, 403, 403, 403, IN, 401, 401)},
}

ROWS: dict[tuple[str, str], str] = {
    # A signature takes the place of a key.
    ("POST", "/admin/api/verdicts"): "probe",
    ("POST", "/admin/api/forget"): "review",
    ("POST", "/admin/api/memories/{id}/forget"): "review",
    ("POST", "/admin/api/memories/{id}/request-forget"): "write",
    ("POST", "/admin/api/repair"): "review",
    ("GET", "/admin/api/refusals"): "read",
    ("POST", "/admin/api/refusals/{id}/learn"): "review",
    ("POST", "/admin/api/recall"): "read",
    ("POST", "/admin/api/recollect"): "read",
    ("GET", "/admin/api/brief"): "read",
    ("POST", "/admin/api/hooks"): "hook",
    ("GET", "/admin/mcp"): "read",
    ("POST", "/admin/mcp"): "read",
    ("DELETE", "/admin/mcp"): "read",
    ("GET", "/admin/api/recalls"): "read",
    ("GET", "/admin/api/recalls/{id}"): "read",
    ("POST", "/admin/api/recalls/{id}/replay"): "read",
    ("GET", "/admin"): "here",
    ("GET", "/admin.json"): "here",
    ("GET", "/admin/static/{name}"): "probe",
    ("GET", "/admin/login"): "probe",
    ("POST", "/admin/login"): "probe",
    ("POST", "/admin/logout"): "probe",
    ("POST", "/admin/theme"): "probe",
    ("GET", "/admin/api/nights"): "read",
    ("POST", "/admin/api/nights"): "review",
    ("GET", "/admin/api/nights/{id}"): "read",
    ("POST", "/admin/api/nights/{id}/undo"): "review",
    ("GET", "/admin/docs"): "here",
    ("GET", "/admin/docs.json"): "here",
    ("GET", "/admin/docs/files/{file:path}"): "here",
    ("GET", "/admin/docs/{page:path}"): "here",
    ("GET", "/admin/docs/{page:path}.json"): "here",
    ("GET", "/admin/mind"): "read",
    ("GET", "/admin/mind.json"): "read",
    ("GET", "/admin/mind/{agent:path}"): "read",
    ("GET", "/admin/mind/{agent:path}.json"): "read",
    ("POST", "/admin/mind/{agent:path}/say"): "review",
    ("POST", "/admin/mind/{agent:path}/goal"): "review",
    ("POST", "/admin/mind/{agent:path}/milestone"): "review",
    ("GET", "/admin/api/agents/{agent:path}/mind"): "read",
    ("GET", "/admin/api/agents/{agent:path}/cycles"): "read",
    ("GET", "/admin/api/agents/{agent:path}/readiness"): "read",
    ("POST", "/admin/api/agents/{agent:path}/readiness"): "review",
    ("POST", "/admin/api/agents/{agent:path}/say"): "review",
    ("POST", "/admin/api/agents/{agent:path}/goals"): "review",
    ("GET", "/admin/nights"): "read",
    ("GET", "/admin/nights.json"): "read",
    ("GET", "/admin/nights/{id}"): "read",
    ("GET", "/admin/nights/{id}.json"): "read",
    ("POST", "/admin/nights/run"): "review",
    ("POST", "/admin/nights/{id}/undo"): "review",
    ("GET", "/admin/conflicts/{id}.json"): "read",
    ("GET", "/admin/inbox/{id}.json"): "read",
    ("GET", "/admin/memories"): "read",
    ("GET", "/admin/memories.json"): "read",
    ("GET", "/admin/memories/{id}"): "read",
    ("GET", "/admin/memories/{id}.json"): "read",
    ("POST", "/admin/memories/{id}/correct"): "review",
    ("POST", "/admin/memories/{id}/confirm"): "review",
    ("POST", "/admin/memories/{id}/archive"): "review",
    ("POST", "/admin/memories/{id}/restore"): "review",
    ("POST", "/admin/memories/{id}/release"): "review",
    ("POST", "/admin/memories/{id}/forget"): "review",
    ("GET", "/admin/about"): "read",
    ("GET", "/admin/about.json"): "read",
    ("POST", "/admin/about"): "write",
    ("GET", "/admin/about/{subject:path}"): "read",
    ("GET", "/admin/about/{subject:path}.json"): "read",
    ("GET", "/admin/conversations"): "read",
    ("GET", "/admin/conversations.json"): "read",
    ("GET", "/admin/conversations/{id}"): "read",
    ("GET", "/admin/conversations/{id}.json"): "read",
    ("POST", "/admin/conversations/{id}/close"): "write",
    ("POST", "/admin/conversations/{id}/outcome"): "review",
    ("POST", "/admin/conversations/{id}/forget"): "review",
    ("GET", "/admin/changes"): "read",
    ("GET", "/admin/changes.json"): "read",
    ("POST", "/admin/changes/{id}/undo"): "review",
    ("GET", "/admin/health.json"): "read",
    ("POST", "/admin/health/jobs/{job:int}/retry"): "admin",
    ("POST", "/admin/health/jobs/{job:int}/drop"): "admin",
    ("POST", "/admin/health/run/{name}"): "admin",
    ("GET", "/admin/conflicts"): "read",
    ("GET", "/admin/conflicts.json"): "read",
    ("GET", "/admin/conflicts/{id}"): "read",
    ("POST", "/admin/conflicts/{id}/decide"): "review",
    ("POST", "/admin/conflicts/{id}/undo"): "review",
    ("POST", "/admin/resolve"): "write",
    ("GET", "/admin/world"): "read",
    ("GET", "/admin/world.json"): "read",
    ("POST", "/admin/world/iknowthat"): "write",
    ("POST", "/admin/world/undo"): "review",
    ("POST", "/admin/world/quarantine/{id}/undo"): "review",
    ("POST", "/admin/loops/reset"): "review",
    ("POST", "/admin/loops/{id}/false-alarm"): "review",
    ("POST", "/admin/world/quarantine/{id}/admit"): "review",
    ("POST", "/admin/world/quarantine/{id}/reject"): "review",
    ("GET", "/admin/loops"): "read",
    ("GET", "/admin/loops.json"): "read",
    ("GET", "/admin/outcomes"): "read",
    ("GET", "/admin/outcomes.json"): "read",
    ("GET", "/admin/healthz"): "probe",
    ("GET", "/admin/readyz"): "probe",
    ("GET", "/admin/metrics"): "here",
    ("GET", "/admin/health"): "read",
    ("GET", "/admin/api/doctor"): "read",
    ("GET", "/admin/api/jobs"): "admin",
    ("GET", "/admin/api/jobs/schedule"): "admin",
    ("GET", "/admin/api/jobs/{job:int}"): "admin",
    ("POST", "/admin/api/jobs/{job:int}/retry"): "admin",
    ("POST", "/admin/api/jobs/{job:int}/drop"): "admin",
    ("POST", "/admin/api/jobs/{job:int}/cancel"): "admin",
    ("POST", "/admin/api/jobs/{name}/run"): "admin",
    ("GET", "/admin/api/events"): "read",
    ("GET", "/admin/api/events/stream"): "read",
    ("GET", "/admin/api/requests"): "read",
    ("GET", "/admin/api/requests/{id}"): "read",
    ("GET", "/admin/api/config"): "admin",
    ("PUT", "/admin/api/config/{key}"): "admin",
    ("DELETE", "/admin/api/config/{key}"): "admin",
    ("GET", "/admin/api/models"): "admin",
    ("POST", "/admin/api/models"): "admin",
    ("DELETE", "/admin/api/models/{id}"): "admin",
    ("POST", "/admin/api/models/{id}/test"): "admin",
    ("GET", "/admin/api/keys"): "admin",
    ("POST", "/admin/api/keys"): "admin",
    ("DELETE", "/admin/api/keys/{id}"): "admin",
    ("GET", "/admin/api/spaces"): "read",
    ("POST", "/admin/api/spaces"): "admin",
    ("PATCH", "/admin/api/spaces/{name}"): "admin",
    ("DELETE", "/admin/api/spaces/{name}"): "admin",
    ("GET", "/admin/api/status"): "read",
    ("POST", "/iknowthat"): "keyless",
    ("GET", "/conflicts"): "keyless",
    ("GET", "/conflicts/{id}"): "keyless",
    ("POST", "/conflicts/{id}/dismiss"): "review",
    ("POST", "/conflicts/{id}/resolve"): "review",
    ("POST", "/conflicts/{id}/undo"): "review",
    ("POST", "/resolve/run"): "keyless",
    ("GET", "/resolve/runs/{id}"): "keyless",
    ("POST", "/reload"): "keyless",
    ("POST", "/admin/api/iknowthat"): "write",
    ("GET", "/admin/api/conflicts"): "read",
    ("GET", "/admin/api/conflicts/{id}"): "read",
    ("POST", "/admin/api/conflicts/{id}/dismiss"): "review",
    ("POST", "/admin/api/conflicts/{id}/resolve"): "review",
    ("POST", "/admin/api/conflicts/{id}/undo"): "review",
    ("POST", "/admin/api/resolve/run"): "write",
    ("GET", "/admin/api/resolve/runs/{id}"): "read",
    ("POST", "/admin/api/reload"): "write",
    ("GET", "/admin/api/concepts/{token}"): "read",
    ("GET", "/admin/api/graph"): "read",
    ("GET", "/admin/api/wanted"): "read",
    ("GET", "/admin/api/loops"): "read",
    ("POST", "/admin/api/loops/{session:path}/reset"): "review",
    ("POST", "/admin/api/outcomes"): "write",
    ("GET", "/admin/api/outcomes"): "read",
    ("GET", "/admin/api/outcomes/metrics"): "read",
    ("POST", "/admin/api/reads"): "write",
    ("POST", "/admin/api/surfaced"): "write",
    ("GET", "/admin/api/surfaced"): "read",
    ("PUT", "/admin/api/memories/{id}/rhythm"): "write",
    ("POST", "/admin/api/memories/{id}/prediction"): "write",
    ("POST", "/admin/api/memories/{id}/prediction/resolve"): "write",
    ("GET", "/admin/api/episodes"): "read",
    ("POST", "/admin/api/episodes"): "write",
    ("POST", "/admin/api/episodes/import"): "review",
    ("GET", "/admin/api/episodes/{id}"): "read",
    ("PATCH", "/admin/api/episodes/{id}"): "write",
    ("POST", "/admin/api/episodes/{id}/turns"): "write",
    ("POST", "/admin/api/episodes/{id}/close"): "write",
    ("GET", "/admin/api/censors"): "read",
    ("POST", "/admin/api/censors"): "write",
    ("POST", "/admin/api/censors/check"): "write",
    ("PATCH", "/admin/api/censors/{id}"): "review",
    ("GET", "/admin/api/censors/{id}/triggers"): "read",
    ("POST", "/admin/api/censors/{id}/false-positive"): "review",
    ("POST", "/admin/api/censors/triggers/{id}/false-positive"): "review",
    ("GET", "/admin/api/quarantine"): "read",
    ("POST", "/admin/api/quarantine/{id}/admit"): "review",
    ("POST", "/admin/api/quarantine/{id}/reject"): "review",
    ("POST", "/admin/api/memories"): "write",
    ("POST", "/admin/api/memories/batch"): "write",
    ("GET", "/admin/api/memories"): "read",
    ("GET", "/admin/api/memories/{id}"): "read",
    ("GET", "/admin/api/memories/{id}/why"): "read",
    ("GET", "/admin/api/memories/{id}/history"): "read",
    ("PATCH", "/admin/api/memories/{id}"): "review",
    ("POST", "/admin/api/memories/{id}/archive"): "review",
    ("POST", "/admin/api/memories/{id}/restore"): "review",
    ("POST", "/admin/api/memories/{id}/release"): "review",
    ("POST", "/admin/api/memories/{id}/supersede"): "review",
    ("POST", "/admin/api/memories/{id}/merge"): "review",
    ("POST", "/admin/api/memories/{id}/split"): "review",
    ("GET", "/admin/api/changes"): "read",
    ("POST", "/admin/api/changes/{id}/undo"): "review",
    ("GET", "/admin/api/judgements"): "read",
    ("POST", "/admin/api/judgements/{id}"): "review",
    ("POST", "/admin/judgements/{id}/answer"): "review",
    ("GET", "/admin/inbox"): "read",
    ("GET", "/admin/inbox.json"): "read",
    ("GET", "/admin/inbox/{id}"): "read",
    ("POST", "/admin/inbox/bulk"): "review",
    ("POST", "/admin/inbox/lift"): "review",
    ("POST", "/admin/inbox/promote"): "write",
    ("POST", "/admin/inbox/propose"): "write",
    ("POST", "/admin/inbox/pairs/{id}"): "review",
    ("POST", "/admin/inbox/tasks/{id}"): "review",
    ("POST", "/admin/inbox/{id}/verdict"): "review",
    ("POST", "/admin/inbox/{id}/undo"): "review",
    ("POST", "/admin/inbox/{id}/rebuild"): "review",
    ("POST", "/admin/inbox/{id}/release"): "review",
    ("GET", "/admin/api/inbox"): "read",
    ("GET", "/admin/api/proposals"): "read",
    ("POST", "/admin/api/proposals"): "write",
    ("POST", "/admin/api/proposals/promote"): "write",
    ("GET", "/admin/api/proposals/pairs"): "read",
    ("GET", "/admin/api/proposals/tasks"): "read",
    ("GET", "/admin/api/proposals/rate"): "read",
    ("GET", "/admin/api/proposals/{id}"): "read",
    ("POST", "/admin/api/proposals/verdicts"): "known",
    ("POST", "/admin/api/proposals/lift"): "review",
    ("POST", "/admin/api/proposals/pairs/{id}"): "review",
    ("POST", "/admin/api/proposals/pairs/{id}/split"): "review",
    ("POST", "/admin/api/proposals/tasks/{id}"): "review",
    ("POST", "/admin/api/proposals/{id}/verdict"): "known",
    ("POST", "/admin/api/proposals/{id}/undo"): "review",
    ("POST", "/admin/api/proposals/{id}/rebuild"): "review",
    ("POST", "/admin/api/proposals/{id}/release"): "review",
    ("GET", "/admin/api/reviewers"): "admin",
    ("POST", "/admin/api/reviewers"): "admin",
    ("DELETE", "/admin/api/reviewers/{name}"): "admin",
}

EXAMPLES = {
    "{session:path}": "agent-1",
    "{name}": "x",
    "{token}": "gnommoweb",
    "{job:int}": "7",
    "{key}": "llm.judge",
    "{id}": "018f3a5e-7b21-7000-8000-000000000001",
    "{other}": "018f3a5e-7b21-7000-8000-000000000002",
}


def secret_of(caller: str) -> str | None:
    return None if caller == "none" else f"fst_{caller}"


async def find_key(secret: str) -> ApiKey | None:
    if secret == "fst_uncheckable":
        raise StoreDown
    name = secret.removeprefix("fst_")
    if name not in list(AccessRole):
        return None
    return ApiKey(space=EVERY_SPACE, id=UUID(int=1), name=name, role=AccessRole(name), agent=None, created_at=MONDAY)


async def find_session(cookie: str) -> LoginSession | None:
    return LoginSession(space=EVERY_SPACE, id=UUID(int=2), name="ann", role=AccessRole(cookie), seen_at=MONDAY)


async def stub(_call: AdminCall) -> Response:
    return json_response({"let": "in"})


WRITES = [route for route in all_routes() if route.method not in READING]


def pages(folder: Path, routes: Sequence[AdminRoute] = (), **flags: Any) -> Any:
    """Every route as it stands, or these, but with nothing behind it."""
    supervisor = Supervisor(settings_of(None, folder, **flags), lambda: None)  # type: ignore[arg-type,return-value]
    supervisor.find_key = find_key  # type: ignore[method-assign]
    supervisor.find_session = find_session  # type: ignore[method-assign]
    return build_admin_app(supervisor, [replace(route, endpoint=stub) for route in routes or all_routes()])


def example(path: str) -> str:
    for part, value in EXAMPLES.items():
        path = path.replace(part, value)
    return path


@pytest.mark.requirement("U-13")
def test_every_route_has_a_row_and_every_row_a_route():
    assert {(route.method, route.path) for route in all_routes()} == set(ROWS)


@pytest.mark.requirement("U-13")
@pytest.mark.parametrize("place", [HERE, BEYOND], ids=["here", "beyond"])
async def test_each_caller_gets_in_or_not_as_the_table_says(place: str, tmp_path: Path):
    app = pages(tmp_path)
    seen = {
        (*row, caller): (await ask(app, row[0], example(row[1]), key=secret_of(caller), caller=place)).status
        for row in ROWS
        for caller in CALLERS
    }

    assert seen == {
        (*row, caller): status
        for row, kind in ROWS.items()
        for caller, status in zip(CALLERS, MATRIX[kind][place], strict=True)
    }


@pytest.mark.requirement("U-13")
async def test_with_a_strict_loopback_this_machine_is_as_far_away_as_any_other(tmp_path: Path):
    app = pages(tmp_path, auth__loopback="strict")

    seen = {row: (await ask(app, row[0], example(row[1]))).status for row in ROWS}

    assert seen == {row: MATRIX[kind][BEYOND][0] for row, kind in ROWS.items()}


@pytest.mark.requirement("F-67")
@pytest.mark.parametrize(
    ("forged", "status"),
    [
        ({}, IN),
        ({TOKEN_HEADER: ""}, NO_RIGHT),
        ({TOKEN_HEADER: derive_csrf_token("another")}, NO_RIGHT),
        ({"origin": ""}, NO_RIGHT),
        ({"origin": "null"}, NO_RIGHT),
        ({"origin": "http://localhost:3000"}, NO_RIGHT),
        ({"origin": "http://localhost:3000", "content-type": "text/plain"}, NO_RIGHT),
    ],
    ids=["our page", "no token", "another session's token", "no origin", "frame", "other site", "plain text form"],
)
async def test_no_write_route_takes_a_request_that_another_page_had_a_browser_send(
    forged: dict[str, str], status: int, tmp_path: Path
):
    app, seen = pages(tmp_path), {}
    for route in WRITES:
        role = next((role for role in AccessRole if route.scope in SCOPES[role]), AccessRole.REVIEWER)
        own = {"cookie": f"{COOKIE}={role}", "origin": "http://localhost:11435", TOKEN_HEADER: derive_csrf_token(role)}
        got = await ask(app, route.method, example(route.path), headers={**own, **forged}, caller=BEYOND)
        seen[route.method, route.path] = got.status

    assert seen == dict.fromkeys(seen, status)


@pytest.mark.requirement("F-67")
async def test_no_write_route_answers_to_a_link(tmp_path: Path):
    app = pages(tmp_path, WRITES)
    seen = {(await ask(app, "GET", example(route.path), key="fst_reviewer")).status for route in WRITES}

    assert seen == {404}


@pytest.mark.requirement("U-13")
def test_an_administrator_does_not_decide_for_reviewers():
    assert AccessScope.REVIEW not in SCOPES[AccessRole.ADMIN]
    assert AccessScope.REVIEW not in SCOPES[AccessRole.AGENT]
    assert SCOPES[AccessRole.PROXY] == frozenset()


@pytest.mark.requirement("U-13")
async def test_a_key_of_one_space_sees_another_as_none(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await at.ask("POST", "/admin/api/spaces", body={"name": "team"})
        await at.app.directory.reload()
        own = await at.new_key(AccessRole.AGENT, "team")

        for path in ("/admin/api/events", "/admin/api/events/stream", "/admin/api/status"):
            foreign = await at.ask("GET", f"{path}?space=main", key=own)
            unknown = await at.ask("GET", f"{path}?space=nowhere", key=own)
            assert (foreign.status, unknown.status) == (404, 404)
            assert foreign.text.replace("main", "nowhere") == unknown.text
        spaces = await at.ask("GET", "/admin/api/spaces", key=own)
        assert [space["name"] for space in spaces.json["items"]] == ["team"]


@pytest.mark.requirement("U-13")
async def test_a_key_of_one_space_sees_its_own_events_only(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await at.ask("POST", "/admin/api/spaces", body={"name": "team"})
        await at.app.directory.reload()
        own = await at.new_key(AccessRole.AGENT, "team")

        found = (await at.ask("GET", "/admin/api/events", key=own)).json["items"]
        assert {event["space"] for event in found} == {"team"}


async def test_a_revoked_key_is_refused_and_named_to_nobody(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        made = (await at.ask("POST", "/admin/api/keys", body={"name": "old", "role": "reviewer"})).json
        await at.ask("DELETE", f"/admin/api/keys/{made['id']}")
        await at.app.keyring.forget(None)

        refused = await at.ask("GET", "/admin/api/status", key=made["key"])
        listed = await at.ask("GET", "/admin/api/keys")

        assert refused.status == 401
        assert made["key"] not in refused.text
        assert made["key"] not in listed.text
        assert [key["name"] for key in listed.json["items"] if key["revoked_at"]] == ["old"]


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"x-festinger-key": "fst_a"}, "fst_a"),
        ({"authorization": "Bearer fst_b"}, "fst_b"),
        ({"authorization": "bearer  fst_b "}, "fst_b"),
        ({"x-api-key": "fst_c"}, "fst_c"),
        ({"x-api-key": "fst_c", "x-festinger-key": "fst_a"}, "fst_a"),
        ({"authorization": "Bearer sk-other"}, None),
        ({"authorization": "Basic fst_b"}, None),
        ({}, None),
    ],
)
def test_a_key_of_ours_is_found_where_it_may_stand(headers: dict[str, str], key: str | None):
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]

    assert read_request_key(Request({"type": "http", "headers": raw})) == key


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:203.0.113.9", False),
        ("203.0.113.9", False),
        ("fe80::1%eth0", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_only_an_address_of_this_machine_is_here(address: str, here: bool):
    assert is_local_caller(Request({"type": "http", "client": (address, 1)})) is here


def test_a_caller_without_an_address_came_through_a_socket_of_this_machine():
    assert is_local_caller(Request({"type": "http", "client": None})) is True


def test_a_space_that_the_door_has_read_counts_unless_the_query_names_another():
    authorized = SimpleNamespace(request_id="r", space="team")
    supervisor: Any = SimpleNamespace(known_space=lambda name: SpaceId(name))
    identity = CallerIdentity(key=None, trusted=True)

    def call(query: bytes) -> AdminCall:
        scope = {"type": "http", "query_string": query, "headers": [], "state": {"festinger.visit": authorized}}
        return AdminCall(request=Request(scope), supervisor=supervisor, admission=identity)

    assert call(b"").space == "team"
    assert call(b"space=main").space == "main"
