"""Somebody who never read the docs finds a wrong memory in the console, sees why it is believed, corrects it, and the
next prompt has the corrected note. The docs tell how many clicks that takes, as they are counted here."""

import asyncio
import re
from dataclasses import dataclass, field
from pathlib import Path

from selenium.webdriver.common.keys import Keys
from tests.architecture.source import ROOT
from tests.stories.plot import note_in
from tests.web.chromium import ARRIVED, LEAVING, Browser
from tests.web.chromium import browser as browser
from tests.web.chromium import chromium as chromium
from tests.web.seeded import RIGHT, SAID, WRONG, Seeded, seeded, talk

TOLD = re.compile(r"^\| ([^|]+) \| (\d+) \|", re.MULTILINE)


@dataclass
class Hand:
    """A person who clicks and types, and counts each click and each Enter since the overview."""

    page: Browser
    there: Seeded
    count: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def begin(self) -> None:
        self.page.open(f"{self.there.url}/admin")
        self.count = 0

    def click(self, css: str, *, leads_on: bool = True) -> None:
        self.count += 1
        if leads_on:
            self.page.run(LEAVING)
        self.page.click_on(css)
        if leads_on:
            self.page._until(lambda _: self.page.run(ARRIVED), what=f"the page behind {css}")

    def type(self, css: str, *keys: str) -> None:
        self.count += Keys.ENTER in keys
        self.page.find(css).send_keys(*keys)

    def finish(self, task: str) -> None:
        self.counts[task] = self.count


async def test_a_wrong_memory_is_found_and_corrected_in_the_browser_and_the_next_prompt_has_it_right(
    database_url: str, tmp_path: Path, browser: Browser
):
    async with seeded(database_url, tmp_path) as there:
        before = note_in(there.at.model.heard[0].newest)
        hand = Hand(page=browser, there=there)
        decided, why, told = await asyncio.to_thread(correct, hand)
        await talk(there.at, "Tell me again: which port does the staging database listen on?")
        after = note_in(there.at.model.heard[-1].newest)
        saw, used = await asyncio.to_thread(see_where_it_was_used, hand)

    assert "is applied." in decided
    assert f"- {WRONG}" in before
    assert "Said on 1 independent occasion" in why
    assert told.startswith("Replaced.")
    assert f"- {RIGHT}" in after
    assert WRONG not in after
    assert "The model saw 2 notes" in saw
    assert (SAID in used, WRONG in used) == (True, True)
    page = (ROOT / "docs" / "howto" / "use-the-console.md").read_text()
    assert {task: int(clicks) for task, clicks in TOLD.findall(page)} == hand.counts
    assert browser.complaints() == []


def correct(hand: Hand) -> tuple[str, str, str]:
    page = hand.page
    hand.there.enter(page)
    hand.begin()
    hand.click("main a[href^='/admin/inbox/']")
    hand.click(".choices button")
    decided = page.text("[role=status]")
    hand.finish("decide a proposal")
    hand.begin()
    # One search, one click, one correction: the words in the field are those that a person has in mind.
    hand.type("[role=search] input", "staging port", Keys.ENTER)
    page.find("#find")
    hand.finish("find a memory")
    hand.click("main .lines a")
    why = page.text("section[aria-labelledby=why]")
    hand.finish("see why it is believed")
    hand.click("#text", leads_on=False)
    hand.type("#text", Keys.CONTROL + "a", Keys.NULL, RIGHT)
    hand.click("#correct button")
    told = page.text("[role=status]")
    hand.finish("correct it")
    return decided, why, told


def see_where_it_was_used(hand: Hand) -> tuple[str, str]:
    page = hand.page
    hand.begin()
    hand.click("nav a[href='/admin/conversations']")
    hand.click("main .lines li:last-child a")
    saw = page.text(".notes")
    hand.finish("see which notes a model got")
    page.open(hand.there.url + hand.there.pages["memory"])
    hand.click("section[aria-labelledby=injected] a")
    hand.click("main .lines a")
    return saw, page.text("section[aria-labelledby=said]")
