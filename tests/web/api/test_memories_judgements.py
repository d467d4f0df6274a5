"""What judges said, over HTTP; and that a person's answer is kept over theirs, and does what it says."""

from pathlib import Path
from typing import Any

import pytest
from tests.jobs.deps import rows
from tests.web.api.test_memories import LARGE, PATH, SMALL, key_of, learn, server
from tests.web.visitor import visitor

from festinger.store.repositories.auth import AccessRole

JUDGEMENTS = "/admin/api/judgements"
FIRST, SECOND = "The deploy script lives in the tools folder", "The deploy script lives near the tools folder"


async def asked(at: Any, *texts: str, **more: Any) -> dict[str, Any]:
    """A question of two statements that no judge was sure of."""
    for text in texts or (FIRST, SECOND):
        got = await learn(at, text, **more)
    assert got.json["action"] == "pending", got.text
    (question,) = (await at.ask("GET", f"{JUDGEMENTS}?final=false")).json["items"]
    return dict(question)


@pytest.mark.requirement("J-10", "M-105")
@pytest.mark.parametrize(
    ("said", "action", "status"),
    [
        ("same", "confirmed", "merged"),
        ("update", "superseded", "superseded"),
        ("contradicts", "conflicted", "active"),
        ("both", "stored", "active"),
    ],
    ids=["same", "update", "contradicts", "both"],
)
async def test_an_answer_is_carried_out_and_kept(
    said: str, action: str, status: str, database_url: str, tmp_path: Path
):
    async with server(database_url, tmp_path) as at:
        ann = {"key": await key_of(at, AccessRole.REVIEWER, name="ann")}
        question = await asked(at)
        done = await at.ask("POST", f"{JUDGEMENTS}/{question['id']}", body={"relation": said}, **ann)
        waiting = (await at.ask("GET", f"{JUDGEMENTS}?final=false")).json["items"]
        kept = (await at.ask("GET", f"{JUDGEMENTS}?final=true")).json["items"]
        seen = await rows(at.app.store, "select content, status, pending from memory order by seq")

    assert (done.status, done.json["action"]) == (200, action), done.text
    assert waiting == []
    assert [(each["judge"], each["confidence"]) for each in kept] == [("person:key:ann", 1.0)]
    assert not any(each["pending"] for each in seen)
    assert status in {each["status"] for each in seen}


@pytest.mark.requirement("J-02")
async def test_what_a_person_answered_is_not_asked_again(database_url: str, tmp_path: Path):
    async with server(database_url, tmp_path) as at:
        ann = {"key": await key_of(at, AccessRole.REVIEWER)}
        question = await asked(at)
        await at.ask("POST", f"{JUDGEMENTS}/{question['id']}", body={"relation": "both"}, **ann)
        second = question["new"]["id"]
        await at.ask("POST", f"{PATH}/{second}/archive", **ann)
        again = await learn(at, SECOND)

    assert again.json["action"] == "stored"
    assert not again.json["pending"]


@pytest.mark.requirement("J-10")
async def test_an_answer_that_does_not_fit_changes_nothing(database_url: str, tmp_path: Path):
    async with server(database_url, tmp_path) as at:
        ann = {"key": await key_of(at, AccessRole.REVIEWER)}
        question = await asked(at)
        path = f"{JUDGEMENTS}/{question['id']}"
        unknown = await at.ask("POST", path, body={"relation": "perhaps"}, **ann)
        nowhere = await at.ask(
            "POST", f"{JUDGEMENTS}/018f3a5e-7b21-7000-8000-000000000001", body={"relation": "both"}, **ann
        )
        await learn(at, SMALL)
        await learn(at, LARGE)
        (replaced,) = (await at.ask("GET", f"{JUDGEMENTS}?final=true")).json["items"]
        stale = await at.ask("POST", f"{JUDGEMENTS}/{replaced['id']}", body={"relation": "both"}, **ann)
        await at.ask("POST", f"{PATH}/{question['old']['id']}/archive", **ann)
        gone = await at.ask("POST", path, body={"relation": "update"}, **ann)

    assert [each.status for each in (unknown, nowhere, stale, gone)] == [422, 404, 412, 404]


@pytest.mark.requirement("M-108")
async def test_an_agent_sees_no_judgement_of_anothers_own(database_url: str, tmp_path: Path):
    async with server(database_url, tmp_path) as at:
        ours, theirs = [await key_of(at, AccessRole.AGENT, agent=name) for name in ("a", "b")]
        await asked(at, key=ours)
        seen = [len((await at.ask("GET", JUDGEMENTS, key=key)).json["items"]) for key in (ours, theirs)]

    assert seen == [1, 0]


@pytest.mark.requirement("J-10")
async def test_a_question_stands_beside_the_conflicts_and_is_answered_there(database_url: str, tmp_path: Path):
    async with server(database_url, tmp_path, judge__max_tries=1) as at:
        await asked(at)
        person = await visitor(at)
        page = await person.get("/admin/conflicts")
        pressed = await person.press(page, "Both hold")
        after = await person.get("/admin/conflicts")

    assert FIRST in page.text
    assert pressed.status == 303
    assert "Questions" not in after.text


@pytest.mark.requirement("M-47", "W-81")
@pytest.mark.parametrize(
    ("label", "typed", "left"),
    [
        ("Keep what stands", {}, {"retry failed uploads"}),
        ("Take the new one", {}, {"do not retry failed uploads"}),
        ("Let both stand", {}, {"retry failed uploads", "do not retry failed uploads"}),
        ("Keep neither", {}, set()),
        (
            "Say it more clearly",
            {"old_text": "Retry small uploads", "new_text": "Large uploads are not retried"},
            {"Retry small uploads", "Large uploads are not retried"},
        ),
    ],
    ids=["dismiss", "update", "both", "neither", "split"],
)
async def test_a_conflict_of_memories_is_decided_on_the_page_and_undone(
    label: str, typed: dict[str, str], left: set[str], database_url: str, tmp_path: Path
):
    async with server(database_url, tmp_path) as at:
        await learn(at, "retry failed uploads")
        conflict = (await learn(at, "do not retry failed uploads")).json["conflict"]
        person = await visitor(at)
        page = await person.get("/admin/conflicts")
        pressed = await person.press(page, label, **typed)
        stand = await rows(at.app.store, "select content from memory where status = 'active'")
        await person.press(await person.get(pressed.headers["location"]), "Undo")
        again = (await at.ask("GET", f"/admin/api/conflicts/{conflict}")).json
        keyless = (await at.ask("GET", f"/conflicts/{conflict}", key=None)).json

    assert "do not retry failed uploads" in page.text
    assert {each["content"] for each in stand} == left
    assert (again["status"], again["existing"]["content"]) == ("pending", "retry failed uploads")
    assert (keyless["existing"]["content"], keyless["incoming"]["content"]) == (None, None)
