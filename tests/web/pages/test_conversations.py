"""The pages of conversations: what was said, which notes each reply had and why, and what became of them."""

from pathlib import Path

from tests.web.pages.test_overview import read
from tests.web.seeded import SAID, WRONG, seeded

from festinger.web.auth import COOKIE

HERE = "/admin/conversations"


async def test_each_reply_has_the_notes_that_its_model_saw_and_an_outcome_is_reported(
    database_url: str, tmp_path: Path
):
    async with seeded(database_url, tmp_path) as there:
        at = there.at
        _, cookie = await at.app.logins.enter(there.link, address="test")
        at.http.cookie_jar.update_cookies({COOKIE: cookie})
        path = there.pages["conversation"]
        listed = (await at.get(f"{HERE}.json")).body["items"]
        shown = (await at.get(f"{path}.json")).body
        page = (await at.get(path)).raw.decode()
        by_session = (await at.get(f"{HERE}.json?session={listed[0]['session_id']}")).body["items"]

    reply = next(turn for turn in shown["turns"] if turn["role"] == "assistant")
    assert [each["first_words"] for each in listed if each["agent_id"] != "ada"] == [SAID]
    assert [each["id"] for each in by_session] == [listed[0]["id"]]
    assert reply["seen"]["notes"][0]["text"] == WRONG
    assert "shares `database`" in reply["seen"]["notes"][0]["why"]
    assert f"- {WRONG}" in reply["seen"]["block"]
    assert {each["content"] for each in shown["learned"]} == {"My name is Ann", "I live in Bergen"}
    assert WRONG in "".join(read(page).words)
