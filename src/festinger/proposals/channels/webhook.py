"""Builds and signs webhook messages about proposals.

A shared secret signs the timestamp and the body together, so that a message can be neither altered nor
replayed much later. The body is the proposal card as JSON, with links to the page and to where to answer.
Pure: `runtime.review.webhook` sends and receives.
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
from festinger.events.catalogue import Event
from festinger.proposals.deps import EffectPreview
from festinger.proposals.inbox import ProposalCard

SIGNATURE = "Festinger-Signature"
EVENT = "Festinger-Event"
DELIVERY = "Festinger-Delivery"

TOLD = ("proposal_promoted", "proposal_decided", "proposal_applied", "proposal_undone")
"""The events that are delivered."""

PAGE = "/admin/inbox/{}"
CARD = "/admin/api/proposals/{}"
ANSWER = "/admin/api/verdicts"

_HEADER = re.compile(r"t=(\d{1,12}),v1=([0-9a-f]{64})")


def build_signature_header(secret: str, body: bytes, *, at: datetime) -> str:
    """Return the signature header: when the body was signed, and proof of the secret."""
    moment = int(at.timestamp())
    return f"t={moment},v1={_compute_mac(secret, body, moment=moment)}"


def verify_signature(header: str, secret: str, body: bytes, *, now: datetime, tolerance: int) -> None:
    """Raise `BadSignature` unless the message was signed with the secret and recently."""
    found = _HEADER.fullmatch(header.replace(" ", ""))
    if found is None:
        raise BadSignature("The message is not signed.", hint=f"Send the header `{SIGNATURE}: t=…,v1=…`.")
    moment = int(found[1])
    if not hmac.compare_digest(_compute_mac(secret, body, moment=moment), found[2]):
        raise BadSignature
    if abs(now.timestamp() - moment) > tolerance:
        raise BadSignature(f"The message was not signed within {tolerance} seconds of now.")


def build_message(event: Event, card: ProposalCard, look: EffectPreview) -> dict[str, Any]:
    """Build the message for an event, with the present card and what an approval would do."""
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
    """Return the headers of a message; without a secret it is not signed."""
    plain = {"Content-Type": "application/json", EVENT: event.name, DELIVERY: str(event.id)}
    return plain | {SIGNATURE: build_signature_header(secret, body, at=at)} if secret else plain


def hash_url(url: str) -> str:
    """Return a hash that identifies a URL in a job: the URL itself may contain a secret."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def proposal_id_from_event(event: Event) -> UUID:
    return UUID(event.payload["proposal"])


def _compute_mac(secret: str, body: bytes, *, moment: int) -> str:
    return hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
