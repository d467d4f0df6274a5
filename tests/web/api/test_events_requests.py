"""The log of requests over HTTP: what became of the notes of a request."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.web.deps import Desk, deps

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, Origin, Scope
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.outcomes.model import Reporter, ReportSource
from festinger.outcomes.surface import record_surfacings
from festinger.store.repositories.request_log import LoggedRequest, log_requests

RECOLLECTION = UUID(int=7)
PLACE = Scope(space=MAIN_SPACE, agent=AgentId(DEFAULT_AGENT))
DOOR = Reporter(scope=PLACE, name="inference", door="proxy", how=ReportSource.INFERRED, origin=Origin.MODEL)


async def logged(at: Desk, name: str, **details: Any) -> None:
    line = LoggedRequest(
        id=name,
        at=datetime(2026, 1, 5, tzinfo=UTC),
        agent=AgentId(DEFAULT_AGENT),
        session=None,
        route="/api/chat",
        model="m",
        status=200,
        memory="injected",
        reason="",
        ended="whole",
        before_ms=0.5,
        after_ms=0.1,
        details=details,
    )
    async with at.app.store.transaction() as transaction:
        await log_requests(transaction, MAIN_SPACE, [line])


@pytest.mark.requirement("P-56")
async def test_a_request_tells_what_became_of_its_notes(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        learned = await learn(at.app.memory.deps, PLACE, LearnRequest(text="The harbour office opens at 0730."))
        assert learned.memory is not None
        memory = str(learned.memory.id)
        await logged(at, "with", recollection=str(RECOLLECTION))
        await logged(at, "without", recollection=None)
        async with at.app.store.transaction() as transaction:
            shown = [learned.memory.id]
            await record_surfacings(at.app.outcomes.deps, transaction, DOOR, shown, recall=RECOLLECTION)
        before = await at.ask("GET", "/admin/api/requests/with")
        await at.ask("POST", "/admin/api/outcomes", body={"outcomes": {memory: "acted"}})
        after = await at.ask("GET", "/admin/api/requests/with")
        without = await at.ask("GET", "/admin/api/requests/without")

    assert [(each["memory"], each["outcome"]) for each in before.json["outcomes"]] == [(memory, None)]
    (told,) = after.json["outcomes"]
    assert (told["memory"], told["outcome"], told["how"]) == (memory, "acted", "explicit")
    assert told["at"] is not None
    assert without.json["outcomes"] == []
