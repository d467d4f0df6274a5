"""The page at `/admin` and its twin: the same data, the next step, and text that stays text."""

from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.server import settings_of
from tests.web.asgi import ask
from tests.web.deps import deps

from festinger.observability.checks import Check, CheckSeverity, failed_check, ok_check, warning_check
from festinger.runtime.supervisor import Supervisor
from festinger.web.app import build_admin_app
from festinger.web.pages.overview import client_instructions, next_steps
from festinger.web.render import escape_hidden, render_template

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</title><svg onload=alert(1)>",
    '"><a href="javascript:alert(1)">x</a>',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% for x in y %}",
    "</pre></code></style><style>*{display:none}</style>",
    "\u202egnp.exe",
    "&lt;script&gt;",
]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.attributes: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    return tags


def data(text: str) -> dict[str, object]:
    memory = {"id": text, "content": text, "kind": text, "origin": text, "subject": text, "status": text}
    memory |= {"created_at": MONDAY.isoformat(), "agent_id": text}
    return {
        **dict.fromkeys(("version", "upstream", "form_token", "whole_path", "twin", "here", "space_name"), text),
        "theme": "",
        "again": 0,
        "person": text,
        "steps": [{"say": text, "command": text, "severity": text}],
        "clients": [{"name": text, "setting": text}],
        "health": {"worst": text, "says": text},
        "waiting": [{"kind": text, "count": 1, "items": [{"title": text, "link": text}]}],
        "learned": [memory],
        "today": text,
        "night": {"id": text, "lines": [text]},
        "charts": [{"id": text, "title": text}],
        "world": {"pending": text, "last_run": None},
        "may_write": True,
        "in_all": 3,
    }


@given(text=st.sampled_from(HOSTILE) | st.text(alphabet="<>&\"'/=x {}%", min_size=1, max_size=30))
def test_whatever_stands_in_a_field_comes_out_as_text(text: str):
    plain, hostile = (
        read(bytes(render_template("overview.html", data("x")).body).decode()),
        render_template("overview.html", data(text)),
    )
    found = read(bytes(hostile.body).decode())

    assert found.seen == plain.seen
    assert found.attributes == plain.attributes
    assert escape_hidden(text).strip() in "".join(found.words)


async def test_a_hostile_upstream_and_host_are_shown_as_text(tmp_path: Path):
    (tmp_path / "festinger.yaml").write_text('proxy:\n  upstream: "http://h/<script>alert(1)</script>"\n')
    pages = build_admin_app(Supervisor(settings_of(None, tmp_path), lambda: None))  # type: ignore[arg-type,return-value]

    got = await ask(pages, "GET", "/admin", headers={"host": "<script>alert(2)</script>"})

    assert got.status == 200
    assert "<script>" not in got.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in got.text


async def test_the_page_and_its_twin_say_the_same(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        html = (await at.ask("GET", "/admin", key=None)).text
        duplicate = (await at.ask("GET", "/admin.json", key=None)).json
        words = "".join(read(html).words)

        assert duplicate["health"]["says"] in words
        assert all(client["setting"] in words for client in duplicate["clients"])


UPSTREAM = "http://127.0.0.1:11434"
AWAY = warning_check("proxy.upstream", "Nobody answers.", "Start it.")
THERE = ok_check("proxy.upstream", "It answers.")


@pytest.mark.parametrize(
    ("checks", "steps"),
    [
        ([], 0),
        ([THERE], 0),
        ([AWAY], 1),
        ([failed_check("proxy.upstream", "No.", "Start it.")], 1),
        ([warning_check("store.backup", "Old.", "Make one.")], 0),
        ([failed_check("store.server", "Gone.", "Start it."), AWAY], 2),
    ],
)
def test_a_step_stands_for_each_failure_and_for_a_missing_upstream(checks: list[Check], steps: int):
    assert len(next_steps(checks, upstream=UPSTREAM)) == steps


def test_the_step_for_a_missing_upstream_names_it_and_the_command():
    (step,) = next_steps([AWAY], upstream=UPSTREAM)

    assert UPSTREAM in step["say"]
    assert step["command"].startswith("festinger settings set proxy.upstream ")


async def test_the_step_appears_on_the_page_when_the_upstream_check_is_not_ok(tmp_path: Path):
    async def upstream_away() -> list[Check]:
        return [AWAY]

    supervisor = Supervisor(settings_of(None, tmp_path), lambda: None, more_checks=upstream_away)  # type: ignore[arg-type,return-value]
    duplicate = (await ask(build_admin_app(supervisor), "GET", "/admin.json")).json

    assert any("Nothing answers at http://127.0.0.1:11434" in step["say"] for step in duplicate["steps"])
    assert AWAY.severity is CheckSeverity.WARN


@pytest.mark.requirement("P-91")
async def test_that_requests_went_without_memory_is_a_step_in_red(tmp_path: Path):
    async def without_memory() -> list[Check]:
        return [
            failed_check("proxy.memory", "40% went without memory, mostly because the store was closed.", "Open it.")
        ]

    supervisor = Supervisor(settings_of(None, tmp_path), lambda: None, more_checks=without_memory)  # type: ignore[arg-type,return-value]
    html = (await ask(build_admin_app(supervisor), "GET", "/admin")).text

    assert '<span class="fail">40% went without memory, mostly because the store was closed. Open it.</span>' in html


def test_clients_are_pointed_at_the_address_that_was_asked():
    assert all("http://box:1" in client["setting"] for client in client_instructions("http://box:1"))
