"""Who else is told of proposals, and whose signed answer is heard?"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.jobs.deps import drain
from tests.runtime.effects.approving import ADA, Approving, approving
from tests.web.asgi import Got, ask
from tests.web.deps import kept

from festinger.ids import MAIN_SPACE
from festinger.proposals.channels.webhook import build_signature_header, verify_signature
from festinger.proposals.inbox import load_card
from festinger.proposals.model import Proposal, ProposalType, VerdictKind
from festinger.proposals.verdicts.reviewers import add_reviewer
from festinger.web.app import build_admin_app

SECRET = "a secret of both sides"


@dataclass
class Listener:
    """Somebody who is told, and says what the test wants."""

    url: str = ""
    status: int = 200
    heard: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.heard.append((dict(request.headers), await request.read()))
        return web.Response(status=self.status, headers={"Location": self.url} if self.status == 302 else {})


@asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    listener = Listener()
    served = web.Application()
    served.router.add_post("/news", listener.answer)
    runner = web.AppRunner(served)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    listener.url = f"http://127.0.0.1:{runner.addresses[0][1]}/news"
    try:
        yield listener
    finally:
        await runner.cleanup()


@asynccontextmanager
async def told(url: str, folder: Path, *listeners: Listener) -> AsyncIterator[Approving]:
    urls = ",".join(each.url for each in listeners)
    flags: dict[str, Any] = {"proposals__webhook__urls": urls, "proposals__webhook__secret": SECRET}
    async with approving(url, folder, **flags) as at:
        yield at


@pytest.mark.requirement("H-82")
async def test_every_address_is_told_what_happens_to_a_proposal_in_signed_messages(database_url: str, tmp_path: Path):
    async with listening() as one, listening() as other, told(database_url, tmp_path, one, other) as at:
        done = await at.approve(ProposalType.ADVICE, {})
        await at.undo(done)
        await drain(at.app.jobs)

        names = ["proposal_promoted", "proposal_decided", "proposal_applied", "proposal_undone"]
        for listener in (one, other):
            assert sorted(named["Festinger-Event"] for named, _ in listener.heard) == sorted(names)
        for named, body in one.heard:
            verify_signature(named["Festinger-Signature"], SECRET, body, now=at.hands.now, tolerance=0)
            assert json.loads(body)["proposal"]["id"] == str(done.proposal.id)
            assert json.loads(body)["delivery"] == named["Festinger-Delivery"]
        assert len({named["Festinger-Delivery"] for named, _ in one.heard}) == 4


@pytest.mark.requirement("H-82")
@pytest.mark.parametrize(("status", "left"), [(503, "todo"), (302, "failed"), (404, "failed")])
async def test_an_address_that_is_away_is_told_later_and_one_that_sends_us_elsewhere_is_not_followed(
    database_url: str, tmp_path: Path, status: int, left: str
):
    async with listening() as listener, told(database_url, tmp_path, listener) as at:
        listener.status = status
        await at.propose(ProposalType.ADVICE, {})
        await drain(at.app.jobs)

        assert len(listener.heard) == 1
        rows = await at.rows("select status::text from procrastinate_jobs where task_name = 'post_proposal_news'")
        assert [row["status"] for row in rows] == [left]


def answered(proposal: Proposal, verdict: str = "reject", **more: Any) -> dict[str, Any]:
    """A message as the other side writes it."""
    given = {"proposal": str(proposal.id), "verdict": verdict, "author": "Eve", "ref": "m-1"}
    return given | more


async def sent(at: Approving, message: dict[str, Any], *, secret: str = SECRET, header: str = "") -> Got:
    body = json.dumps(message).encode()
    named = {"festinger-signature": header or build_signature_header(secret, body, at=at.hands.now)}
    pages = build_admin_app(kept(at.app))
    return await ask(pages, "POST", "/admin/api/verdicts", body=body, headers=named)


@pytest.mark.requirement("H-83", "H-48")
async def test_a_signed_verdict_of_a_known_author_is_taken_once(database_url: str, tmp_path: Path):
    async with told(database_url, tmp_path) as at:
        await add_reviewer(at.app.inbox.deps, MAIN_SPACE, "Eve")
        proposal = await at.propose(ProposalType.ADVICE, {})
        message = answered(proposal, note="It is fixed.")

        first = await sent(at, message)
        again = await sent(at, message)
        other = await sent(at, message | {"note": "No, really."})

        assert (first.status, first.json["state"]) == (200, "rejected")
        assert (again.status, again.json) == (200, first.json)
        assert (other.status, other.json["error"]["name"]) == (409, "replayed")
        (row,) = await at.rows("select author, channel, channel_ref, note from verdict")
        assert row == {"author": "Eve", "channel": "webhook", "channel_ref": "m-1", "note": "It is fixed."}


@pytest.mark.requirement("H-83", "H-47")
async def test_whoever_cannot_sign_or_is_not_known_decides_nothing(database_url: str, tmp_path: Path):
    async with told(database_url, tmp_path) as at:
        proposal = await at.propose(ProposalType.ADVICE, {})
        message = answered(proposal)

        wrong = await sent(at, message, secret="guessed")
        old = build_signature_header(SECRET, json.dumps(message).encode(), at=at.hands.now.replace(hour=11))
        late = await sent(at, message, header=old)
        unknown = await sent(at, message)

        assert [(got.status, got.json["error"]["name"]) for got in (wrong, late)] == [(401, "bad_signature")] * 2
        assert unknown.status == 403
        (row,) = await at.rows("select author, verified, result from verdict")
        assert row == {"author": "Eve", "verified": False, "result": "unverified"}
        assert (await load_card(at.app.inbox.deps, MAIN_SPACE, proposal.id)).proposal.state == "promoted"


@pytest.mark.requirement("H-83")
async def test_without_a_secret_nothing_is_taken_and_a_body_that_does_not_fit_is_said(
    database_url: str, tmp_path: Path
):
    async with approving(database_url, tmp_path) as at:
        proposal = await at.propose(ProposalType.ADVICE, {})
        assert (await sent(at, answered(proposal))).status == 401
        assert (await at.decide(proposal, VerdictKind.DEFER)).verdict.author == ADA.name
    async with approving(database_url, tmp_path, seed=2, proposals__webhook__secret=SECRET) as at:
        assert (await sent(at, answered(proposal, verdict="reject", by="me"))).status == 422
        assert (await sent(at, answered(proposal, verdict="maybe"))).status == 422


@pytest.mark.requirement("H-21")
async def test_a_signed_yes_to_one_of_two_opposites_names_the_other(database_url: str, tmp_path: Path):
    async with told(database_url, tmp_path) as at:
        await add_reviewer(at.app.inbox.deps, MAIN_SPACE, "Eve")
        one = await at.propose(ProposalType.ADVICE, {}, what="Retry the failed query")
        other = await at.propose(ProposalType.ADVICE, {}, what="Fail at once")
        await at.oppose(one, other)

        blind = await sent(at, answered(one, "approve"))
        seen = await sent(at, answered(one, "approve", ref="m-2", seen=[str(other.id)]))

        assert (blind.status, blind.json["error"]["name"]) == (409, "unseen")
        assert (seen.status, seen.json["state"]) == (200, "applied")
