"""The inbox in a real Chromium: a person decides by mouse, by keyboard alone, on a narrow window, in light and dark."""

from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys
from tests.web.chromium import Browser
from tests.web.inbox import DRAFT, PROPOSALS
from tests.web.test_console import CONTRASTS, HOSTILE, Console, console

from festinger.store.repositories.auth import AccessRole

PAGE = "/admin/inbox"
NARROW = 320


async def proposed(at: Console, *texts: str) -> list[str]:
    """What a person proposes in these words; the ids."""
    key = await at.deps.new_key(AccessRole.REVIEWER, name="bob")
    made = [
        await at.deps.ask("POST", PROPOSALS, key=key, body=DRAFT | {"what": text, "why": text, "how": text})
        for text in texts
    ]
    return [str(each.json["proposal"]["id"]) for each in made]


async def state(at: Console, id_: str) -> str:
    return str((await at.deps.ask("GET", f"{PROPOSALS}/{id_}")).json["state"])


@pytest.mark.requirement("H-81")
async def test_a_person_approves_by_mouse_takes_it_back_and_decides_several_at_once(
    database_url: str, tmp_path: Path, browser: Browser
):
    async with console(database_url, tmp_path, browser) as at:
        ids = await proposed(at, *(f"Change number {number}" for number in range(3)))

        def steps(page: Browser) -> list[str]:
            at.enter()
            page.open(at.url + PAGE)
            said = [page.text("nav .count")]
            page.press("Approve", within=f"#proposal-{ids[0]}")
            said += [page.text("[role=status]"), page.text("nav .count")]
            page.press("Undo")
            said.append(page.text("[role=status]"))
            for id_ in ids[1:]:
                page.find(f"input[name='pick-{id_}']").click()
            page.press("Reject all marked")
            return [*said, page.text("[role=status]")]

        said = await at.watch(steps)

        assert said[0] == "3"
        assert said[1].startswith("Change number 0 is applied.")
        # The approved advice is a task now, and waits too.
        assert said[2] == "3"
        assert said[3] == "Change number 0 is undone."
        assert said[4] == "2 of 2 were decided."
        assert [await state(at, id_) for id_ in ids] == ["undone", "rejected", "rejected"]
        assert browser.complaints() == []


@pytest.mark.requirement("H-81")
async def test_with_the_keyboard_alone_a_person_rejects_and_nothing_hostile_runs_or_overflows(
    database_url: str, tmp_path: Path, browser: Browser
):
    async with console(database_url, tmp_path, browser) as at:
        ids = await proposed(at, *HOSTILE)

        def steps(page: Browser) -> dict[str, Any]:
            page.narrow(NARROW)
            at.enter()
            seen: dict[str, Any] = {"poor": [], "widths": [], "run": [], "scripts": 0}
            for path in (PAGE, f"{PAGE}/{ids[0]}"):
                for scheme in ("light", "dark"):
                    page.prefer(scheme)
                    page.open(at.url + path)
                    page.find("h1")
                    seen["poor"] += page.run(CONTRASTS)
                seen["widths"].append(page.run("return document.documentElement.scrollWidth"))
                seen["run"].append(page.run("return window.pwned ?? null"))
                seen["scripts"] += len(page.all("main script, style, [style], main img, [onload]"))
                seen["text"] = page.text()
            page.find(f"#proposal-{ids[0]} .choices summary").send_keys(Keys.ENTER)
            note = page.find(f"#proposal-{ids[0]} input[name='note']")
            note.send_keys("Not on my machine.", Keys.ENTER)
            seen["said"] = page.text("[role=status]")
            return seen

        seen = await at.watch(steps)

        assert seen["poor"] == []
        assert [width for width in seen["widths"] if width > NARROW] == []
        assert (seen["run"], seen["scripts"]) == ([None, None], 0)
        assert HOSTILE[0] in seen["text"]
        assert "is rejected." in seen["said"]
        assert await state(at, ids[0]) == "rejected"
        assert browser.complaints() == []
