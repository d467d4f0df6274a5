"""How are the pairs tried again that wait?"""

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.judge.judging import UNDECIDED, House, pair

from festinger.errors import ProviderDown
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.judge import records
from festinger.judge.cascade import JudgementRetryResult, RelationAnswer, retry_waiting_pairs
from festinger.judge.model import Judgement, PairJudgement, Relation, StatementPair, WaitingPair
from festinger.judge.pair_reader import NAME, PairReader
from festinger.llm.providers.scripted import FailStep, build_scripted_model
from festinger.store.pool import Store


class Keeper:
    """Whoever keeps the statements: loads pairs, and carries out what was judged of them."""

    def __init__(self, server: House, *pairs: StatementPair) -> None:
        self.server = server
        self.pairs = {each.new_ref: each for each in pairs}
        self.settled: list[Judgement] = []

    async def load(self, _space: SpaceId, waiting: WaitingPair) -> StatementPair | None:
        return self.pairs.get(waiting.new_ref)

    async def settle(self, space: SpaceId, judged: StatementPair, said: Judgement) -> None:
        self.settled.append(said)
        await self.server.keep(space, PairJudgement(pair=judged, judgement=said))

    async def retry(self) -> JudgementRetryResult:
        return await retry_waiting_pairs(self.server.cascade, MAIN_SPACE, load=self.load, settle=self.settle)


def word(relation: str, confidence: float = 0.9) -> RelationAnswer:
    return RelationAnswer.model_validate(
        {"reasoning": "r", "relation": relation, "current": "both", "confidence": confidence}
    )


async def waiting(server: House, about: StatementPair) -> None:
    [said] = await server.cascade.with_model_all(MAIN_SPACE, [about])
    assert not said.final
    await server.keep(MAIN_SPACE, PairJudgement(pair=about, judgement=said))


@pytest.mark.requirement("J-12")
async def test_what_waited_without_a_model_is_judged_when_one_appears(store: Store):
    server, about = House(store), pair(*UNDECIDED)
    supervisor = Keeper(server, about)
    await waiting(server, about)
    assert await supervisor.retry() == JudgementRetryResult(judged=0, still_waiting=0, gone=0), (
        "the rules would say the same"
    )

    server.model, _ = build_scripted_model(word("refines"))

    assert await supervisor.retry() == JudgementRetryResult(judged=1, still_waiting=0, gone=0)
    assert [said.relation for said in supervisor.settled] == [Relation.REFINES]
    assert await records.load_judgements(server.deps, MAIN_SPACE, final=False) == []


class Unread:
    """A scorer that must not be asked."""

    async def scores(self, texts: Sequence[str]) -> NDArray[np.float32]:
        assert not texts
        return np.empty((0, 4), np.float32)


async def test_what_the_reader_does_not_read_is_tried_once_and_not_again_each_time(store: Store):
    server, about = House(store), pair(*UNDECIDED, similarity=0.1)
    supervisor = Keeper(server, about)
    await waiting(server, about)
    server.cascade.set_reader(PairReader(Unread()))

    assert (await supervisor.retry()).still_waiting == 1
    assert await supervisor.retry() == JudgementRetryResult(judged=0, still_waiting=0, gone=0)
    [found] = await records.load_judgements(server.deps, MAIN_SPACE, final=False)
    assert (found.judgement.judge, found.attempts) == (NAME, 1)


async def test_a_model_that_does_not_answer_has_made_no_attempt(store: Store):
    model, _ = build_scripted_model(word("unsure"), FailStep(error=ProviderDown("away")))
    server, about = House(store, model=model), pair(*UNDECIDED)
    await waiting(server, about)
    server.hands.forward(timedelta(minutes=1))

    await Keeper(server, about).retry()

    [found] = await records.load_judgements(server.deps, MAIN_SPACE, final=False)
    assert (found.judgement.judge, found.attempts) == (f"llm:{model.name}", 1)


async def test_what_a_model_is_not_sure_of_is_tried_again_later(store: Store):
    model, script = build_scripted_model(word("unsure"), word("unsure"), word("same", 0.9))
    server, about = House(store, model=model), pair(*UNDECIDED)
    supervisor = Keeper(server, about)
    await waiting(server, about)

    assert await supervisor.retry() == JudgementRetryResult(judged=0, still_waiting=0, gone=0), "its time has not come"
    server.hands.forward(timedelta(minutes=1))
    assert await supervisor.retry() == JudgementRetryResult(judged=0, still_waiting=1, gone=0)
    server.hands.forward(timedelta(minutes=1))
    assert await supervisor.retry() == JudgementRetryResult(judged=0, still_waiting=0, gone=0), (
        "the second wait is longer"
    )

    [found] = await records.load_judgements(server.deps, MAIN_SPACE, final=False)
    assert found.attempts == 2
    assert found.next_try == server.hands.now + timedelta(minutes=9)
    assert len(script.asked) == 2


async def test_a_pair_whose_statement_is_gone_waits_no_more(store: Store):
    model, script = build_scripted_model(word("unsure"))
    server, about = House(store, model=model), pair(*UNDECIDED)
    await waiting(server, about)
    server.hands.forward(timedelta(minutes=1))

    assert await Keeper(server).retry() == JudgementRetryResult(judged=0, still_waiting=0, gone=1)
    assert await records.load_judgements(server.deps, MAIN_SPACE) == []
    assert len(script.asked) == 1
