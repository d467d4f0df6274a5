"""Recalling over HTTP: by the names of the library, with what was recalled, why, and what it would be now."""

import inspect
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.web.api.test_outcomes import post, remembered
from tests.web.deps import deps

from festinger.client.memory import Memory
from festinger.retrieval.result import RecallItem, RecallResult
from festinger.web.api.recall import RecallApiRequest

HARBOUR = "The harbour office of Lisgate opens at 0730."


@pytest.mark.requirement("R-02")
def test_a_request_takes_the_names_and_the_defaults_of_the_library():
    library = inspect.signature(Memory.recall).parameters
    taken = RecallApiRequest.model_fields

    assert set(taken) == set(library) - {"self"} | {"session"}
    for name in set(library) - {"self", "cue"}:
        assert (name, taken[name].default or None) == (name, library[name].default or None)


@pytest.mark.requirement("R-02")
async def test_a_recall_is_answered_listed_told_and_asked_again(database_url: str, tmp_path: Path) -> None:
    async with deps(database_url, tmp_path) as at:
        one = await remembered(at, HARBOUR)
        asked = {"cue": "when does the harbour office open?", "session": "s7", "explain": True}
        found = await post(at, "recall", asked)
        nothing = await post(at, "recall", {"cue": "plorf"})
        await at.app.afterwards.written()
        listed = {
            query: (await at.ask("GET", f"/admin/api/recalls?{query}")).json["items"]
            for query in ("session=s7", f"memory={one}", "abstained=true", "abstained=false", "session=other")
        }
        told = await at.ask("GET", f"/admin/api/recalls/{found.json['id']}")
        again = await at.ask("POST", f"/admin/api/recalls/{found.json['id']}/replay")

    names = {"id", "items", "abstained", "below_threshold", "degraded", "took"}
    assert (found.status, nothing.status) == (200, 200)
    assert set(found.json) == names == set(RecallResult.__dataclass_fields__)
    [item] = found.json["items"]
    assert set(item) == set(RecallItem.__dataclass_fields__) - {"version", "cosine"}
    assert (item["id"], item["text"], item["why"]["origin"]) == (one, HARBOUR, "person")
    assert (nothing.json["items"], nothing.json["abstained"]) == ([], True)
    first, second = found.json["id"], nothing.json["id"]
    assert {query: [each["id"] for each in items] for query, items in listed.items()} == {
        "session=s7": [first],
        f"memory={one}": [first],
        "abstained=true": [second],
        "abstained=false": [first],
        "session=other": [],
    }
    assert [hit["why"] for hit in told.json["hits"]] == [item["why"]]
    assert set(again.json) == {"then", "now", "changed"}
    assert (again.status, again.json["changed"]) == (200, [])


@pytest.mark.requirement("R-02")
async def test_what_cannot_be_meant_is_refused_by_its_code(database_url: str, tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"cue": " "},
        {"cue": "tea", "limit": 0},
        {"cue": "tea", "kinds": ["rumour"]},
        {"cue": "tea", "as_of": "2026-01-05T12:00:00"},
        {"cue": "tea", "include": ["merged"]},
        {"cue": "tea", "colour": "green"},
    ]
    async with deps(database_url, tmp_path) as at:
        refused = [await post(at, "recall", body) for body in wrong]
        flag = await at.ask("GET", "/admin/api/recalls?abstained=perhaps")
        unknown = await at.ask("GET", f"/admin/api/recalls/{uuid4()}")

    assert [(each.status, each.json["error"]["name"]) for each in refused] == [(422, "bad_input")] * 6
    assert flag.status == 422
    assert unknown.status == 404
