"""Somebody who never read the docs finds a wrong memory in the console, sees why it is believed, corrects it, and the
next prompt has the corrected note."""

import asyncio
from pathlib import Path

from selenium.webdriver.common.keys import Keys
from tests.stories.plot import note_in
from tests.web.chromium import Browser
from tests.web.chromium import browser as browser
from tests.web.chromium import chromium as chromium
from tests.web.seeded import RIGHT, SAID, WRONG, Seeded, seeded, talk


async def test_a_wrong_memory_is_found_and_corrected_in_the_browser_and_the_next_prompt_has_it_right(
    database_url: str, tmp_path: Path, browser: Browser
):
    async with seeded(database_url, tmp_path) as there:
        before = note_in(there.at.model.heard[0].newest)
        why, told = await asyncio.to_thread(correct, browser, there)
        await talk(there.at, "Tell me again: which port does the staging database listen on?")
        after = note_in(there.at.model.heard[-1].newest)
        used = await asyncio.to_thread(see_where_it_was_used, browser, there)

    assert f"- {WRONG}" in before
    assert "Said on 1 independent occasion" in why
    assert told.startswith("Replaced.")
    assert f"- {RIGHT}" in after
    assert WRONG not in after
    assert (SAID in used, WRONG in used) == (True, True)
    assert browser.complaints() == []


def correct(page: Browser, there: Seeded) -> tuple[str, str]:
    there.enter(page)
    # One search, one click, one correction: the words in the field are those that a person has in mind.
    page.find("[role=search] input").send_keys("staging port", Keys.ENTER)
    page.find("main .lines a").click()
    why = page.text("section[aria-labelledby=why]")
    field = page.find("#text")
    field.clear()
    field.send_keys(RIGHT)
    page.press("Save the correction")
    return why, page.text("[role=status]")


def see_where_it_was_used(page: Browser, there: Seeded) -> str:
    page.open(there.url + there.pages["memory"])
    page.find("section[aria-labelledby=injected] a").click()
    page.find("main .lines a").click()
    return page.text("section[aria-labelledby=said]")
