"""The line of a request in the log says why each note was chosen, and what there was no room for."""

import random
from typing import Any

import orjson
import pytest
from tests.proxy.contexts import request_context
from tests.proxy.memory_scene import Knowing, Today, history
from tests.proxy.protocols.wire import assistant, system, user
from tests.runtime.server import Hands

from festinger.ids import id_maker
from festinger.proxy.capture.recorder import NullExchangeRecorder, add_request_log_details, build_log_line
from festinger.proxy.context.build import ContextBuilder
from festinger.proxy.context.edit import LineUpdate
from festinger.proxy.pipeline import RequestPipeline
from festinger.proxy.request import RequestContext
from festinger.proxy.sessions.session import ProxySession
from festinger.services.block import ContextLine, NoteRef
from festinger.settings.tree import ProxySettings

PATH = "/v1/chat/completions"
BOTH = {"ramanujan": "server", "dobby": "agent"}


class Logging(NullExchangeRecorder):
    def record_session(self, ctx: RequestContext, session: ProxySession) -> None:
        add_request_log_details(ctx)


class Log:
    """A door's memory, asked for the log of each request."""

    def __init__(self, *, today: Today | None = None, **proxy: Any) -> None:
        self._hands = Hands()
        self._settings = ProxySettings(memory_deadline_ms=10_000, **proxy)
        ids = id_maker(self._hands.clock, random.Random(3))
        self._pipeline = RequestPipeline(
            clock=self._hands.clock,
            new_id=ids,
            settings=self._settings,
            context_builder=ContextBuilder(Knowing(words=BOTH), new_id=ids, restate=today or Today()),
            recorder=Logging(),
        )

    async def of(self, *messages: dict[str, Any]) -> dict[str, Any]:
        """What the log holds of a request with these messages."""
        ctx = request_context(PATH, orjson.dumps({"model": "m", "messages": messages}), settings=self._settings)
        await self._pipeline.process(ctx)
        return dict(build_log_line(ctx, at=self._hands.clock()).details)


def chosen(details: dict[str, Any]) -> list[tuple[str, str]]:
    return [(note["id"], note["why"]) for note in details["notes"]]


@pytest.mark.requirement("P-56")
async def test_a_note_was_chosen_because_the_request_named_it():
    details = await Log().of(user("open ramanujan"))

    assert chosen(details) == [("ramanujan [type] server", "named")]
    assert details["cut"] == []


@pytest.mark.requirement("P-56")
async def test_a_note_was_chosen_because_it_changed_since_it_was_shown():
    today = Today()
    log = Log(today=today)
    await log.of(*history("open ramanujan"))
    note = NoteRef(kind="edge", id="ramanujan [type] laptop", version=2)
    today.present["ramanujan"] = LineUpdate(line=ContextLine(text="ramanujan: [type] laptop", notes=(note,)))

    details = await log.of(*history("open ramanujan", "ask dobby"))

    assert chosen(details) == [("ramanujan [type] laptop", "changed"), ("dobby [type] agent", "named")]


@pytest.mark.requirement("P-56")
async def test_a_note_was_chosen_because_it_stood_in_the_system_text_before():
    log = Log(injection_position="system_end")
    first = [system("Be brief."), user("open ramanujan")]
    await log.of(*first)

    details = await log.of(*first, assistant("Done."), user("ask dobby"))

    assert chosen(details) == [("dobby [type] agent", "named"), ("ramanujan [type] server", "stood")]


@pytest.mark.requirement("P-56")
async def test_what_there_was_no_room_for_is_told():
    whole = await Log().of(user("ask dobby to open ramanujan"))
    short = await Log(recollection_max_tokens=whole["tokens"] - 1).of(user("ask dobby to open ramanujan"))
    none = await Log(recollection_max_tokens=0).of(user("ask dobby to open ramanujan"))

    assert [note["id"] for note in short["notes"]] == ["ramanujan [type] server"]
    assert [note["id"] for note in short["cut"]] == ["dobby [type] agent"]
    assert none["notes"] == []
    assert [note["id"] for note in none["cut"]] == ["ramanujan [type] server", "dobby [type] agent"]
