"""What the loop guard saw, on its page and as data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.deps import Desk, deps
from tests.web.pages.test_overview import HOSTILE, read
from tests.web.visitor import visitor

from festinger.events.catalogue import Event
from festinger.ids import MAIN_SPACE, EventId, SpaceId
from festinger.runtime.supervisor import LiveLoop
from festinger.store.repositories.auth import AccessRole, derive_csrf_token
from festinger.web.auth import TOKEN_FIELD
from festinger.web.pages.loops import NAMES, describe_loop_event, looping_sessions
from festinger.web.render import render_template

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)

DETECTED = {"session": "s1", "rule": "same_call", "level": 2, "count": 4, "key": "read_file", "did": "nudge"}
CUT = {"session": "s2", "rule": "period", "channel": "text", "chars": 480}
OPENED = {"session": "s1", "rule": "same_call", "count": 6, "by": "guard"}


async def happened(at: Desk, name: str, payload: dict[str, Any]) -> None:
    async with at.app.store.transaction() as transaction:
        await at.app.outbox.emit(
            transaction, name, space=MAIN_SPACE, subject=f"session:{payload['session']}", payload=payload
        )


@pytest.mark.requirement("P-76")
async def test_the_page_lists_what_repeats_now_and_what_was_done(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        await happened(at, "loop_detected", DETECTED)
        await happened(at, "loop_cut", CUT)
        person = await visitor(at)
        words = read((await person.get("/admin/loops")).text).words
        duplicate = (await person.get("/admin/loops.json")).json
        await happened(at, "loop_recovered", DETECTED | {"level": 0})
        after = (await person.get("/admin/loops.json")).json

    assert [each["session"] for each in duplicate["live"]] == ["s1"]
    assert [each["what"] for each in duplicate["events"]] == ["stream cut", "loop detected"]
    assert "the same call with the same result, 4 times; told it to stop repeating" in " ".join("".join(words).split())
    assert after["live"] == []


@dataclass
class Circles:
    """A door that sees one loop until somebody ends it."""

    live_now: bool = True
    by: str = ""

    def live(self, space: SpaceId) -> Sequence[LiveLoop]:
        seen = LiveLoop(
            session="s-1", agent="dobby", rule="same_call", level=4, count=6, what=("look <b>{}</b>",),
            is_stopped=True, at=MONDAY,
        )  # fmt: skip
        return [seen] if self.live_now and space == MAIN_SPACE else []

    def reset(self, space: SpaceId, session: str, *, by: str) -> bool:
        known = any(loop.session == session for loop in self.live(space))
        self.live_now, self.by = not known, by
        return known


async def test_a_reviewer_sees_what_repeats_and_closes_the_breaker(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        at.supervisor.loops = door = Circles()
        reviewer = await at.new_key(AccessRole.REVIEWER)
        seen = (await at.ask("GET", "/admin/api/loops")).json["live"]
        shown = (await (await visitor(at)).get("/admin/loops")).text
        agent = await at.ask("POST", "/admin/api/loops/s-1/reset", key=await at.new_key(AccessRole.AGENT))
        closed = await at.ask("POST", "/admin/api/loops/s-1/reset", key=reviewer)
        again = await at.ask("POST", "/admin/api/loops/s-1/reset", key=reviewer)
        door.live_now = True
        person = await visitor(at)
        pressed = await person.press(await person.get("/admin/loops"), "Let it go on")

    assert [(loop["session"], loop["what"], loop["is_stopped"]) for loop in seen] == [("s-1", ["look <b>{}</b>"], True)]
    assert "look &lt;b&gt;" in shown
    assert (agent.status, closed.status, again.status) == (403, 200, 404)
    assert closed.json == {"reset": "s-1"}
    assert (pressed.status, door.live_now, door.by) == (303, False, "person:ann")


async def test_a_loop_that_was_none_is_called_a_false_alarm_its_session_goes_on_and_it_can_be_undone(
    database_url: str, tmp_path: Path
):
    async with deps(database_url, tmp_path) as at:
        at.supervisor.loops = door = Circles()
        await happened(at, "loop_detected", DETECTED | {"session": "s-1"})
        await happened(at, "loop_recovered", DETECTED)
        person = await visitor(at)
        marked = await person.press(await person.get("/admin/loops"), "False alarm")
        after = await person.get(marked.headers["location"])
        counted = (await person.get("/admin/loops.json")).json
        await person.press(after, "Undo")
        undone = (await person.get("/admin/loops.json")).json
        unknown = await person.post(
            "/admin/loops/018f3a5e-7b21-7000-8000-000000000001/false-alarm",
            {TOKEN_FIELD: derive_csrf_token(person.cookie)},
        )

    assert (marked.status, door.by, door.live_now) == (303, "person:ann", False)
    assert "1 event called a false alarm" in after.text
    assert [each["false_alarm_by"] for each in counted["events"]] == [None, "person:ann"]
    assert (undone["false_alarms"], {each["false_alarm_by"] for each in undone["events"]}) == (0, {None})
    assert unknown.status == 404


def test_a_mere_notice_is_no_loop_that_goes_on():
    noticed = event("loop_detected", "s", 1)

    assert looping_sessions([replace(noticed, payload={**noticed.payload, "level": 0})]) == []


async def test_loops_come_in_pages(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        for count in range(3):
            await happened(at, "breaker_opened", OPENED | {"count": count})
        first = (await at.ask("GET", "/admin/api/loops?limit=2")).json
        second = (await at.ask("GET", f"/admin/api/loops?limit=2&cursor={first['next']}")).json

    assert [item["count"] for item in (*first["items"], *second["items"])] == [2, 1, 0]
    assert second["next"] is None


def event(name: str, session: str, seq: int) -> Event:
    payload = {
        "loop_cut": CUT, "breaker_opened": OPENED, "breaker_closed": OPENED,
    }.get(name, DETECTED) | {"session": session}  # fmt: skip
    return Event(
        id=EventId(UUID(int=seq)), seq=seq, name=name, version=1, space=MAIN_SPACE, subject="s", agent=None,
        session=None, trace=None, caused_by=None, payload=payload, at=MONDAY + timedelta(seconds=seq),
    )  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from("abc")), max_size=20))
def test_a_session_is_in_a_loop_if_the_last_heard_of_it_says_so(told: list[tuple[str, str]]):
    events = [event(name, session, seq) for seq, (name, session) in enumerate(told)]
    last = {session: name for name, session in told}

    found = {each["session"] for each in looping_sessions(reversed(events))}
    assert found == {session for session, name in last.items() if name in ("loop_detected", "breaker_opened")}


@pytest.mark.parametrize("name", NAMES)
def test_every_event_of_the_guard_has_words(name: str):
    assert describe_loop_event(event(name, "s", 1))["what"]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_names_of_sessions_and_tools_come_out_as_text(text: str):
    def html(text: str) -> str:
        row = {
            "id": text, "at": MONDAY, "name": "loop_detected", "what": text, "session": f"{text}s", "rule": text,
            "count": 2, "did": text, "by": text, "false_alarm_by": text,
        }  # fmt: skip
        frame = {"version": "1", "here": "/admin/loops", "person": "ann", "may_review": True, "form_token": ""}
        now = {**row, "session": text, "what": (text, text), "agent": text, "is_stopped": True}
        lists = {"live": [row], "now": [now], "events": [row]}
        shown = {**lists, "next": None, "false_alarms": 1, "marked": text, "said": text}
        return bytes(render_template("loops.html", {**frame, **shown}).body).decode()

    assert read(html(text)).seen == read(html("x")).seen
    assert read(html(text)).attributes == read(html("x")).attributes
