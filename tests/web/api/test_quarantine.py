"""Quarantine over HTTP and on the page: listed with its votes, let in, kept out."""

from pathlib import Path

import pytest
from tests.runtime.server import told
from tests.web.deps import Desk, deps
from tests.web.visitor import visitor

from festinger.ids import MAIN_SPACE, AgentId, Origin, Scope, SessionId
from festinger.store.repositories.auth import AccessRole
from festinger.world.learn import write_claims
from festinger.world.recall import SourceText


async def overheard(at: Desk, *texts: str) -> dict[str, str]:
    """Tools say things that nobody vouches for; the ids of what is kept apart, by concept."""
    room = at.app.world
    await room.need(MAIN_SPACE)
    for number, text in enumerate(texts):
        place = Scope(space=MAIN_SPACE, agent=AgentId("a1"), session=SessionId(f"s{number}"))
        said = SourceText(message=text, text=text, origin=Origin.TOOL)
        async with at.app.store.transaction() as transaction:
            await room.recollector.learn(transaction, place, said)
        await write_claims(room.deps, MAIN_SPACE, text)
    found = (await at.ask("GET", "/admin/api/quarantine")).json["items"]
    return {item["concept"]: item["id"] for item in found}


@pytest.mark.requirement("W-52")
async def test_what_nobody_vouches_for_is_listed_with_how_much_speaks_for_it(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await overheard(at, "Acme is a vendor.", "Indeed Acme is a vendor, they say.")
        (item,) = (await at.ask("GET", "/admin/api/quarantine")).json["items"]
        wrong = await at.ask("GET", "/admin/api/quarantine?status=odd")

    assert (item["concept"], item["parent"], item["dimension"], item["is_isa"]) == ("acme", "vendor", "type", True)
    assert (item["origin"], item["status"]) == ("tool", "waiting")
    assert item["votes"] == {"causes": 2, "sessions": 2, "texts": 2, "days": 1}
    assert wrong.status == 422


@pytest.mark.requirement("W-52")
async def test_a_reviewer_lets_one_in_and_keeps_another_out(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        reviewer = await at.new_key(AccessRole.REVIEWER)
        held = await overheard(at, "Acme is a vendor.", "Dobby is a robot.")
        refused = await at.ask("POST", f"/admin/api/quarantine/{held['acme']}/admit")
        admitted = await at.ask("POST", f"/admin/api/quarantine/{held['acme']}/admit", key=reviewer)
        rejected = await at.ask("POST", f"/admin/api/quarantine/{held['dobby']}/reject", key=reviewer)
        again = await at.ask("POST", f"/admin/api/quarantine/{held['dobby']}/admit", key=reviewer)
        known = (await at.ask("GET", "/admin/api/concepts/acme")).json["edges"]
        waiting = (await at.ask("GET", "/admin/api/quarantine")).json["items"]
        everything = (await at.ask("GET", "/admin/api/quarantine?status=all")).json["items"]

        assert refused.status == 403
        assert (admitted.status, admitted.json["status"]) == (200, "added")
        assert (rejected.status, rejected.json["status"]) == (200, "rejected")
        assert again.status == 409
        assert [(edge["edge"]["parent"], edge["edge"]["confidence"]) for edge in known] == [("vendor", 0.6)]
        assert waiting == []
        assert {item["concept"]: item["status"] for item in everything} == {"acme": "admitted", "dobby": "rejected"}
        assert len(await told(at.app, "cue_admitted")) == 1


@pytest.mark.requirement("W-52")
async def test_one_that_collides_when_it_is_let_in_becomes_a_conflict(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        reviewer = await at.new_key(AccessRole.REVIEWER)
        await at.ask("POST", "/iknowthat", body={"fact": "acme -isa school"}, key=reviewer)
        held = await overheard(at, "Acme is a vendor.")
        got = await at.ask("POST", f"/admin/api/quarantine/{held['acme']}/admit", key=reviewer)

    assert (got.status, got.json["status"]) == (202, "conflict")
    assert got.json["conflict"]["incoming"]["parent"] == "vendor"


@pytest.mark.requirement("W-52")
async def test_quarantine_comes_in_pages_without_a_hole_or_a_twin(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        held = await overheard(at, *(f"Acme{n} is a vendor." for n in range(5)))
        seen, target = [], "/admin/api/quarantine?limit=2"
        while target:
            page = (await at.ask("GET", target)).json
            seen += [item["id"] for item in page["items"]]
            target = f"/admin/api/quarantine?limit=2&cursor={page['next']}" if page["next"] else ""

    assert len(seen) == 5
    assert set(seen) == set(held.values())


@pytest.mark.requirement("W-52")
async def test_on_the_page_it_is_let_in_or_kept_out_by_a_press(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await overheard(at, "Acme is a vendor.")
        person = await visitor(at)
        first = await person.get("/admin/world")
        pressed = await person.press(first, "Keep it out")
        after = await person.get(pressed.headers["location"])
        await overheard(at, "Dobby is a robot.")
        admitted = await person.press(await person.get("/admin/world"), "Let it in")

        assert pressed.status == 303
        assert "kept out" in after.text
        assert admitted.status == 303
        assert (await at.ask("GET", "/admin/api/concepts/dobby")).json["edges"]


@pytest.mark.parametrize("label", ["Let it in", "Keep it out"])
async def test_on_the_page_a_decision_is_taken_back_at_once(label: str, database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await overheard(at, "Acme is a vendor.")
        person = await visitor(at)
        pressed = await person.press(await person.get("/admin/world"), label)
        decided = await person.get(pressed.headers["location"])
        undone = await person.press(decided, "Undo")
        after = await person.get(undone.headers["location"])
        known = await at.ask("GET", "/admin/api/concepts/acme")
        (waiting,) = (await at.ask("GET", "/admin/api/quarantine")).json["items"]

    assert "back in quarantine" in after.text
    assert waiting["votes"]["causes"] == 1
    assert known.status == 404 or known.json["edges"] == []


async def test_an_unknown_id_is_not_found(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        reviewer = await at.new_key(AccessRole.REVIEWER)
        nobody = "018f3a5e-7b21-7000-8000-000000000001"
        got = [
            await at.ask("POST", f"/admin/api/quarantine/{nobody}/{operation}", key=reviewer)
            for operation in ("admit", "reject")
        ]
        cursor = await at.ask("GET", f"/admin/api/quarantine?cursor={nobody}")

    assert [each.json["error"]["name"] for each in (*got, cursor)] == ["no_such_cue"] * 3
