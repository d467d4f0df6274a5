"""The page of the world: searching, walking, stating; and names that are hostile."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.asgi import Got
from tests.web.deps import deps
from tests.web.pages.test_overview import HOSTILE, MONDAY, read
from tests.web.visitor import visitor

from festinger.store.repositories.auth import derive_csrf_token
from festinger.web.auth import TOKEN_FIELD
from festinger.web.graph import lay_out_graph
from festinger.web.render import render_template
from festinger.world.query import NearbyConcept, NearbyEdge, Neighborhood


async def test_a_word_is_found_however_it_is_typed_and_every_word_leads_on(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await at.ask("POST", "/iknowthat", body={"facts": ["Red Panda -isa animal", "animal -isa creature"]})
        person = await visitor(at)
        got = await person.get("/admin/world?concept=Red%20Panda")
        walked = await person.get("/admin/world?concept=animal")

    assert "/admin/world?concept=animal" in got.text
    assert {"red_panda", "animal"} <= set(read(got.text).words)
    assert {"red_panda", "animal", "creature"} <= set(read(walked.text).words)


async def test_an_unknown_word_is_answered_with_the_nearest_known(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await at.ask("POST", "/iknowthat", body={"fact": "gnommoweb -isa repo"})
        person = await visitor(at)
        got = await person.get("/admin/world?concept=gnomoweb")
        empty = await person.get("/admin/world")

    assert (got.status, empty.status) == (200, 200)
    assert "/admin/world?concept=gnommoweb" in got.text
    assert "Around gnommoweb" in empty.text


@pytest.mark.requirement("W-86")
async def test_what_a_person_states_on_the_page_is_a_persons_word(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        person = await visitor(at)
        stated = await person.press(await person.get("/admin/world"), "State it", fact="gnommoweb -isa repo")
        wrong = await person.press(await person.get("/admin/world"), "State it", fact="gnommoweb repo")
        other = await person.press(await person.get("/admin/world"), "State it", fact="gnommoweb -isa container")
        (edge,) = (await at.ask("GET", "/admin/api/concepts/gnommoweb")).json["edges"]

    assert (stated.status, stated.headers["location"].partition("&")[0]) == (303, "/admin/world?concept=gnommoweb")
    assert (wrong.status, "-isa" in wrong.text) == (400, True)
    assert other.headers["location"].startswith("/admin/conflicts/")
    assert [cause["origin"] for cause in edge["causes"]] == ["person"]
    assert edge["edge"]["source"] == "gutask"


async def test_a_fact_stated_on_the_page_is_taken_back_with_its_undo_unless_others_said_it_too(
    database_url: str, tmp_path: Path
):
    async with deps(database_url, tmp_path) as at:
        person = await visitor(at)

        async def state_and_undo(fact: str, *, others: bool) -> tuple[Got, Got]:
            stated = await person.press(await person.get("/admin/world"), "State it", fact=fact)
            if others:
                await at.ask("POST", "/iknowthat", body={"fact": fact})
            page = await person.get(stated.headers["location"])
            return page, await person.get((await person.press(page, "Undo")).headers["location"])

        page, undone = await state_and_undo("gnommoweb -isa repo", others=False)
        gone = await at.ask("GET", "/admin/api/concepts/gnommoweb")
        await state_and_undo("gnommoweb -isa repo", others=True)
        (stands,) = (await at.ask("GET", "/admin/api/concepts/gnommoweb")).json["edges"]
        again = await person.press(await person.get("/admin/world"), "State it", fact="gnommoweb -isa repo")
        foreign = await person.post(
            "/admin/world/undo", {TOKEN_FIELD: derive_csrf_token(person.cookie), "stated": "turn:7"}
        )

    assert "Stated." in page.text
    assert "Taken back." in undone.text
    assert gone.status == 404
    assert len(stands["causes"]) == 1
    assert "stated=" not in again.headers["location"]
    assert foreign.status == 422


async def test_the_page_of_the_world_and_its_twin_say_the_same(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await at.ask("POST", "/iknowthat", body={"facts": ["gnommoweb -isa repo", "repo -isa artifact"]})
        person = await visitor(at)
        words = set(read((await person.get("/admin/world?concept=gnommoweb&depth=2")).text).words)
        duplicate = (await person.get("/admin/world.json?concept=gnommoweb&depth=2")).json

    assert {word["token"] for word in duplicate["found"]["words"]} == {"gnommoweb", "repo", "artifact"}
    assert {word["token"] for word in duplicate["found"]["words"]} <= words


@given(text=st.sampled_from(HOSTILE) | st.text(alphabet="<>&\"'/=x {}%", min_size=1, max_size=30))
def test_whatever_a_word_is_called_it_comes_out_as_text(text: str):
    plain, hostile = (read(bytes(render_template("world.html", data(each)).body).decode()) for each in ("x", text))

    assert hostile.seen == plain.seen
    assert hostile.attributes == plain.attributes


def data(text: str) -> dict[str, object]:
    edge = NearbyEdge(
        concept=text,
        parent="parent",
        dimension=text,
        is_isa=True,
        confidence=0.5,
        last_confirmed=None,
        source=text,
        disputed=True,
    )
    found = Neighborhood(
        centre=text,
        words=[NearbyConcept(token="parent", level=-1), NearbyConcept(token=text, level=0)],
        edges=[edge],
        beyond={text: 3},
    )
    held = {
        "id": text, "concept": text, "parent": text, "dimension": text, "is_isa": False, "origin": text,
        "status": "expired", "first_seen": MONDAY, "votes": {"causes": 1, "sessions": 1, "texts": 1, "days": 1},
    }  # fmt: skip
    return {
        "asked": text, "depth": 1, "depths": (1, 2, 3), "problem": text, "nearest": [text], "found": found,
        "picture": lay_out_graph(found, now=MONDAY, recent=MONDAY - MONDAY), "quarantine": [held],
        "decided": {"id": text, "concept": text, "parent": text, "is_isa": True, "status": "admitted"},
        "added": text, "stated": text, "taken_back": text,
        "wanted": [{"token": text, "encounters": 4}], "version": text, "here": text, "space_name": text, "next": text,
        "edges": [{"concept": text, "parent": text, "dimension": text, "is_isa": True, "origin": text}],
        "person": text, "form_token": text, "in_all": 3, "may_write": True, "may_review": True,
    }  # fmt: skip
