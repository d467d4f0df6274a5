"""How is a message about a proposal signed, and what does it say?

A secret that both sides know signs the time and the body together, so that a message can neither be changed nor sent
again much later. What goes out is the card of a proposal as JSON, with where to look and where to answer. Pure: sending
is `app.webhook`'s matter, and so is what comes in.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.errors import BadSignature
from festinger.events.event import Event
from festinger.proposals.inbox import ProposalCard
from festinger.proposals.verdicts.effects import EffectPreview

SIGNATURE = "Festinger-Signature"
EVENT = "Festinger-Event"
DELIVERY = "Festinger-Delivery"

TOLD = ("proposal_promoted", "proposal_decided", "proposal_applied", "proposal_undone")
"""The events of which others are told."""

PAGE = "/admin/inbox/{}"
CARD = "/admin/api/proposals/{}"
ANSWER = "/admin/api/verdicts"

_HEADER = re.compile(r"t=(\d{1,12}),v1=([0-9a-f]{64})")


def sign_body(secret: str, body: bytes, *, at: datetime) -> str:
    """The header that says when a body was signed, and that somebody with the secret did it."""
    moment = int(at.timestamp())
    return f"t={moment},v1={_compute_mac(secret, body, moment=moment)}"


def verify_signature(header: str, secret: str, body: bytes, *, now: datetime, tolerance: int) -> None:
    """Refuse a message that was not signed with the secret, or not lately: `BadSignature`."""
    found = _HEADER.fullmatch(header.replace(" ", ""))
    if found is None:
        raise BadSignature("The message is not signed.", hint=f"Send the header `{SIGNATURE}: t=…,v1=…`.")
    moment = int(found[1])
    if not hmac.compare_digest(_compute_mac(secret, body, moment=moment), found[2]):
        raise BadSignature
    if abs(now.timestamp() - moment) > tolerance:
        raise BadSignature(f"The message was not signed within {tolerance} seconds of now.")


def build_message(event: Event, card: ProposalCard, look: EffectPreview) -> dict[str, Any]:
    """What others are told of an event, with the card as it is now and what an approval would do."""
    proposal = card.proposal.id
    return {
        "event": event.name,
        "delivery": str(event.id),
        "at": iso(event.at),
        "space": event.space,
        "told": dict(event.payload),
        "proposal": card.as_json(),
        "effect": {"says": look.says, "gone": list(look.gone)},
        "links": {"page": PAGE.format(proposal), "card": CARD.format(proposal), "verdict": ANSWER},
    }


def build_headers(event: Event, body: bytes, *, secret: str, at: datetime) -> Mapping[str, str]:
    """What goes with a message; without a secret it is not signed."""
    plain = {"Content-Type": "application/json", EVENT: event.name, DELIVERY: str(event.id)}
    return plain | {SIGNATURE: sign_body(secret, body, at=at)} if secret else plain


def hash_url(url: str) -> str:
    """By what an address is known in a job: the address itself may hold a secret."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def proposal_id_from_event(event: Event) -> UUID:
    return UUID(event.payload["proposal"])


def _compute_mac(secret: str, body: bytes, *, moment: int) -> str:
    return hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
