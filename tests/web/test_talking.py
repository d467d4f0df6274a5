"""A person talks with an agent in a real Chromium: the reply appears as it is written, and what fails is told."""

import asyncio
from pathlib import Path

import pytest
from tests.stories.model import Turn
from tests.stories.stage import stage
from tests.web.chromium import Browser

WRITTEN = "#talk ~ article.assistant:last-of-type .words"


@pytest.mark.requirement("U-31")
async def test_a_reply_appears_as_it_is_written_and_an_error_leaves_the_message_where_it_is(
    database_url: str, tmp_path: Path, browser: Browser
):
    async with stage(database_url, tmp_path) as at:
        link = await at.app.logins.invite("ann")

        def enter() -> None:
            browser.open(f"{at.url}/admin/login?code={link}")
            browser.press("Log in")
            browser.open(f"{at.url}/admin/mind/ada")

        def say(text: str) -> None:
            browser.find("#say").clear()
            browser.find("#say").send_keys(text)
            browser.find("form[data-say] button").click()

        def see(words: str) -> str:
            browser._until(lambda _: words in browser.text(), what=words)
            return browser.text()

        def talk() -> list[str]:
            enter()
            at.model.says("Good morning, <b>Ann</b>.", Turn(status=400), Turn(text="One moment and then", stalls=True))
            say("Good morning to you, ada.")
            seen = [see("sure (")]
            browser.complaints()
            say("Are you still there?")
            seen.append(see("Are you still there?") and browser.text("article .fail"))
            kept = browser.find("#say").get_attribute("value")
            say("Tell me a long story, please.")
            seen += [kept or "", see("One moment")]
            browser.open("about:blank")
            return seen

        first, failed, kept, partly = await asyncio.to_thread(talk)
        await asyncio.wait_for(at.model.left.wait(), 60)

    assert "Good morning, <b>Ann</b>." in first
    assert "How it came to its last replies\nGood morning to you, ada." in first
    assert failed
    assert kept == "Are you still there?"
    assert "Tell me a long story, please." in partly
