"""The page of conflicts: what it shows, what can be decided there, and that text stays text."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.runtime.server import told
from tests.web.deps import Desk, deps
from tests.web.pages.test_overview import HOSTILE, read
from tests.web.visitor import forms_of, visitor

from festinger.errors import BadInput
from festinger.jobs.worker import WorkerPool
from festinger.memory.conflicts import DECISIONS
from festinger.web.pages.conflicts import decision_options, parse_verdict
from festinger.web.render import render_template
from festinger.world.model import CollisionType

REPO, CONTAINER = "gnommoweb -isa repo", "gnommoweb -isa container"


async def disputed(at: Desk) -> str:
    """A conflict between two statements; its id."""
    await at.ask("POST", "/iknowthat", body={"fact": REPO})
    made = await at.ask("POST", "/iknowthat", body={"fact": CONTAINER})
    return str(made.json["conflict"]["id"])


@pytest.mark.requirement("W-80")
async def test_both_statements_stand_on_the_page_with_who_said_them(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await disputed(at)
        person = await visitor(at)
        words = "".join(read((await person.get("/admin/conflicts")).text).words)

    for said in ("What stands", "What is new", "repo", "container", "stated on purpose", "key:root", "100 %"):
        assert said in words


@pytest.mark.requirement("W-81")
@pytest.mark.parametrize(
    ("label", "typed", "stands", "status"),
    [
        ("Take the new one", {}, {"type": "container"}, "resolved"),
        ("Keep what stands", {}, {"type": "repo"}, "dismissed"),
        ("Both are the same", {}, {"type": "repo"}, "resolved"),
        (
            "Let both stand",
            {"existing_dimension": "artifact-type", "new_dimension": "deployment-type"},
            {"artifact-type": "repo", "deployment-type": "container"},
            "resolved",
        ),
        ("Put the new one elsewhere", {"dimension": "tech"}, {"type": "repo", "tech": "container"}, "resolved"),
    ],
    ids=["update", "dismiss", "same", "decompose", "reclassify"],
)
async def test_each_decision_is_one_press_and_can_be_undone(
    label: str, typed: dict[str, str], stands: dict[str, str], status: str, database_url: str, tmp_path: Path
):
    async with deps(database_url, tmp_path) as at:
        conflict = await disputed(at)
        person = await visitor(at)
        pressed = await person.press(await person.get("/admin/conflicts"), label, **typed)
        decided = (await at.ask("GET", f"/conflicts/{conflict}")).json
        after = await edges(at)
        shown = await person.get(pressed.headers["location"])
        await person.press(shown, "Undo")
        again = (await at.ask("GET", f"/conflicts/{conflict}")).json
        (event,) = await told(at.app, "conflict_decided")

        assert pressed.status == 303
        assert (decided["status"], after) == (status, stands)
        assert event.payload["decided_by"] == "person:ann"
        assert (again["status"], await edges(at)) == ("pending", {"type": "repo"})


async def edges(at: Desk) -> dict[str, str]:
    found = (await at.ask("GET", "/admin/api/concepts/gnommoweb")).json["edges"]
    return {each["edge"]["dimension"]: each["edge"]["parent"] for each in found}


@pytest.mark.requirement("W-69")
async def test_a_decision_on_what_no_longer_stands_is_refused_and_told(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        conflict = await disputed(at)
        person = await visitor(at)
        seen = await person.get("/admin/conflicts")
        await at.ask("POST", "/iknowthat", body={"fact": "gnommoweb -isa service"})
        other = (await at.ask("GET", "/conflicts")).json["items"][-1]["id"]
        reviewer = await visitor(at, "bob")
        page = await reviewer.get(f"/admin/conflicts/{other}")
        await reviewer.press(page, "Take the new one")
        got = await person.press(seen, "Take the new one")

        assert other != conflict
        assert (got.status, await edges(at)) == (412, {"type": "service"})
        assert "Another edge stands there by now." in got.text


@pytest.mark.requirement("W-73")
async def test_resolution_is_run_by_a_press_and_its_result_is_shown(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await disputed(at)
        person = await visitor(at)
        before = await person.get("/admin")
        pressed = await person.press(before, "Run resolution now")
        again = await person.press(before, "Run resolution now")
        await WorkerPool(at.app.jobs, shutdown_seconds=5).drain()
        after = "".join(read((await person.get("/admin")).text).words)

        assert "No run has ended yet." in before.text
        assert (pressed.status, again.status) == (303, 409)
        assert "looked at 1" in after
        assert (await told(at.app, "resolution_finished"))[0].payload["seen"] == 1


async def test_without_a_session_the_start_page_counts_but_shows_no_button(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await disputed(at)
        got = await at.ask("GET", "/admin", key=None)

    assert "1 conflict waits for a decision." in "".join(read(got.text).words)
    assert forms_of(got) == []
    assert "gnommoweb" not in got.text


async def test_the_page_of_conflicts_and_its_twin_say_the_same(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await disputed(at)
        person = await visitor(at)
        words = "".join(read((await person.get("/admin/conflicts")).text).words)
        duplicate = (await person.get("/admin/conflicts.json")).json

    (item,) = duplicate["waiting"]
    assert duplicate["pending"] == 1
    for said in (item["concept"], item["existing"]["parent"], item["incoming"]["parent"], item["meaning"]):
        assert said in words
    assert all(choice["label"] in words for choice in item["choices"])


@pytest.mark.parametrize("about", ["edge", "memory"])
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_stands_in_a_conflict_comes_out_as_text(text: str, about: str):
    plain, hostile = (
        read(bytes(render_template("conflict.html", data(each, about)).body).decode()) for each in ("x", text)
    )

    assert hostile.seen == plain.seen
    assert hostile.attributes == plain.attributes


def data(text: str, about: str) -> dict[str, object]:
    side = {
        "content": text,
        "trust": 0.5,
        "created_at": "2026-01-05T12:00:00Z",
        "parent": text,
        "is_isa": True,
        "confidence": 0.5,
        "source": text,
        "origin": text,
        "last_confirmed": None,
        "memory": text,
        "causes": [{"agent": text, "session": text, "day": text, "origin": text}],
    }
    item = {
        "id": text,
        "about": about,
        "concept": text,
        "dimension": text,
        "existing": side,
        "incoming": side,
        "collision_type": "isa_isa",
        "status": "pending",
        "priority": 10,
        "sightings": 2,
        "resolution": None,
        "created_at": None,
        "resolved_at": None,
        "meaning": text,
        "reason": text,
        "decided_by": text,
        "against": 1,
        "choices": [
            {
                "decision": text,
                "label": text,
                "meaning": text,
                "names": [{"name": text, "label": text}],
                "texts": [{"name": text, "label": text}],
            }
        ],
    }
    return {
        "item": item, "version": text, "here": text, "space_name": text, "person": text, "form_token": text, "in_all": 3,
        "may_review": True, "may_write": True,
    }  # fmt: skip


@pytest.mark.requirement("W-81")
@pytest.mark.parametrize("kind", CollisionType)
def test_what_stands_can_always_be_kept_and_a_retraction_is_taken_out_or_not(kind: CollisionType):
    conflict = SimpleNamespace(about="edge", collision_type=kind.value, existing_parent="repo")
    offered = [str(choice.decision) for choice in decision_options(conflict)]  # type: ignore[arg-type]

    assert "dismiss" in offered
    assert "update" in offered
    assert len(set(offered)) == len(offered)
    if kind is CollisionType.RETRACTION:
        assert offered == ["update", "dismiss"]


def test_without_an_edge_that_stands_nothing_can_be_the_same_or_move_aside():
    conflict = SimpleNamespace(about="edge", collision_type="isa_isa", existing_parent=None)
    offered = {str(choice.decision) for choice in decision_options(conflict)}  # type: ignore[arg-type]

    assert offered == {"dismiss", "update", "reclassify"}


@pytest.mark.requirement("M-47")
def test_everything_that_can_be_decided_of_memories_is_offered_and_nothing_else():
    offered = decision_options(SimpleNamespace(about="memory", collision_type="contradicts"))  # type: ignore[arg-type]

    assert {each.decision for each in offered} == set(DECISIONS)


@pytest.mark.parametrize(("against", "read_as"), [("7", 7), ("", None), ("x", None), ("²", None)])
def test_what_stood_when_the_page_was_shown_comes_back_with_the_form(against: str, read_as: int | None):
    verdict = parse_verdict({"decision": "update", "against": against, "dimension": ""}, by="person:ann")

    assert (verdict.against, verdict.dimension, verdict.by) == (read_as, None, "person:ann")


@pytest.mark.parametrize("decision", ["", "maybe", "perhaps"])
def test_a_form_without_a_decision_is_refused(decision: str):
    with pytest.raises(BadInput):
        parse_verdict({"decision": decision}, by="x")
