"""Turns that a model could not read at once are read when it can be asked again."""

from pathlib import Path
from typing import Any

import pytest
from tests.jobs.deps import drain, drain_all, rows
from tests.memory.extract.test_turns import reading
from tests.memory.remembering import texts
from tests.proxy.capture.test_queue import capture
from tests.proxy.store_recorder import recording
from tests.runtime.server import opened

from festinger.errors import Overloaded
from festinger.llm.providers.scripted import FailStep, build_scripted_model
from festinger.runtime.app import App

WAITING = """select args->'turn' as turns, args->'hours' as hours, scheduled_at > now() as later
from procrastinate_jobs where task_name = 'read_turn' and status = 'todo'"""


async def test_turns_beyond_the_limit_of_calls_wait_and_are_read_later(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    limit = FailStep(error=Overloaded("The limit of 1 model call an hour is reached."))
    model, _ = build_scripted_model(
        reading(("I live in Oslo", [])), limit, reading(("I work for the harbor office", []))
    )

    async def configured(*_asked: Any) -> object:
        return model

    monkeypatch.setattr(App, "model", configured)
    monkeypatch.setattr(App, "has_model", lambda *_asked: True)
    async with opened(database_url, tmp_path) as app, recording(app, tmp_path) as at:
        at.writer.put(capture(1, "My home is Oslo, I live there."))
        at.writer.put(capture(2, "The harbor office is who I work for."))
        await at.kept()
        await drain(app.jobs)
        [waits] = await rows(app.store, WAITING)
        before = await texts(app.store)
        await drain_all(app.jobs)
        after = await texts(app.store)

    assert (len(waits["turns"]), waits["hours"], waits["later"]) == (1, 1, True)
    assert "I work for the harbor office" not in before
    assert "I work for the harbor office" in after
