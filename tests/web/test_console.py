"""The console in a real Chromium: a person looks, clicks and decides, at a server that stands behind its real door."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import pytest
from selenium.webdriver.common.keys import Keys
from tests.proxy.proxy_server import open_door
from tests.web.api.test_quarantine import overheard
from tests.web.chromium import Browser
from tests.web.deps import Desk, deps

from festinger.runtime.app import StartOptions
from festinger.store.queries import Query
from festinger.store.repositories.auth import AccessRole

Seen = TypeVar("Seen")

NOWHERE = "http://127.0.0.1:9"
"""An upstream that is not asked: these tests look at our own pages only."""

REPO, CONTAINER = "gnommoweb -isa repo", "gnommoweb -isa container"


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    deps: Desk
    url: str
    link: str
    browser: Browser

    async def watch(self, steps: Callable[[Browser], Seen]) -> Seen:
        """Let the browser do something while the server answers it."""
        return await asyncio.to_thread(steps, self.browser)

    def enter(self) -> None:
        """Log in by the link, in the thread of the browser."""
        self.browser.open(f"{self.url}/admin/login?code={self.link}")
        self.browser.press("Log in")


@asynccontextmanager
async def console(url: str, folder: Path, browser: Browser, *, workers: bool = False) -> AsyncIterator[Console]:
    async with deps(url, folder, start=StartOptions(workers=workers)) as at:
        async with open_door(NOWHERE, own=at.pages, find_key=at.supervisor.find_key) as door:
            link = await at.app.logins.invite("ann")
            yield Console(deps=at, url=door.url, link=link, browser=browser)
            # A page that is live would hold its connection.
            await asyncio.to_thread(browser.open, "about:blank")


async def disputed(at: Desk) -> None:
    await at.ask("POST", "/iknowthat", key=None, body={"fact": REPO})
    await at.ask("POST", "/iknowthat", key=None, body={"fact": CONTAINER})


@pytest.mark.requirement("W-81")
async def test_a_conflict_is_decided_by_clicking_and_the_mark_is_gone_until_it_is_undone(
    database_url: str, tmp_path: Path, browser: Browser
):
    async with console(database_url, tmp_path, browser) as at:
        await disputed(at.deps)

        def steps(page: Browser) -> list[str]:
            at.enter()
            seen = [mark(page)]
            page.open(f"{at.url}/admin/conflicts")
            page.press("Take the new one")
            seen.append(page.text("[role=status]"))
            seen.append(mark(page))
            page.open(f"{at.url}/admin/conflicts")
            page.press("Undo")
            seen.append(mark(page))
            return seen

        def mark(page: Browser) -> str:
            page.open(f"{at.url}/admin/world?concept=gnommoweb")
            return page.text("svg .on-line")

        before, said, decided, undone = await at.watch(steps)

        assert before == "type?"
        assert "gnommoweb is resolved" in said
        assert decided == "type"
        assert undone == "type?"
        assert browser.complaints() == []


@pytest.mark.requirement("W-73")
async def test_resolution_is_run_by_clicking_and_its_result_appears(
    database_url: str, tmp_path: Path, browser: Browser
):
    async with console(database_url, tmp_path, browser, workers=True) as at:
        reviewer = await at.deps.new_key(AccessRole.REVIEWER)
        await at.deps.ask("POST", "/iknowthat", key=None, body={"fact": REPO})
        # What a person states on purpose wins over what only an agent said: a rule decides it.
        await at.deps.ask("POST", "/iknowthat", key=reviewer, body={"fact": CONTAINER})

        def steps(page: Browser) -> tuple[str, str]:
            at.enter()
            waiting = page.text("#pending")
            page.press("Run resolution now")
            page.look_again_until("#last-run", "resolved 1")
            return waiting, page.text("#pending")

        waiting, left = await at.watch(steps)

        assert (waiting, left) == ("1", "0")
        assert browser.complaints() == []


HOSTILE = (
    "<img src=x onerror=window.pwned=1>",
    "</title></svg><script>window.pwned=1</script>",
    "'\"><svg onload=window.pwned=1>",
    "javascript:window.pwned=1",
    "{{7*7}}</text></a></main>",
    "\u202egnp.exe" + "w" * 150,
)


def renamed(token: str, to: str) -> Query:
    """Call a word something that no tokeniser would let through, as a hand on the database could."""
    return Query(
        room="tests",
        name="renamed",
        purpose="hostile names",
        sql=f"update soas set token = '{to.replace(chr(39), chr(39) * 2)}' where token = '{token}'",
    )


@pytest.mark.requirement("P-86")
async def test_a_hostile_name_executes_nothing_and_is_shown_as_text(
    database_url: str, tmp_path: Path, browser: Browser
):
    async with console(database_url, tmp_path, browser) as at:
        facts = [f"victim -isa repo{n}" for n in range(len(HOSTILE))]
        await at.deps.ask("POST", "/iknowthat", key=None, body={"facts": facts})
        await overheard(at.deps, "Acme is a vendor.")
        async with at.deps.app.store.transaction() as transaction:
            for number, name in enumerate(HOSTILE):
                await transaction.run(renamed(f"repo{number}", name))
                await transaction.run(HOSTILE_CAUSES)
                await transaction.run(HOSTILE_QUARANTINE)

        def steps(page: Browser) -> list[tuple[object, int]]:
            at.enter()
            seen = []
            for path in ("/admin/conflicts", "/admin/world?concept=victim", "/admin/world?concept=%3Cimg%20src%3Dx%3E"):
                page.open(at.url + path)
                words = page.text()
                assert "<img src=x onerror=window.pwned=1>" in words or "img src=x" in words
                seen.append((page.run("return window.pwned ?? null"), len(page.all("main script, main img, [onload]"))))
            return seen

        seen = await at.watch(steps)

        assert seen == [(None, 0)] * 3
        assert browser.complaints() == []


HOSTILE_CAUSES = Query(
    room="tests",
    name="hostile_causes",
    purpose="hostile names",
    sql="update urd_cause set agent = '<script>window.pwned=1</script>'",
)
HOSTILE_QUARANTINE = Query(
    room="tests",
    name="hostile_quarantine",
    purpose="hostile names",
    sql="update cue_quarantine set parent = '<img src=x onerror=window.pwned=1>'",
)


CONTRASTS = """
const light = (rgb) => {
  const part = (v) => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
  return .2126 * part(rgb[0]) + .7152 * part(rgb[1]) + .0722 * part(rgb[2]);
};
const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
const behind = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const found = numbers(getComputedStyle(at).backgroundColor);
    if (found.length === 3 || found[3] > 0) return found;
  }
  return [255, 255, 255];
};
const poor = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const node = walk.currentNode.parentElement;
  if (!walk.currentNode.data.trim() || node.closest('svg')) continue;
  const [one, other] = [light(numbers(getComputedStyle(node).color)), light(behind(node))];
  const ratio = (Math.max(one, other) + .05) / (Math.min(one, other) + .05);
  if (ratio < 4.5) poor.push(walk.currentNode.data.trim() + ' ' + ratio.toFixed(2));
}
return poor;
"""


async def test_with_the_keyboard_alone_a_person_logs_in_by_a_key_walks_the_graph_and_logs_out(
    database_url: str, tmp_path: Path, browser: Browser
):
    async with console(database_url, tmp_path, browser) as at:
        key = await at.deps.new_key(AccessRole.REVIEWER, name="bob")
        facts = [REPO, "repo -isa artifact", "artifact -isa thing_x"]
        await at.deps.ask("POST", "/iknowthat", body={"facts": facts})

        def steps(page: Browser) -> list[str]:
            page.open(f"{at.url}/admin/login")
            page.find("#secret").send_keys(key, Keys.ENTER)
            page.find("header form[action='/admin/logout']")
            page.open(f"{at.url}/admin/world")
            page.find("#concept").send_keys("Gnommoweb", Keys.ENTER)
            walked = []
            for before, word in pairwise(("Gnommoweb", "repo", "artifact", "thing_x")):
                page.find(f"main:has(#concept[value='{before}']) svg a[href*='concept={word}&']").send_keys(Keys.ENTER)
                walked.append(page.text(f"main:has(#concept[value='{word}']) h2"))
            page.press("Log out", within="header")
            return [*walked, page.text("header")]

        *walked, header = await at.watch(steps)

        assert walked == ["Around repo", "Around artifact", "Around thing_x"]
        assert "Log in" in header
        assert browser.complaints() == []
