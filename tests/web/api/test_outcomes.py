"""Outcomes over HTTP: hooks, lists, numbers, and what is refused."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.web.deps import Desk, deps
from tests.web.pages.test_overview import read
from tests.web.visitor import visitor

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, Scope
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest


async def remembered(at: Desk, text: str) -> str:
    place = Scope(space=MAIN_SPACE, agent=AgentId(DEFAULT_AGENT))
    learned = await learn(at.app.memory.deps, place, LearnRequest(text=text))
    assert learned.memory is not None
    return str(learned.memory.id)


async def post(at: Desk, path: str, body: dict[str, Any], **more: Any) -> Any:
    return await at.ask("POST", f"/admin/api/{path}", body=body, **more)


@pytest.mark.requirement("O-08")
async def test_hooks_over_http_do_what_those_of_the_library_do(database_url: str, tmp_path: Path) -> None:
    async with deps(database_url, tmp_path) as at:
        one = await remembered(at, "The harbour office of Lisgate opens at 0730.")
        read = await post(at, "reads", {"ids": [one]})
        shown = await post(at, "surfaced", {"ids": [one], "reason": "recall"})
        waiting = await at.ask("GET", "/admin/api/surfaced?pending=true")
        told = await post(at, "outcomes", {"outcomes": {one: "acted"}})
        after = await at.ask("GET", "/admin/api/surfaced?pending=true")
        listed = await at.ask("GET", f"/admin/api/outcomes?memory={one}&how=explicit")
        every = await at.ask("GET", "/admin/api/surfaced?partition=default")
        numbers = await at.ask("GET", "/admin/api/outcomes/metrics")

    assert (read.status, shown.status, told.status) == (204, 201, 200)
    assert [each["memory"] for each in waiting.json["items"]] == [one]
    assert told.json["effects"][one]["confidence"] == [0.5, 0.7]
    assert (told.json["effects"][one]["access"], told.json["replayed"]) == (1, False)
    assert after.json["items"] == []
    assert [each["outcome"] for each in listed.json["items"]] == ["acted"]
    assert [each["outcome"] for each in every.json["items"]] == ["acted"]
    assert (numbers.json["7d"]["rate"], numbers.json["lists"]["helpful"]) == (1.0, [{"memory": one, "times": 1}])


@pytest.mark.requirement("O-08")
async def test_what_is_wrong_is_refused_by_its_code(database_url: str, tmp_path: Path) -> None:
    async with deps(database_url, tmp_path) as at:
        one = await remembered(at, "The harbour office of Lisgate opens at 0730.")
        unknown = await post(at, "outcomes", {"outcomes": {one: "echoed"}})
        no_recall = await post(at, "outcomes", {"outcomes": {one: "acted"}, "recall": str(uuid4())})
        headers = {"idempotency-key": "k"}
        first = await post(at, "outcomes", {"outcomes": {one: "acted"}}, headers=headers)
        again = await post(at, "outcomes", {"outcomes": {one: "acted"}}, headers=headers)
        other = await post(at, "outcomes", {"outcomes": {one: "used"}}, headers=headers)

    assert unknown.status == 422
    for name in ("acted", "used", "dismissed", "deferred", "contradicted"):
        assert name in unknown.json["error"]["message"]
    assert no_recall.status == 404
    assert (first.json["replayed"], again.json["replayed"]) == (False, True)
    assert other.status == 409


@pytest.mark.requirement("O-08")
async def test_rhythms_and_predictions_are_set_over_http(database_url: str, tmp_path: Path) -> None:
    async with deps(database_url, tmp_path) as at:
        one = await remembered(at, "The harbour office of Lisgate opens at 0730.")
        rhythm = await at.ask(
            "PUT",
            f"/admin/api/memories/{one}/rhythm",
            body={"cycles": [{"period": "week", "amplitude": 2.0}], "pressure_rate": 0.1},
        )
        kept = await post(at, f"memories/{one}/prediction", {"predicted": {"opens": 730}})
        came = await post(at, f"memories/{one}/prediction/resolve", {"actual": {"opens": 730}})
        gone = await post(at, f"memories/{uuid4()}/prediction", {"predicted": {}})

    assert rhythm.json["cycles"] == [{"period": 604_800.0, "amplitude": 2.0, "phase": 0.0}]
    assert (kept.status, came.json) == (204, {"error": 0.0})
    assert gone.status == 404


@pytest.mark.requirement("O-55")
async def test_the_page_of_outcomes_shows_the_rate_how_it_became_known_and_who_helped(
    database_url: str, tmp_path: Path
) -> None:
    async with deps(database_url, tmp_path) as at:
        empty = (await (await visitor(at)).get("/admin/outcomes.json")).json
        helped = await remembered(at, "The harbour office of Lisgate opens at 0730.")
        misled = await remembered(at, "Quillon Freight ships copper wire on Tuesdays.")
        await post(at, "surfaced", {"ids": [helped, misled], "reason": "recall"})
        await post(at, "outcomes", {"outcomes": {helped: "acted", misled: "contradicted"}})
        person = await visitor(at)
        words = read((await person.get("/admin/outcomes")).text).words
        duplicate = (await person.get("/admin/outcomes.json")).json

    assert [each["rate"] for each in empty["spans"]] == [None, None, None]
    assert [each["span"] for each in duplicate["spans"]] == ["24 hours", "7 days", "all time"]
    assert {(each["rate"], each["resolved"]) for each in duplicate["spans"]} == {(1.0, 2)}
    assert duplicate["spans"][0]["shares"] == {"explicit": 1.0, "self": 0.0, "inferred": 0.0}
    assert [each["memories"] for each in duplicate["lists"]] == [
        [{"memory": helped, "times": 1, "text": "The harbour office of Lisgate opens at 0730."}],
        [{"memory": misled, "times": 1, "text": "Quillon Freight ships copper wire on Tuesdays."}],
        [],
    ]
    assert {"100 %", "Helped most often", "Quillon Freight ships copper wire on Tuesdays."} <= set(words)
