import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import ProviderDown, ProviderRefused
from festinger.llm.ledger import FAILURES, OPEN_SECONDS, WINDOW_SECONDS, ServerGuard

DOWN = ProviderDown("down")


class Guarded:
    """A server behind its guard, with a stopwatch that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.guard = ServerGuard("stub", lambda: self.now)

    async def call(self, at: float, ends: BaseException | None = None) -> bool:
        """Whether a call at this time is let through; it ends well, or with an error."""
        self.now = at
        is_admitted = False
        with suppress(ProviderDown, ProviderRefused, asyncio.CancelledError):
            async with self.guard.watched():
                is_admitted = True
                if ends is not None:
                    raise ends
        return is_admitted


async def failed(*times: float) -> Guarded:
    server = Guarded()
    for at in times:
        assert await server.call(at, DOWN)
    return server


async def opened() -> Guarded:
    return await failed(0, 1, 2, 3, 4)


@pytest.mark.requirement("X-84")
def test_the_numbers_are_the_required_ones() -> None:
    assert (FAILURES, WINDOW_SECONDS, OPEN_SECONDS) == (5, 60.0, 30.0)


@pytest.mark.requirement("X-84")
async def test_four_failures_leave_it_closed_and_the_fifth_opens_it() -> None:
    assert await (await failed(0, 1, 2, 3)).call(3)
    assert not await (await opened()).call(4)


@pytest.mark.requirement("X-84")
async def test_failures_that_are_a_minute_apart_do_not_add_up() -> None:
    assert await (await failed(0, 1, 2, 3, 60)).call(60)
    assert not await (await failed(0, 1, 2, 3, 59.9)).call(59.9)


@pytest.mark.requirement("X-84")
async def test_after_half_a_minute_one_probe_is_let_through_and_only_one() -> None:
    server = await opened()

    assert not await server.call(4 + 29.9)
    server.now = 4 + 30
    async with server.guard.watched():
        assert not await server.call(4 + 30)


@pytest.mark.requirement("X-84")
@pytest.mark.parametrize("answer", [None, ProviderRefused("no")], ids=["answer", "refusal"])
async def test_an_answer_to_the_probe_closes_it(answer: Exception | None) -> None:
    server = await opened()

    assert await server.call(34, answer)
    assert await server.call(34, DOWN)
    assert await server.call(34)


@pytest.mark.requirement("X-84")
async def test_a_failed_probe_opens_it_for_another_half_minute() -> None:
    server = await opened()

    assert await server.call(40, DOWN)
    assert not await server.call(69.9)
    assert await server.call(70)


async def test_a_probe_whose_caller_went_away_leaves_room_for_the_next() -> None:
    server = await opened()

    assert await server.call(40, asyncio.CancelledError())
    assert await server.call(40)


@pytest.mark.parametrize("late", [None, DOWN], ids=["answer", "failure"])
async def test_what_began_before_neither_closes_it_nor_keeps_it_open_for_longer(late: Exception | None) -> None:
    server = Guarded()
    with suppress(ProviderDown):
        async with server.guard.watched():
            for _ in range(FAILURES):
                await server.call(4, DOWN)
            server.now = 20
            if late is not None:
                raise late

    assert not await server.call(33.9)
    assert await server.call(34)


async def test_it_says_how_long_it_stays_open() -> None:
    server = await opened()
    server.now = 14

    with pytest.raises(ProviderDown, match="failed too often") as raised:
        async with server.guard.watched():
            pass

    assert raised.value.details["retry_after"] == 20


@pytest.mark.requirement("X-84")
@given(st.lists(st.floats(0, 1000), min_size=FAILURES, max_size=12).map(sorted))
def test_it_opens_exactly_if_five_failures_fall_into_one_minute(times: list[float]) -> None:
    crowded = (at + FAILURES - 1 for at in range(len(times) - FAILURES + 1))
    opens_with = next((last for last in crowded if times[last] - times[last - FAILURES + 1] < WINDOW_SECONDS), None)

    async def admitted() -> list[bool]:
        server = Guarded()
        for time in times[: None if opens_with is None else opens_with + 1]:
            assert await server.call(time, DOWN)
        return [await server.call(server.now)]

    assert asyncio.run(admitted()) == [opens_with is None]
