"""The pages of memories: found by words, explained, corrected, taken back, and forgotten only by the typed word."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.deps import rows
from tests.web.api.test_memories import key_of, learn, server
from tests.web.pages.test_overview import read
from tests.web.visitor import visitor

from festinger.store.repositories.auth import AccessRole
from festinger.web.pages.changes import diff_words

PAGE = "/admin/memories"
WRONG, RIGHT = "The staging database listens on port 5432", "The staging database listens on port 5433"


async def test_a_wrong_memory_is_found_explained_corrected_and_the_correction_taken_back(
    database_url: str, tmp_path: Path
):
    async with server(database_url, tmp_path) as at:
        wrong = (await learn(at, WRONG, subject="staging database")).json["memory"]["id"]
        await learn(at, "Clara lives in Lisbon", subject="Clara")
        ann = await visitor(at)
        found = (await ann.get(f"{PAGE}.json?q=port+of+the+staging+database")).json["items"]
        page = await ann.get(f"{PAGE}/{wrong}")
        corrected = await ann.press(page, "Save the correction", text=RIGHT)
        after = await ann.get(corrected.headers["location"])
        old = (await ann.get(f"{PAGE}/{wrong}.json")).json
        undone = await ann.press(after, "Undo")
        back = (await ann.get(f"{PAGE}.json?q=port+of+the+staging+database")).json["items"]
        recalls = await rows(at.app.store, "select id from recall")
        (causes,) = await rows(at.app.store, "select count(*) from memory_sighting where memory_id = %(id)s", id=wrong)

    words = "".join(read(page.text).words)
    assert found[0]["content"] == WRONG
    assert "Why it is believed" in words
    assert "Said on 1 independent occasion" in words
    assert (corrected.status, RIGHT in "".join(read(after.text).words)) == (303, True)
    assert "<del>5432</del>" in after.text
    assert "<ins>5433</ins>" in after.text
    assert (old["item"]["status"], old["replaced_by"]["content"]) == ("superseded", RIGHT)
    assert undone.status == 303
    assert [each["content"] for each in back if "staging" in each["content"]] == [WRONG]
    # Looking is no evidence.
    assert (recalls, causes["count"]) == ([], 1)


async def test_confirming_archiving_and_restoring_leave_changes_that_can_be_undone(database_url: str, tmp_path: Path):
    async with server(database_url, tmp_path) as at:
        id_ = (await learn(at, "Clara lives in Lisbon", subject="Clara")).json["memory"]["id"]
        ann = await visitor(at)
        for label in ("Confirm it", "Archive it", "Restore it"):
            done = await ann.press(await ann.get(f"{PAGE}/{id_}"), label)
            assert "Undo" in (await ann.get(done.headers["location"])).text
        changes = (await ann.get("/admin/changes.json")).json["items"]
        undone = await ann.press(await ann.get("/admin/changes"), "Undo")
        listed = await ann.get(undone.headers["location"])
        now = (await ann.get(f"{PAGE}/{id_}.json")).json["item"]["status"]

    assert [each["op"] for each in changes] == ["restore", "archive", "confirm"]
    assert {each["by"] for each in changes[:2]} == {"person:ann"}
    assert (undone.headers["location"].split("?")[0], now) == ("/admin/changes", "archived")
    assert "Restored, and undone." in listed.text


async def test_a_memory_is_forgotten_by_the_typed_word_alone(database_url: str, tmp_path: Path):
    async with server(database_url, tmp_path) as at:
        id_ = (await learn(at, "The code of the safe is 4711")).json["memory"]["id"]
        ann = await visitor(at)
        page = await ann.get(f"{PAGE}/{id_}")
        refused = await ann.press(page, "Forget for good", word="yes")
        done = await ann.press(page, "Forget for good", word="forget")
        told = await ann.get(done.headers["location"])
        gone = await ann.get(f"{PAGE}/{id_}")

    assert (refused.status, "Nothing was changed" in refused.text) == (422, True)
    assert "Forgotten for good" in told.text
    assert gone.status == 404


async def test_the_list_is_filtered_and_cursored_and_an_agent_sees_its_own(database_url: str, tmp_path: Path):
    async with server(database_url, tmp_path) as at:
        bot = await key_of(at, AccessRole.AGENT, agent="kreacher")
        for number in range(5):
            await learn(at, f"Shelf {number} holds {number + 10} boxes", tags=["store"])
        await learn(at, "Kreacher sleeps in the cupboard", key=bot, shared=False)
        ann = await visitor(at)
        first = (await ann.get(f"{PAGE}.json?limit=4")).json
        rest = (await ann.get(f"{PAGE}.json?limit=4&cursor={first['next']}")).json
        tagged = (await ann.get(f"{PAGE}.json?tag=store&kind=&status=&agent=&since=&until=&q=")).json["items"]
        by_model = (await ann.get(f"{PAGE}.json?origin=model")).json["items"]
        elsewhere = (await ann.get(f"{PAGE}.json?agent=dobby")).json["items"]
        private = (await ann.get(f"{PAGE}.json?q=where+does+Kreacher+sleep")).json["items"]
        nothing = await ann.get(f"{PAGE}?origin=tool")

    contents = [each["content"] for each in first["items"] + rest["items"]]
    assert (len(contents), len(set(contents))) == (6, 6)
    assert contents[0].startswith("Kreacher")
    assert len(tagged) == 5
    assert [each["agent_id"] for each in by_model] == ["kreacher"]
    assert len(elsewhere) == 5
    assert private[0]["content"].startswith("Kreacher")
    assert "No memory fits" in nothing.text


async def test_everything_known_of_somebody_is_on_one_page_and_more_can_be_added(database_url: str, tmp_path: Path):
    async with server(database_url, tmp_path) as at:
        await learn(at, "Clara lives in Lisbon", subject="Clara")
        await learn(at, "The gift for Clara is in the drawer", subject="drawer")
        await at.ask("POST", "/iknowthat", body={"fact": "clara -isa nurse"})
        ann = await visitor(at)
        subjects = (await ann.get("/admin/about.json")).json["items"]
        page = await ann.get("/admin/about/Clara")
        added = await ann.press(page, "Remember it", text="Clara plays the cello", subject="Clara")
        told = (await ann.get("/admin/about/Clara.json")).json

    assert [(each["name"], each["memories"]) for each in subjects] == [("Clara", 1), ("drawer", 1)]
    assert added.headers["location"].startswith(f"{PAGE}/")
    assert {each["content"] for each in told["known"]} == {"Clara lives in Lisbon", "Clara plays the cello"}
    assert [each["content"] for each in told["mentions"]] == ["The gift for Clara is in the drawer"]
    assert [each["parent"] for each in told["world"]["edges"]] == ["nurse"]


@given(old=st.text("ab c", max_size=30), new=st.text("ab c", max_size=30))
def test_the_difference_of_two_texts_has_every_word_of_both_once(old: str, new: str):
    parts = diff_words(old, new)

    assert " ".join("".join(text for kind, text in parts if kind != "added").split()) == " ".join(old.split())
    assert " ".join("".join(text for kind, text in parts if kind != "removed").split()) == " ".join(new.split())
