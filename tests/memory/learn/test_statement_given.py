"""What may be handed in, and what is left of it to learn."""

from datetime import datetime
from typing import Any

import pytest
from tests.conftest import MONDAY

from festinger.errors import BadInput, TooLarge
from festinger.ids import Origin
from festinger.memory.learn.statement import (
    LONGEST,
    LearnRequest,
    normalize_learn_request,
    strip_blocks_and_secrets,
    subject_key,
)
from festinger.memory.model import CLAIMS, Kind, comparable_kinds, parse_kind
from festinger.text.blocks import BlockMarker, strip_blocks


@pytest.mark.requirement("M-35")
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"text": ""}, BadInput),
        ({"text": " \n\t"}, BadInput),
        ({"text": 7}, BadInput),
        ({"text": "a" * (LONGEST + 1)}, TooLarge),
        ({"text": "a\x00b"}, BadInput),
        ({"text": "half \ud800"}, BadInput),
        ({"kind": "rumour"}, BadInput),
        ({"source_confidence": 1.5}, BadInput),
        ({"source_confidence": float("nan")}, BadInput),
        ({"event_time": datetime(2026, 1, 1)}, BadInput),
        ({"valid_from": datetime(2026, 1, 1)}, BadInput),
        ({"immutable": True, "origin": Origin.TOOL}, BadInput),
        ({"key": ""}, BadInput),
        ({"subject": "s" * 201}, BadInput),
        ({"subject": "half \ud800"}, BadInput),
        ({"source": "a\x00b"}, BadInput),
        ({"key": "a\x00b"}, BadInput),
        ({"tags": ("fine", "half \udc00")}, BadInput),
        ({"metadata": {"a\x00b": 1}}, BadInput),
        ({"metadata": {"path": "C:\\\x00"}}, BadInput),
        ({"metadata": {"in": ["half \ud800"]}}, BadInput),
        ({"metadata": {"is": float("inf")}}, BadInput),
        ({"metadata": {"at": MONDAY}}, BadInput),
    ],
    ids=[
        "empty", "blank", "no text", "too long", "nul", "half a character", "unknown kind", "too sure", "nan",
        "naive event", "naive start", "a tool for good", "empty key", "long subject", "half a character in the subject",
        "nul in the source", "nul in the key", "half a character in a tag", "nul in a name", "nul behind a backslash",
        "half a character in a list", "infinite", "a moment",
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_what_to_do(wrong: dict[str, Any], error: type[Exception]):
    with pytest.raises(error) as refused:
        normalize_learn_request(LearnRequest(**{"text": "fine", **wrong}))

    assert getattr(refused.value, "hint", "")


def test_what_only_looks_like_a_nul_byte_is_fine():
    escape = r"C:\u0000 and \x00"

    request = normalize_learn_request(LearnRequest(text=escape, source=escape, metadata={escape: [escape]}))

    assert request.metadata == {escape: [escape]}


@pytest.mark.requirement("M-02")
def test_kinds_are_a_closed_set_with_one_alias():
    assert parse_kind("semantic") is Kind.FACT
    assert parse_kind(" Fact ") is Kind.FACT
    with pytest.raises(BadInput, match="`rumour`") as refused:
        parse_kind("rumour")
    assert "`tension`" in refused.value.hint


@pytest.mark.requirement("M-02")
def test_claims_are_compared_with_each_other_and_the_rest_with_their_own():
    assert {"fact", "preference", "procedural", "correction", "insight"} == CLAIMS
    assert set(comparable_kinds(Kind.FACT)) == CLAIMS
    assert comparable_kinds(Kind.EPISODIC) == (Kind.EPISODIC,)


def test_our_own_blocks_hidden_characters_and_secrets_are_taken_out():
    label = "Notes"
    text = "<recollection>\nNotes\n- Ann keeps bees\n</recollection>\n\nBen\u200b logs in with password=tr0ub4dor-and-3"

    clean = strip_blocks_and_secrets(text, lambda given: strip_blocks(given, BlockMarker(label=label)))

    assert "bees" not in clean.text
    assert clean.text.startswith("Ben logs in with password=[redacted:")

    assert clean.kinds


def test_a_subject_is_compared_without_what_only_points_at_it():
    assert subject_key("The  Server") == subject_key("server") == "server"
    assert subject_key(None) is None
    assert subject_key("build_box") == "build box"


def test_the_body_of_a_call_is_known_again():
    one = LearnRequest(text="a", event_time=MONDAY, tags=("x",))

    assert one.body_hash == LearnRequest(text="a", event_time=MONDAY, tags=("x",)).body_hash
    assert one.body_hash != LearnRequest(text="b", event_time=MONDAY, tags=("x",)).body_hash
    assert one.body_hash != LearnRequest(text="a", event_time=MONDAY, tags=("y",)).body_hash
