"""Lists that show what happens meanwhile, in a real Chromium: at once where nobody is busy, on demand where somebody is."""

from pathlib import Path

import pytest
from tests.web.chromium import Browser
from tests.web.test_console import CONTAINER, REPO, console, disputed


@pytest.mark.requirement("U-32", "U-42")
async def test_a_list_shows_what_happens_and_never_moves_what_a_person_is_writing(
    database_url: str, tmp_path: Path, browser: Browser
):
    async with console(database_url, tmp_path, browser) as at:

        def look(page: Browser) -> str:
            at.enter()
            page.open(f"{at.url}/admin/conflicts")
            return page.text()

        def write(page: Browser) -> str:
            seen = page.text("article.conflict h3")
            page.find("article.conflict .choices summary").click()
            page.find("article.conflict input[name=existing_dimension]").send_keys("tech")
            return seen

        def show(page: Browser) -> tuple[str, str, int, int]:
            offered = page.text(".live button")
            written = page.find("input[name=existing_dimension]").get_attribute("value") or ""
            before = len(page.all("article.conflict"))
            page.find(".live button").click()
            return offered, written, before, len(page.all("article.conflict"))

        def lose(page: Browser) -> str:
            page._until(lambda _: "Not live since" in page.text(".live"), what="that it is not live")
            return page.text(".live")

        empty = await at.watch(look)
        await disputed(at.deps)
        seen = await at.watch(write)
        for fact in (REPO, CONTAINER):
            await at.deps.ask("POST", "/iknowthat", key=None, body={"fact": fact.replace("web", "api")})
        offered, written, before, after = await at.watch(show)
        at.deps.supervisor.closing.set()
        lost = await at.watch(lose)

        assert "Nothing waits." in empty
        assert seen == "gnommoweb [type?]"
        assert (offered, written) == ("1 new – show", "tech")
        assert (before, after) == (1, 2)
        assert lost.startswith("Not live since ")
        assert browser.complaints() == []
