"""Empty and broken states: each page says what is missing and what to do, and a store that is down is asked again."""

from pathlib import Path

import pytest
from tests.runtime.server import settings_of
from tests.web.asgi import ask
from tests.web.deps import deps
from tests.web.pages.test_overview import read
from tests.web.visitor import visitor

from festinger.errors import StoreDown
from festinger.runtime.supervisor import Supervisor
from festinger.web.app import build_admin_app
from festinger.web.auth import COOKIE

SAYS = {
    "/admin": "Nothing yet. See what is known",
    "/admin/memories": "Nothing is remembered yet. Point a client here",
    "/admin/about": "No memory names a subject yet. Add something here",
    "/admin/about/Nobody": "No memory has Nobody as its subject",
    "/admin/conversations": "No conversation yet. Point a client here",
    "/admin/mind": "Nothing was said yet. Say something, and it is remembered.",
    "/admin/inbox": "No proposal waits. What recurs and lasts appears here",
    "/admin/conflicts": "Nothing waits. When two statements cannot both stand",
    "/admin/world": "Nothing is known of any thing yet. Say",
    "/admin/loops": "Nothing yet. When an agent repeats itself",
    "/admin/nights": "No night yet. One comes by itself",
    "/admin/outcomes": "None yet.",
    "/admin/changes": "Nothing was changed yet.",
}


@pytest.mark.requirement("U-39", "U-40")
async def test_an_empty_page_says_what_is_missing_and_what_to_do(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        ann = await visitor(at)
        said = {path: await ann.get(path) for path in SAYS}
        twins = {path: await ann.get(f"{path}.json") for path in SAYS}

    words = {path: " ".join("".join(read(got.text).words).split()) for path, got in said.items()}
    assert {path for path in SAYS if SAYS[path] not in words[path]} == set()
    assert {got.status for got in [*said.values(), *twins.values()]} == {200}
    assert (words["/admin"].count("No numbers yet."), words["/admin"].count("Nothing was spent.")) == (3, 1)
    assert "<svg" not in said["/admin"].text


@pytest.mark.requirement("U-39")
@pytest.mark.parametrize("path", ["/admin/memories", "/admin/inbox", "/admin/changes"])
async def test_while_the_store_is_down_a_plain_page_says_so_and_tries_again_by_itself(path: str, tmp_path: Path):
    class Down(Supervisor):
        async def find_session(self, cookie: str) -> None:
            raise StoreDown

    supervisor = Down(settings_of(None, tmp_path), lambda: None)  # type: ignore[arg-type,return-value]
    pages = build_admin_app(supervisor)
    got = await ask(pages, "GET", path, headers={"cookie": f"{COOKIE}=x"})
    start = await ask(pages, "GET", "/admin", headers={"cookie": f"{COOKIE}=x"})

    assert got.status == 503
    assert '<meta http-equiv="refresh" content="5">' in got.text
    assert "The store does not answer" in got.text
    assert start.status == 200


async def test_a_wrong_address_is_answered_with_a_page_to_a_browser(tmp_path: Path):
    pages = build_admin_app(Supervisor(settings_of(None, tmp_path), lambda: None))  # type: ignore[arg-type,return-value]
    got = await ask(pages, "GET", "/admin/nowhere", headers={"accept": "text/html"})

    assert (got.status, "There is nothing at GET /admin/nowhere" in got.text) == (404, True)
