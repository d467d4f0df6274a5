"""What every answer of ours has, whatever the question was."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
from starlette.responses import Response
from tests.runtime.server import settings_of, told
from tests.web.asgi import Visit, ask
from tests.web.deps import deps

from festinger.runtime.supervisor import Supervisor
from festinger.web.app import POLICY, all_routes, build_admin_app
from festinger.web.route import AdminCall

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

TARGETS = [
    ("GET", "/admin"),
    ("GET", "/admin.json"),
    ("GET", "/admin/healthz"),
    ("GET", "/admin/readyz"),
    ("GET", "/admin/static/festinger.css"),
    ("GET", "/admin/static/nothing.css"),
    ("GET", "/admin/api/config"),
    ("GET", "/admin/nowhere"),
    ("POST", "/admin"),
    ("PUT", "/admin/api/config/llm.judge"),
]


def closed(folder: Path) -> Supervisor:
    return Supervisor(settings_of(None, folder), lambda: None)  # type: ignore[arg-type,return-value]


@pytest.mark.requirement("U-35")
@pytest.mark.parametrize(("method", "path"), TARGETS)
async def test_every_answer_has_the_headers_that_keep_it_text(method: str, path: str, tmp_path: Path):
    got = await ask(build_admin_app(closed(tmp_path)), method, path)

    assert got.headers["content-security-policy"] == POLICY == CSP
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["referrer-policy"] == "no-referrer"
    assert got.headers["cache-control"] == "no-store"
    assert not [name for name in got.headers if name.startswith("access-control-")]


@pytest.mark.requirement("U-35")
async def test_a_fault_of_ours_is_answered_in_its_shape_and_goes_on_to_the_edge(tmp_path: Path):
    async def broken(_call: AdminCall) -> Response:
        raise RuntimeError("secret detail")

    route = replace(next(route for route in all_routes() if route.path == "/admin/healthz"), endpoint=broken)
    answered: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, object]) -> None:
        answered.append(message)

    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": "/admin/healthz", "raw_path": b"/admin/healthz",
        "query_string": b"", "headers": [], "client": None, "server": None, "scheme": "http",
    }  # fmt: skip
    with pytest.raises(RuntimeError):
        await build_admin_app(closed(tmp_path), [route])(scope, receive, send)  # type: ignore[arg-type]

    headers = dict(answered[0]["headers"])  # type: ignore[call-overload]
    assert answered[0]["status"] == 500
    assert headers[b"content-security-policy"].decode() == CSP
    assert b"secret detail" not in answered[1]["body"]  # type: ignore[operator]


@pytest.mark.requirement("U-35")
async def test_the_pages_load_nothing_from_elsewhere_and_weigh_little(tmp_path: Path):
    html = (await ask(build_admin_app(closed(tmp_path)), "GET", "/admin")).text
    sheet = (await ask(build_admin_app(closed(tmp_path)), "GET", "/admin/static/festinger.css")).text
    script = (await ask(build_admin_app(closed(tmp_path)), "GET", "/admin/static/festinger.js")).text

    assert html.count("<script") == html.count('<script src="/admin/static/festinger.js" defer></script>') == 1
    assert "<style" not in html
    assert " style=" not in html
    assert "url(" not in sheet
    assert "@import" not in sheet
    assert len(sheet) + len(script) < 100_000


@pytest.mark.parametrize("name", ["..%2fpages.py", "page.html", "..", "festinger.css%00"])
async def test_only_our_own_static_files_are_served(name: str, tmp_path: Path):
    assert (await ask(build_admin_app(closed(tmp_path)), "GET", f"/admin/static/{name}")).status == 404


async def test_an_unknown_address_says_where_to_begin(tmp_path: Path):
    got = await ask(build_admin_app(closed(tmp_path)), "GET", "/admin/nowhere")

    assert (got.status, got.json["error"]["name"]) == (404, "not_found")
    assert "/admin" in got.json["error"]["hint"]


@pytest.mark.requirement("X-96")
async def test_the_id_of_a_request_stands_in_its_answer_its_events_and_its_log_lines(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        authorized = Visit(request_id="req-7")
        with structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
            got = await at.ask("PUT", "/admin/api/config/llm.max_parallel", body={"value": 9}, authorized=authorized)

        (event,) = await told(at.app, "setting_changed")
        written = [line for line in lines if line["event"] == "setting written"]
        assert got.status == 200
        assert got.headers["x-festinger-request"] == "req-7"
        assert event.trace == "req-7"
        assert [line["request"] for line in written] == ["req-7"]


@pytest.mark.requirement("X-96")
async def test_an_error_names_the_request(tmp_path: Path):
    got = await ask(build_admin_app(closed(tmp_path)), "GET", "/admin/api/config", authorized=Visit(request_id="req-8"))

    assert got.json["error"]["request_id"] == "req-8"
