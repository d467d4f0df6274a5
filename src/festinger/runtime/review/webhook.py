"""Sends proposal events to webhooks, and accepts signed verdicts from them.

Each configured address is notified by a durable job when a proposal is promoted, decided, applied or undone,
so that one that is down gets it later and delays nobody else. A verdict comes in signed with the same secret,
names its author, and is decided like any other; the same message again is the same verdict.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

import orjson

from festinger.errors import BadSignature, NotFound
from festinger.events.catalogue import Event
from festinger.events.outbox import find_event
from festinger.ids import SpaceId
from festinger.jobs.model import JobRun, Queue
from festinger.llm.http import post_webhook
from festinger.proposals.channels.webhook import (
    TOLD,
    build_headers,
    build_message,
    hash_url,
    proposal_id_from_event,
    verify_signature,
)
from festinger.proposals.inbox import load_card, resolve_proposal_id
from festinger.proposals.model import (
    Author,
    DecideResult,
    IdentityProof,
    ReviewChannel,
    VerdictInput,
    parse_verdict_kind,
)
from festinger.proposals.verdicts.decide import decide
from festinger.proposals.verdicts.propose import preview_effect
from festinger.store.pool import Transaction

if TYPE_CHECKING:
    from festinger.runtime.app import App

POST_NEWS = "post_proposal_news"
TELL_OTHERS = "tell_others_of_proposals"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookVerdict:
    """A verdict in a signed message."""

    proposal: str
    verdict: str
    author: str
    ref: str
    note: str = ""
    of: str = ""
    until: datetime | None = None
    seen: tuple[str, ...] = ()


def register_webhook_jobs(app: "App") -> None:
    """Register the subscriber and its job."""

    def is_wanted(_event: Event) -> bool:
        return bool(app.settings.now.proposals.webhook.urls)

    async def tell_others(transaction: Transaction, event: Event) -> None:
        for url in app.settings.now.proposals.webhook.urls:
            to = hash_url(url)
            await app.jobs.defer(
                transaction,
                POST_NEWS,
                lock=f"{POST_NEWS}:{to}:{event.subject}",
                space=event.space,
                event=str(event.id),
                to=to,
            )

    async def post_news(_run: JobRun, *, space: str, event: str, to: str) -> None:
        await send_webhook_event(app, SpaceId(space), UUID(event), to=to)

    for name in TOLD:
        app.outbox.subscribe(name, TELL_OTHERS, tell_others, queue=Queue.SEND, wants=is_wanted)
    app.jobs.register(POST_NEWS, post_news, queue=Queue.SEND)


async def send_webhook_event(app: "App", space: SpaceId, event: UUID, *, to: str) -> bool:
    """Send an event to one address; false if the address is no longer set or its subject is gone."""
    terms = app.settings.now.proposals.webhook
    url = next((each for each in terms.urls if hash_url(each) == to), None)
    told = await find_event(app.store, space, event)
    if url is None or told is None:
        return False
    try:
        card = await load_card(app.inbox.deps, space, proposal_id_from_event(told))
        look = await preview_effect(app.deciding.office, space, card.proposal)
    except NotFound:
        return False
    body = orjson.dumps(build_message(told, card, look))
    secret = terms.secret.get_secret_value() if terms.secret else ""
    given = build_headers(told, body, secret=secret, at=app.tools.clock())
    await post_webhook(url, body, headers=given, offline=app.settings.now.offline)
    return True


def check_signature(app: "App", header: str, body: bytes) -> None:
    """Verify the signature of a message. Raises `BadSignature`, always if no secret is set."""
    terms = app.settings.now.proposals.webhook
    if terms.secret is None:
        raise BadSignature("Nobody can sign here.", hint="Set `proposals.webhook.secret` to take signed verdicts.")
    secret = terms.secret.get_secret_value()
    verify_signature(header, secret, body, now=app.tools.clock(), tolerance=terms.tolerance_seconds)


async def apply_webhook_verdict(app: "App", space: SpaceId, heard: WebhookVerdict, *, body: bytes) -> DecideResult:
    """Decide what a signed message says. Raises `Replayed` for a known `ref` with another body."""
    proposal = await resolve_proposal_id(app.inbox.deps, space, heard.proposal)
    said = VerdictInput(
        proposal=proposal,
        kind=parse_verdict_kind(heard.verdict),
        author=Author(name=heard.author, proof=IdentityProof.WEBHOOK),
        channel=ReviewChannel.WEBHOOK,
        ref=heard.ref,
        note=heard.note,
        of=await resolve_proposal_id(app.inbox.deps, space, heard.of) if heard.of else None,
        until=heard.until,
        seen=tuple([await resolve_proposal_id(app.inbox.deps, space, each) for each in heard.seen]),
        digest=hashlib.sha256(body).hexdigest(),
    )
    return await decide(app.deciding.office, space, said)
