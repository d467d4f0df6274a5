"""Every page of the console in a real Chromium: wide and narrow, light and dark, with hostile text in every field."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from tests.jobs.deps import rows
from tests.web.chromium import Browser
from tests.web.seeded import Seeded, seeded
from tests.web.test_console import CONTRASTS, HOSTILE

BROKEN = """
const broken = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const node = walk.currentNode;
  if (node.parentElement.closest('svg, pre, option, .skip, details:not([open]) > :not(summary)')) continue;
  for (const found of node.data.matchAll(/(?<=^|\\s)[A-Za-z]{2,20}[.,;:]?(?=\\s|$)/g)) {
    const range = document.createRange();
    range.setStart(node, found.index);
    range.setEnd(node, found.index + found[0].length);
    const lines = new Set([...range.getClientRects()].filter((each) => each.width).map((each) => Math.round(each.top)));
    if (lines.size > 1) broken.push(found[0]);
  }
}
return broken;
"""
"""Words of a common length that stand on two lines."""

UNNAMED = """
return [...document.querySelectorAll('input:not([type=hidden]), select, textarea, button')]
  .filter((each) => !(each.labels?.length || each.ariaLabel || each.textContent.trim()) && !each.hidden)
  .map((each) => each.outerHTML);
"""
"""Fields and buttons that say nothing of what they are."""
CHARTS = """
return [...document.querySelectorAll('#charts section:has(svg)')].filter((each) => each.querySelector('table'))
  .map((each) => [each.querySelector('svg').getAttribute('role'), each.querySelectorAll('svg > text').length]);
"""

LOADED = "return performance.getEntriesByType('resource').map((each) => each.name)"
WIDTH = "return document.documentElement.scrollWidth"
FOCUS = "const at = document.activeElement; return at === document.body ? 'solid' : getComputedStyle(at).outlineStyle"


@pytest.mark.requirement("U-34", "U-40")
async def test_every_page_fits_reads_and_loads_nothing_foreign(database_url: str, tmp_path: Path, browser: Browser):
    async with seeded(database_url, tmp_path) as there:
        seen = await asyncio.to_thread(look_at_every_page, browser, there)

    assert seen["wide"] == []
    assert seen["poor"] == []
    assert seen["broken"] == []
    assert seen["inline"] == 0
    assert seen["foreign"] == set()
    assert seen["complaints"] == []
    assert seen["grounds"] == {"light": {"rgb(245, 245, 241)"}, "dark": {"rgb(20, 20, 18)"}}
    assert seen["titles"] == {True}
    assert seen["unnamed"] == []
    # The charts that have numbers have a title, a unit, their ends and a table; the others say that they have none.
    assert set(seen["charts"]) == {("img", 4)}


def look_at_every_page(browser: Browser, there: Seeded) -> dict[str, Any]:
    seen: dict[str, Any] = {"wide": [], "poor": [], "broken": [], "inline": 0, "foreign": set(), "titles": set()}
    seen["unnamed"] = []
    seen["grounds"] = {"light": set(), "dark": set()}
    there.enter(browser)
    for name, path in there.pages.items():
        for width, scheme in ((1280, "light"), (320, "dark")):
            browser.prefer(scheme)
            browser.narrow(width)
            browser.open(there.url + path)
            seen["titles"].add(len(browser.all("h1")) == 1 and "Festinger" in browser.driver.title)
            if (found := browser.run(WIDTH)) > width:
                seen["wide"].append((name, width, found))
            seen["poor"] += [(name, scheme, each) for each in browser.run(CONTRASTS)]
            seen["broken"] += [(name, width, each) for each in browser.run(BROKEN)]
            seen["inline"] += len(browser.all("script:not([src]), style, [style], [onload], [onclick]"))
            seen["unnamed"] += [(name, each) for each in browser.run(UNNAMED)]
            seen["foreign"] |= {each for each in browser.run(LOADED) if not each.startswith(f"{there.url}/")}
            seen["grounds"][scheme].add(browser.run("return getComputedStyle(document.body).backgroundColor"))
    browser.open(there.url + "/admin")
    seen["charts"] = browser.run(CHARTS)
    return {**seen, "charts": [tuple(each) for each in seen["charts"]], "complaints": browser.complaints()}


@pytest.mark.requirement("U-31")
async def test_with_scripts_off_a_proposal_is_decided_a_conflict_settled_and_a_memory_forgotten(
    database_url: str, tmp_path: Path, browser: Browser
):
    async with seeded(database_url, tmp_path) as there:
        said = await asyncio.to_thread(decide_without_scripts, browser, there)

    assert "is applied." in said[0]
    assert "is dismissed." in said[1]
    assert "Forgotten for good" in said[2]


def decide_without_scripts(browser: Browser, there: Seeded) -> list[str]:
    there.enter(browser)
    said = []
    with browser.without_scripts():
        for page, label in (("inbox", "Approve"), ("conflicts", "Keep what stands")):
            browser.open(there.url + there.pages[page])
            browser.click(label)
            said.append(browser.text("[role=status]"))
        browser.open(there.url + there.pages["memory"])
        browser.find("#acts > details:last-child summary").click()
        browser.find("input[name=word]").send_keys("forget", Keys.ENTER)
        said.append(browser.text("[role=status]"))
    return said


@pytest.mark.requirement("U-33", "U-34")
async def test_the_switch_keeps_the_colors_and_the_keyboard_reaches_everything(
    database_url: str, tmp_path: Path, browser: Browser
):
    async with seeded(database_url, tmp_path) as there:
        seen = await asyncio.to_thread(switch_and_type, browser, there)

    assert seen["complaints"] == []
    assert seen["grounds"] == ["rgb(245, 245, 241)", "rgb(20, 20, 18)", "rgb(20, 20, 18)", "rgb(245, 245, 241)"]
    assert seen["skip"] == "Skip to the content"
    assert "none" not in seen["outlines"]
    assert seen["reached"] >= {"Memories", "Health", "Save the correction", "Confirm it", "Archive it"}
    assert seen["slash"] == "Search memories"
    assert seen["found"].startswith("Memories about “staging port”")


def switch_and_type(browser: Browser, there: Seeded) -> dict[str, Any]:
    seen: dict[str, Any] = {"grounds": [], "outlines": set(), "reached": set()}
    ground = "return getComputedStyle(document.body).backgroundColor"
    browser.prefer("light")
    there.enter(browser)
    browser.open(there.url + there.pages["memory"])
    seen["grounds"].append(browser.run(ground))
    browser.press("Dark", within="header")
    seen["grounds"].append(browser.run(ground))
    browser.open(f"{there.url}/admin/world")
    seen["grounds"].append(browser.run(ground))
    browser.press("Light", within="header")
    seen["grounds"].append(browser.run(ground))
    browser.open(there.url + there.pages["memory"])
    keys = ActionChains(browser.driver)
    keys.send_keys(Keys.TAB).perform()
    seen["skip"] = browser.driver.switch_to.active_element.text
    for _ in range(40):
        keys.send_keys(Keys.TAB).perform()
        seen["outlines"].add(browser.run(FOCUS))
        seen["reached"].add(browser.driver.switch_to.active_element.text)
    browser.open(f"{there.url}/admin/health")
    ActionChains(browser.driver).send_keys("/").perform()
    field = browser.driver.switch_to.active_element
    seen["slash"] = field.get_attribute("aria-label")
    field.send_keys("staging port", Keys.ENTER)
    browser.find("#find")
    return {**seen, "found": browser.text(), "complaints": browser.complaints()}


PLANTED = (
    "update memory set content = %(text)s || ' ' || seq, subject = %(text)s, source = %(text)s, tags = array[%(text)s]",
    "update memory set session_id = %(text)s where session_id is not null",
    "update memory_sighting set wording = %(text)s, session_id = %(text)s, source = %(text)s",
    "update agent_cycle set reason = %(text)s, degraded = array[%(text)s], injected = array[%(text)s]",
    "update memory_change set reason = %(text)s, by = %(text)s",
    "update episode set title = %(text)s, summary = %(text)s",
    "update episode_turn set content = %(text)s",
    "update request_log set model = %(text)s, reason = %(text)s",
    "update injection set block = %(text)s",
    "update proposal set what = %(text)s, why = %(text)s, how = %(text)s",
    "update surfacing set session_id = %(text)s",
    "update urd_cause set agent = %(text)s, session_id = %(text)s",
)
BIG = "w" * 1_000_000


@pytest.mark.requirement("U-36")
async def test_hostile_text_in_every_field_runs_nothing_and_breaks_no_layout(
    database_url: str, tmp_path: Path, browser: Browser
):
    async with seeded(database_url, tmp_path) as there:
        text = " ".join([*HOSTILE, "</textarea></title></pre></style>", "{% raw %}{{ 7*7 }}"])
        for statement in PLANTED:
            await rows(there.at.app.store, f"{statement} returning 1", text=text)
        await rows(there.at.app.store, "update episode_turn set content = %(t)s where seq = 1 returning 1", t=BIG)
        seen = await asyncio.to_thread(look_for_harm, browser, there)

    assert seen["harm"] == []
    assert seen["wide"] == []
    assert seen["hidden"] == []
    assert seen["complaints"] == []
    assert {"memories", "memory", "conversation", "inbox"} <= seen["planted"]


def look_for_harm(browser: Browser, there: Seeded) -> dict[str, Any]:
    seen: dict[str, Any] = {"harm": [], "wide": [], "hidden": [], "planted": set()}
    there.enter(browser)
    browser.narrow(360)
    for name, path in there.pages.items():
        browser.open(there.url + path)
        if browser.run("return window.pwned ?? null") or browser.all(
            "main script, main img:not(.doc img), main iframe, [onload]"
        ):
            seen["harm"].append(name)
        if browser.run(WIDTH) > 360:
            seen["wide"].append((name, browser.run(WIDTH)))
        if "\u202e" in browser.driver.page_source:
            seen["hidden"].append(name)
        if "onerror=window.pwned" in browser.text():
            seen["planted"].add(name)
    return {**seen, "complaints": browser.complaints()}
