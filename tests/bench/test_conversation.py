"""Conversations of the bench are told apart, and go on as a client's do."""

import json

from festinger.bench.conversation import Conversations
from festinger.bench.large_world import QUICK


def said(body: bytes) -> list[str]:
    return [message["content"] for message in json.loads(body)["messages"]]


def test_two_conversations_share_no_turn():
    first, second = Conversations(QUICK, kib=8, seed="1").beginning(2).timed

    assert not {*said(first)} & {*said(second)}


def test_the_next_turn_brings_the_whole_history_and_two_turns_more():
    told = Conversations(QUICK, kib=8, seed="1").going_on(1)
    (before,), (after,) = told.before, told.timed

    assert said(after)[:-2] == said(before)


def test_a_request_is_about_as_long_as_was_wished():
    (body,) = Conversations(QUICK, kib=32, seed="1").going_on(1).timed

    assert 32 * 1024 <= len(body) <= 34 * 1024
