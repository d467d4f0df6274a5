"""What a request waits for before it recalls: turns that may state something, and no others."""

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from tests.proxy.contexts import request_context

from festinger.clock import system_clock
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Scope, SpaceId
from festinger.memory.extract.turns import PersonTurn
from festinger.proxy.parser import RequestParser
from festinger.proxy.request import RequestContext
from festinger.proxy.sessions.session import SessionRegistry, advance_session
from festinger.proxy.statements import RequestLearner
from festinger.runtime.lifecycle import BackgroundTasks


class SlowReader:
    """Another process that has not learned anything yet."""

    def __init__(self) -> None:
        self.asked: list[asyncio.Future[int]] = []
        self.as_history: list[bool] = []

    def learn(self, _scope: Scope, _turns: Sequence[PersonTurn], *, is_history: bool = False) -> asyncio.Future[int]:
        self.as_history.append(is_history)
        self.asked.append(asyncio.get_running_loop().create_future())
        return self.asked[-1]

    def skip(self, _space: SpaceId, _turns: Sequence[PersonTurn]) -> None: ...

    def use_model(self, _setting: str) -> None: ...


def start(reader: SlowReader, *said: str) -> RequestLearner:
    """A learner that a new conversation with these messages of a person has passed."""
    return start_request(reader, *said)[0]


def start_request(reader: SlowReader, *said: str) -> tuple[RequestLearner, RequestContext]:
    learner = learner_with(reader)
    return learner, go_on(learner, SessionRegistry(most=10, idle=timedelta(hours=1)), *said)


def learner_with(reader: SlowReader) -> RequestLearner:
    app: Any = SimpleNamespace(
        memory=SimpleNamespace(deps=SimpleNamespace(without_blocks=str)),
        own_model=SimpleNamespace(setting="", note=lambda **_: None),
        recall=SimpleNamespace(holdings=SimpleNamespace(stored=lambda _space: None)),
    )
    return RequestLearner(lambda: app, background=BackgroundTasks(), reader=reader)


def go_on(learner: RequestLearner, sessions: SessionRegistry, *said: str) -> RequestContext:
    """A request with these messages of a person, which passes the learner."""
    replies = [[{"role": "user", "content": each}, {"role": "assistant", "content": "ok"}] for each in said]
    body = json.dumps({"model": "m", "messages": [turn for both in replies for turn in both][:-1]}).encode()
    ctx = request_context("/v1/chat/completions", body)
    assert RequestParser(sessions, clock=system_clock, new_id=uuid4).parse(ctx) is None
    learner.start(ctx)
    sessions.put(advance_session(ctx.session, None, turns=ctx.chat.turns, chain=ctx.chain, at=system_clock()))
    return ctx


@pytest.mark.parametrize("said", ["Which port does staging use?", "Write a test for the parser.", "ok thanks!"])
async def test_nothing_waits_for_a_turn_that_states_nothing_although_it_is_read_as_well(said: str):
    reader = SlowReader()
    learner = start(reader, said)

    await learner.settled(MAIN_SPACE, DEFAULT_AGENT)

    assert not learner.is_learning(MAIN_SPACE)
    assert [each.done() for each in reader.asked] == [False]


@pytest.mark.parametrize("said", ["Our staging database listens on port 5433.", "no, make that 5434", "why? " * 1000])
async def test_a_turn_that_may_state_something_or_is_long_is_waited_for(said: str):
    reader = SlowReader()
    learner = start(reader, said)

    waiting = asyncio.ensure_future(learner.settled(MAIN_SPACE, DEFAULT_AGENT))
    await asyncio.sleep(0)
    before = (learner.is_learning(MAIN_SPACE), waiting.done())
    reader.asked[0].set_result(1)
    await waiting

    assert before == (True, False)
    assert not learner.is_learning(MAIN_SPACE)


async def test_nothing_waits_for_a_history_that_is_new_here_although_it_is_read_as_well():
    reader = SlowReader()
    learner = start(reader, "Our staging database listens on port 5433.", "Which port does staging use?")

    await learner.settled(MAIN_SPACE, DEFAULT_AGENT)

    assert [each.done() for each in reader.asked] == [False]


async def test_what_is_said_while_the_history_before_it_is_learned_comes_after_it():
    reader, sessions = SlowReader(), SessionRegistry(most=10, idle=timedelta(hours=1))
    learner, said = learner_with(reader), ["I live in Lisgate.", "Which port does staging use?"]
    go_on(learner, sessions, *said)
    go_on(learner, sessions, *said, "I moved to Arbroath.")
    for each in reader.asked:
        each.set_result(0)
    go_on(learner, sessions, *said, "I moved to Arbroath.", "I have a cat.")

    assert reader.as_history == [True, True, False]


async def test_a_wish_to_remember_counts_for_the_response_only_if_it_is_the_newest_message():
    reader = SlowReader()
    _, ctx = start_request(reader, "Remember that the demo is on Friday.", "Which port does staging use?")

    assert ctx.learning is None
    assert len(reader.asked) == 1
