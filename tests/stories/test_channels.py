"""Whatever door a person decides through, the same is left behind: one contract for every channel."""

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from tests.stories.verdicts import BEES, STORIES, UNTIL, WASPS, expected, left
from tests.web.asgi import ask
from tests.web.inbox import Inbox, inbox
from tests.web.visitor import Visitor, visitor

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Scope
from festinger.memory.edit import edit
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.proposals.channels.webhook import build_signature_header
from festinger.proposals.verdicts.reviewers import add_reviewer, deactivate_reviewer

SECRET = "a secret of both sides"

Decide = Callable[[str, str, Mapping[str, str]], Awaitable[object]]
"""`decide(proposal, verdict, words)`: say something of a proposal through a channel, whatever comes of it."""


async def played(at: Inbox, decide: Decide) -> None:
    """Every story once: five verdicts, something that changed under a person's eyes, and somebody who was sent away."""
    deps = at.deps.app.memory.deps
    learned = await learn(deps, Scope(space=MAIN_SPACE, agent=DEFAULT_AGENT), LearnRequest(text=BEES))
    assert learned.memory is not None
    payload = {"op": "archive", "ids": [str(learned.memory.id)]}
    ids = {}
    for story in STORIES:
        more = {"type": "memory_change", "payload": payload} if story == "stale" else {}
        ids[story] = (await at.proposed(f"Change for {story}", **more))["id"]
    await edit(deps, MAIN_SPACE, learned.memory.id, WASPS, by="Bob")
    await decide(ids["reject"], "reject", {"note": "We tried it."})
    await decide(ids["deepen"], "deepen", {})
    await decide(ids["duplicate"], "duplicate", {"of": ids["approve"]})
    await decide(ids["defer"], "defer", {"until": UNTIL})
    await decide(ids["approve"], "approve", {})
    await decide(ids["stale"], "approve", {})
    await deactivate_reviewer(at.deps.app.inbox.deps, MAIN_SPACE, "ann")
    await decide(ids["unverified"], "approve", {})


def through_console(at: Inbox, ann: Visitor) -> Decide:
    async def decide(proposal: str, verdict: str, words: Mapping[str, str]) -> None:
        await ann.get("/admin/inbox")
        page = await ann.get(f"/admin/inbox/{proposal}")
        button = {"approve": "Approve", "reject": "Reject", "deepen": "Deepen"}.get(verdict, verdict.title())
        await ann.press(page, button, **words)

    return decide


def through_api(at: Inbox) -> Decide:
    async def decide(proposal: str, verdict: str, words: Mapping[str, str]) -> None:
        given = dict(words) | ({"until": f"{UNTIL}T00:00:00Z"} if "until" in words else {})
        await at.decide({"id": proposal}, verdict, **given)

    return decide


def through_webhook(at: Inbox) -> Decide:
    async def decide(proposal: str, verdict: str, words: Mapping[str, str]) -> None:
        given = dict(words) | ({"until": f"{UNTIL}T00:00:00Z"} if "until" in words else {})
        message = {"proposal": proposal, "verdict": verdict, "author": "ann", "ref": proposal} | given
        body = json.dumps(message).encode()
        named = {"festinger-signature": build_signature_header(SECRET, body, at=at.hands.now)}
        await ask(at.deps.pages, "POST", "/admin/api/verdicts", body=body, headers=named)

    return decide


@pytest.mark.requirement("H-80")
@pytest.mark.parametrize("channel", ["console", "api", "webhook"])
async def test_every_channel_leaves_the_same(database_url: str, tmp_path: Path, channel: str):
    async with inbox(database_url, tmp_path, proposals__webhook__secret=SECRET) as at:
        await add_reviewer(at.deps.app.inbox.deps, MAIN_SPACE, "ann")
        if channel == "console":
            decide = through_console(at, await visitor(at.deps))
        else:
            decide = {"api": through_api, "webhook": through_webhook}[channel](at)

        await played(at, decide)

        found, channels = await left(at.deps.app.store)
        assert found == expected()
        assert channels == {channel}
