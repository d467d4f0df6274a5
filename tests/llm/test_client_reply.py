import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.llm.bench import GOOD, QUESTION, Verdict

from festinger.llm.client import (
    ECHO_CHARS,
    LONGEST_CHARS,
    REPAIRABLE,
    FlawKind,
    ReplyFlaw,
    build_repair_messages,
    parse_reply,
)
from festinger.llm.model import FinishReason, MessageRole, ModelReply, Usage

WHOLE = GOOD.model_dump_json()


def reply(text: str, finish: FinishReason = FinishReason.DONE) -> ModelReply:
    return ModelReply(text=text, finish=finish, usage=Usage(tokens_in=1, tokens_out=1))


def flaw(text: str, finish: FinishReason = FinishReason.DONE) -> ReplyFlaw:
    found = parse_reply(reply(text, finish), Verdict)
    assert isinstance(found, ReplyFlaw)
    return found


@pytest.mark.requirement("X-82")
@pytest.mark.parametrize("text", [WHOLE, f"  {WHOLE}\n", f"```json\n{WHOLE}\n```", f"```\n{WHOLE}\n```"])
def test_a_whole_answer_is_read(text: str) -> None:
    assert parse_reply(reply(text), Verdict) == GOOD


@pytest.mark.requirement("X-82")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", FlawKind.EMPTY),
        (" \n ", FlawKind.EMPTY),
        ("They are the same.", FlawKind.NOT_JSON),
        (WHOLE[:-5], FlawKind.NOT_JSON),
        (f"Here you are: {WHOLE}", FlawKind.NOT_JSON),
        (f"{WHOLE}{WHOLE}", FlawKind.NOT_JSON),
        ('{"reasoning": "r"}', FlawKind.WRONG_SHAPE),
        ('{"reasoning": "r", "verdict": 7}', FlawKind.WRONG_SHAPE),
        ('{"reasoning": "r", "verdict": "same", "also": 1}', FlawKind.WRONG_SHAPE),
        ("[]", FlawKind.WRONG_SHAPE),
        ("null", FlawKind.WRONG_SHAPE),
        ("x" * (LONGEST_CHARS + 1), FlawKind.TOO_LONG),
    ],
)
def test_each_flaw_is_found(text: str, kind: FlawKind) -> None:
    assert flaw(text).kind is kind


@pytest.mark.requirement("X-82")
def test_an_answer_cut_off_by_length_is_flawed_even_if_it_parses() -> None:
    assert flaw(WHOLE, FinishReason.LENGTH).kind is FlawKind.CUT_OFF


def test_an_answer_that_was_held_back_is_not_repaired() -> None:
    assert flaw("", FinishReason.FILTERED).kind not in REPAIRABLE
    assert flaw("x" * (LONGEST_CHARS + 1)).kind not in REPAIRABLE


@pytest.mark.requirement("X-82")
@given(st.text(max_size=200))
def test_no_text_gives_half_an_answer(text: str) -> None:
    found = parse_reply(reply(text), Verdict)

    assert isinstance(found, ReplyFlaw) or json.loads(text.strip().strip("`")) == found.model_dump()


@pytest.mark.requirement("X-82")
@given(st.integers(1, len(WHOLE) - 1))
def test_no_beginning_of_an_answer_is_taken_for_the_answer(length: int) -> None:
    assert isinstance(parse_reply(reply(WHOLE[:length]), Verdict), ReplyFlaw)


def test_the_repair_shows_the_flawed_answer_and_what_is_wrong_with_it() -> None:
    asked = build_repair_messages(QUESTION, flaw('{"reasoning": "r", "verdict": 7}'), Verdict)

    assert [message.role for message in asked] == [MessageRole.USER, MessageRole.ASSISTANT, MessageRole.USER]
    assert asked[0] == QUESTION[0]
    assert "`verdict`" in asked[-1].text
    assert '"reasoning"' in asked[-1].text


def test_the_repair_of_nothing_shows_nothing_and_of_much_only_its_beginning() -> None:
    assert [message.role for message in build_repair_messages(QUESTION, flaw(""), Verdict)] == [
        MessageRole.USER,
        MessageRole.USER,
    ]
    assert len(build_repair_messages(QUESTION, flaw("x" * 100_000), Verdict)[1].text) == ECHO_CHARS
