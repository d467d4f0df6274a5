"""How is a message about a proposal signed?"""

import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proposals.detectors.finding import event
from tests.proposals.verdicts.test_rules import proposal

from festinger.errors import BadSignature
from festinger.ids import Origin
from festinger.proposals.channels.webhook import (
    build_headers,
    build_message,
    build_signature_header,
    hash_url,
    verify_signature,
)
from festinger.proposals.deps import EffectPreview
from festinger.proposals.gate import InboxStatus, Ripeness, RipenessResult
from festinger.proposals.inbox import ProposalCard
from festinger.proposals.model import Proposal
from festinger.proposals.sightings.recount import sighting_of

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECRET = "a secret of both sides"
LOOK = EffectPreview(says="Makes a task for a person; nothing else changes.")


def card(of: Proposal, **more: Any) -> ProposalCard:
    seen = sighting_of(
        {
            "id": UUID(int=5),
            "proposal_id": of.id,
            "agent_id": "default",
            "session_id": "s1",
            "day": NOW.date(),
            "origin": Origin.TOOL.value,
            "producer": "reflection",
            "text": "Retry it\u202e now",
            "why": "",
            "how": "",
            "evidence": {"episodes": ["e-1"], "turns": ["t-1", "t-2"]},
            "reflection_id": None,
            "source_id": "x",
            "times": 4,
            "at": NOW,
            "last_at": NOW,
            "counted": True,
            "uncounted_because": None,
        }
    )
    given: dict[str, Any] = {
        "reading": RipenessResult(ripeness=Ripeness.RIPE, age_days=8, missing=""),
        "standing": InboxStatus.OPEN,
        "sightings": (seen,),
        "wordings": (),
        "pairs": (),
        "is_untrusted": True,
    }
    return ProposalCard(proposal=of, **given | more)


@pytest.mark.requirement("H-82")
def test_the_signature_is_the_hmac_of_time_and_body():
    moment = int(NOW.timestamp())
    mac = hmac.new(SECRET.encode(), f"{moment}.".encode() + b"{}", hashlib.sha256).hexdigest()

    assert build_signature_header(SECRET, b"{}", at=NOW) == f"t={moment},v1={mac}"


@pytest.mark.requirement("H-83")
@given(st.binary(max_size=200), st.integers(-300, 300))
def test_what_was_signed_within_the_time_is_believed(body: bytes, seconds: int):
    header = build_signature_header(SECRET, body, at=NOW + timedelta(seconds=seconds))

    verify_signature(header, SECRET, body, now=NOW, tolerance=300)
    with pytest.raises(BadSignature):
        verify_signature(header, SECRET, body + b" ", now=NOW, tolerance=300)


@pytest.mark.requirement("H-83")
@pytest.mark.parametrize(
    ("header", "body"),
    [
        (build_signature_header(SECRET, b"{}", at=NOW - timedelta(seconds=301)), b"{}"),
        (build_signature_header(SECRET, b"{}", at=NOW + timedelta(seconds=301)), b"{}"),
        (build_signature_header(SECRET, b"{}", at=NOW), b"{} "),
        (build_signature_header("another", b"{}", at=NOW), b"{}"),
        (build_signature_header(SECRET, b"{}", at=NOW).replace("t=1", "t=2"), b"{}"),
        (build_signature_header(SECRET, b"{}", at=NOW).partition(",")[0], b"{}"),
        ("", b"{}"),
    ],
    ids=["old", "early", "changed", "other secret", "other time", "no mac", "nothing"],
)
def test_what_is_old_changed_or_not_signed_is_refused(header: str, body: bytes):
    with pytest.raises(BadSignature):
        verify_signature(header, SECRET, body, now=NOW, tolerance=300)


@pytest.mark.requirement("H-82", "H-85")
def test_a_message_is_the_card_with_links_and_hidden_characters_shown():
    told = event("proposal_promoted", proposal=str(proposal().id))

    said = build_message(told, card(proposal(what="Retry\u202e it")), LOOK)

    assert said["event"] == "proposal_promoted"
    assert said["proposal"]["what"] == "Retry⟦U+202E⟧ it"
    assert said["proposal"]["seen_count"] == 2
    assert said["proposal"]["sightings"] == 2
    assert said["proposal"]["seen"][0]["origin"] == "tool"
    assert said["effect"]["says"] == LOOK.says
    assert said["links"]["verdict"] == "/admin/api/verdicts"
    named = build_headers(told, b"{}", secret=SECRET, at=NOW)
    assert (named["Festinger-Event"], named["Festinger-Delivery"]) == ("proposal_promoted", str(told.id))
    assert named["Festinger-Signature"] == build_signature_header(SECRET, b"{}", at=NOW)
    assert "Festinger-Signature" not in build_headers(told, b"{}", secret="", at=NOW)


def test_an_address_is_known_by_a_mark_that_does_not_show_it():
    assert hash_url("https://example.org/secret") != hash_url("https://example.org/other")
    assert "secret" not in hash_url("https://example.org/secret")
