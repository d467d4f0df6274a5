"""How are the pairs tried again that wait?

A run takes the pairs whose time has come, or that the present last judge has not seen, has each loaded by whoever
keeps the statements, judges it, and hands the answer back to be carried out and kept. A pair whose statements are
gone is dropped. When runs happen is arranged at wiring.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from festinger.ids import SpaceId
from festinger.judge import records
from festinger.judge.cascade import Cascade
from festinger.judge.judgement import Judgement
from festinger.judge.pair import Opinion, Pair, Waiting

MOST_AT_ONCE = 100

Load = Callable[[SpaceId, Waiting], Awaitable[Pair | None]]
"""The statements of a pair as they stand now; nothing if one of them is gone."""

Settle = Callable[[SpaceId, Pair, Judgement], Awaitable[object]]
"""Carries out what was judged and keeps it, in one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    judged: int
    still_waiting: int
    gone: int


async def retry(
    cascade: Cascade, space: SpaceId, *, load: Load, settle: Settle, limit: int = MOST_AT_ONCE
) -> Tried:
    """Try again what may be tried."""
    judge = await cascade.last_judge(space)
    waiting = await records.due(cascade.desk, space, judge=judge, limit=limit)
    loaded = [(each, await load(space, each)) for each in waiting]
    pairs = [pair for _, pair in loaded if pair is not None]
    answers = await cascade.with_model_all(space, pairs)
    for pair, said in zip(pairs, answers, strict=True):
        if said.final:
            await settle(space, pair, said)
        else:
            await _moved_on(cascade, space, pair, said)
    await _let_go(cascade, space, [each for each, pair in loaded if pair is None])
    done = sum(said.final for said in answers)
    return Tried(judged=done, still_waiting=len(answers) - done, gone=len(loaded) - len(pairs))


async def _moved_on(cascade: Cascade, space: SpaceId, pair: Pair, said: Judgement) -> None:
    async with cascade.desk.store.transaction() as transaction:
        await cascade.keep(transaction, space, [Opinion(pair=pair, judgement=said)])


async def _let_go(cascade: Cascade, space: SpaceId, gone: list[Waiting]) -> None:
    for each in gone:
        async with cascade.desk.store.transaction() as transaction:
            await records.drop_one(transaction, space, each.id)
