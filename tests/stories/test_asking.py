"""What fails day after day is put before a person, who decides; nobody needs a model for it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.deps import drain, rows, run_sql
from tests.runtime.effects.approving import ADA
from tests.runtime.server import told
from tests.stories.model import REPLY, ToolCall, Turn
from tests.stories.stage import Stage, stage

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Origin, SessionId, cause
from festinger.proposals.inbox import ProposalQuery, list_proposals
from festinger.proposals.model import Proposal, ProposalState, ReviewChannel, VerdictInput, VerdictKind
from festinger.proposals.pairs import PROMOTE
from festinger.proposals.sightings.intake import record_sighting
from festinger.proposals.sightings.recount import REFLECTION, Suggestion
from festinger.proposals.sightings.similarity import OFF, describe_comparison_state
from festinger.proposals.verdicts.apply import undo_approval
from festinger.proposals.verdicts.decide import decide
from festinger.proposals.verdicts.tasks import TaskState, list_tasks
from festinger.runtime.memory import CLOSE_IDLE
from festinger.runtime.settings import change_setting

DAY = timedelta(days=1)
SEARCH, FETCH = "Handle TimeoutError of search", "Handle HTTP 503 of fetch"
FAILS = {"search": "TimeoutError: no answer after {} seconds", "fetch": "HTTP 503 Service Unavailable (request {})"}


async def troubled(at: Stage, session: str, *tools: str) -> None:
    """A conversation in which each of some tools fails three times, and then it is silent until it is over."""
    talk: list[dict[str, Any]] = [{"role": "user", "content": "Please look up the harbour hours."}]
    for number in range(3):
        for tool in tools:
            asked = {"query": f"harbour {tool} {number}"}
            at.model.says(Turn(text="", call=ToolCall(name=tool, arguments=asked)))
            await at.post("/api/chat", _body(talk), X_Session_ID=session)
            at.hands.forward(timedelta(minutes=1))
            call = {"function": {"name": tool, "arguments": asked}}
            talk += [
                {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "content": FAILS[tool].format(30 + number)},
            ]
    at.model.says("I could not find them.")
    await at.post("/api/chat", _body(talk), X_Session_ID=session)
    await at.kept()
    await _ended(at, session)


def _body(talk: list[dict[str, Any]]) -> dict[str, Any]:
    return {"model": "m", "messages": talk, "stream": False}


async def _ended(at: Stage, session: str) -> None:
    """Let the episode of a session end by silence, and whoever listens hear of it."""
    await drain(at.app.jobs)
    at.hands.forward(timedelta(hours=2))
    await at.app.jobs.run_now(CLOSE_IDLE)
    await drain(at.app.jobs)
    assert session in {event.session for event in await told(at.app, "episode_closed")}


async def gate_opens(at: Stage) -> None:
    """Run the gate as its schedule does."""
    await at.app.jobs.run_now(PROMOTE)
    await drain(at.app.jobs)


async def proposal(at: Stage, what: str) -> Proposal:
    (found,) = [
        each for each in await list_proposals(at.app.inbox.deps, MAIN_SPACE, ProposalQuery()) if each.what == what
    ]
    return found


async def decided(at: Stage, of: Proposal, kind: VerdictKind, **more: Any) -> None:
    """Say something of a proposal, once."""
    said = VerdictInput(proposal=of.id, kind=kind, author=ADA, channel=ReviewChannel.API, ref=f"{of.id} {kind}", **more)
    await decide(at.app.deciding.office, MAIN_SPACE, said)


@pytest.mark.requirement("H-77")
async def test_a_tool_that_fails_on_three_days_ends_up_before_a_person_who_decides_and_takes_it_back(
    database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path) as at:
        for day in range(3):
            await troubled(at, f"day-{day}", "search", "fetch")
            at.hands.forward(DAY)
        await gate_opens(at)
        young = await proposal(at, SEARCH)
        assert (young.seen_count, young.days_seen, young.state) == (3, 3, ProposalState.WAITING)
        assert (young.producer, young.scope) == ("detector:tool_failure", "search")

        at.hands.forward(5 * DAY)
        await gate_opens(at)
        search, fetch = await proposal(at, SEARCH), await proposal(at, FETCH)
        assert (search.state, fetch.state) == (ProposalState.PROMOTED, ProposalState.PROMOTED)
        assert describe_comparison_state(at.app.inbox.deps, MAIN_SPACE) == OFF
        await decided(at, search, VerdictKind.APPROVE)
        await decided(at, fetch, VerdictKind.DEEPEN)
        fetch = await proposal(at, FETCH)
        (thought,) = fetch.payload["thoughts"]
        assert (fetch.state, thought["note"]) == (ProposalState.PROMOTED, "no model: evidence only")
        await decided(at, fetch, VerdictKind.REJECT, note="It is being rebuilt.")

        (task,) = await list_tasks(at.app.deciding.office.deps, MAIN_SPACE)
        assert task.title == SEARCH
        assert (await proposal(at, SEARCH)).state is ProposalState.APPLIED
        await undo_approval(at.app.deciding.office, MAIN_SPACE, search.id, author=ADA)
        (task,) = await list_tasks(at.app.deciding.office.deps, MAIN_SPACE, state=None)
        assert task.state is TaskState.DROPPED
        assert (await proposal(at, SEARCH)).state is ProposalState.UNDONE

        for number in range(2):
            at.hands.forward(DAY)
            await troubled(at, f"later-{number}", "fetch")
        at.hands.forward(20 * DAY)
        await gate_opens(at)
        silent = await proposal(at, FETCH)
        assert (silent.state, silent.seen_count) == (ProposalState.REJECTED, 3)
        assert len(await told(at.app, "proposal_suppressed")) == 2
        at.hands.forward(10 * DAY)
        await troubled(at, "much-later", "fetch")
        again = await proposal(at, FETCH)
        assert (again.state, again.seen_count) == (ProposalState.WAITING, 1)


@pytest.mark.requirement("H-94")
async def test_a_fault_in_the_room_of_proposals_leaves_every_conversation_as_it_was(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        await run_sql(at.app.store, "alter table proposal_sighting rename to gone")
        await troubled(at, "one", "search")
        after = await at.post("/api/chat", _body([{"role": "user", "content": "Hello again."}]))

        assert (after.status, after.body["message"]["content"]) == (200, REPLY)
        assert after.memory != "off"
        failed = await rows(
            at.app.store, "select subscriber, state from event_delivery where subscriber = 'detect_tool_failure'"
        )
        assert [row["state"] for row in failed] == ["waiting"]


@pytest.mark.requirement("H-78")
async def test_an_agent_reads_what_was_observed_again_and_again_only_where_a_person_lets_it(
    database_url: str, tmp_path: Path
):
    async with stage(database_url, tmp_path) as at:
        for number in range(2):
            said = Suggestion(
                category="reliability",
                scope="tools",
                what=SEARCH,
                producer=REFLECTION,
                source=f"call-{number}",
                cause=cause(agent=DEFAULT_AGENT, session=SessionId(f"s{number}"), origin=Origin.MODEL, at=at.hands.now),
                at=at.hands.now,
            )
            seen = await record_sighting(at.app.inbox.deps, MAIN_SPACE, said)
        talk: list[dict[str, Any]] = [{"role": "user", "content": "When does the harbour open?"}]
        await at.post("/api/chat", _body(talk), X_Session_ID="off")
        silent = at.model.heard[-1].prompt
        await change_setting(at.app, "proposals.surface", "true", by="ada")
        await at.post("/api/chat", _body(talk), X_Session_ID="on")
        told_now = at.model.heard[-1].prompt
        talk += [{"role": "assistant", "content": REPLY}, {"role": "user", "content": "And when does it close?"}]
        await at.post("/api/chat", _body(talk), X_Session_ID="on")
        await at.kept()

        line = f"- Past observation, not a directive: {SEARCH}"
        assert (line in silent, told_now.count(line)) == (False, 1)
        assert at.model.heard[-1].prompt.count(line) == 1
        blocks = await rows(at.app.store, "select notes from injection")
        assert [each["notes"][0][0][:2] for each in blocks] == [["proposal", str(seen.proposal)]]
