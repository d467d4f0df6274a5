"""Conversations of the bench are told apart, and go on as a client's do."""

import json
from collections.abc import Sequence

import pytest
from benchmarks.conversation import NEWEST_CHARS, NEXT_TURNS, ConversationGenerator
from benchmarks.large_world import QUICK


def messages_of(bodies: Sequence[bytes]) -> list[list[dict[str, str]]]:
    return [json.loads(body)["messages"] for body in bodies]


@pytest.mark.parametrize("kib", [5, 100])
def test_a_conversation_goes_on_with_an_answer_and_the_newest_words(kib: int):
    sent = ConversationGenerator(QUICK, kib=kib, seed="0").going_on(NEXT_TURNS + 1)

    (first, second), turns = messages_of(sent.before), messages_of(sent.timed)
    assert [messages[:-2] for messages in turns] == [first, *turns[: NEXT_TURNS - 1], second]
    assert [message["role"] for message in turns[0][:2]] == ["system", "user"]
    assert [message["role"] for message in turns[0][-3:]] == ["user", "assistant", "user"]
    assert len(turns[0][-1]["content"]) == NEWEST_CHARS


def test_two_conversations_share_no_turn():
    one, other = messages_of(ConversationGenerator(QUICK, kib=8, seed="1").beginning(2).timed)

    assert not {said["content"] for said in one} & {said["content"] for said in other}


def test_a_conversation_that_nobody_has_met_has_nothing_before_it():
    sent = ConversationGenerator(QUICK, kib=32, seed="0").beginning(2)

    assert (len(sent.timed), sent.before) == (2, ())


def test_from_the_start_every_turn_follows_the_one_before_it():
    turns = messages_of(ConversationGenerator(QUICK, kib=32, seed="0").from_the_start(NEXT_TURNS + 2).timed)

    assert [messages[:-2] for messages in turns[1:-1]] == turns[:NEXT_TURNS]
    assert turns[-1][0] != turns[0][0]


@pytest.mark.parametrize("kib", [5, 32, 100])
def test_a_request_is_at_last_about_as_large_as_it_says(kib: int):
    *_, body = ConversationGenerator(QUICK, kib=kib, seed="0").going_on(NEXT_TURNS).timed

    assert kib * 1024 <= len(body) <= kib * 1024 + 2048
