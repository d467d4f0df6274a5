import asyncio

import pytest

from festinger.observability.trace import on_behalf_of, present_request


def test_outside_of_a_request_there_is_none():
    assert present_request() is None


@pytest.mark.requirement("X-96")
def test_the_id_is_there_inside_and_gone_afterwards():
    with on_behalf_of("req-1"):
        assert present_request() == "req-1"
        with on_behalf_of("req-2"):
            assert present_request() == "req-2"
        assert present_request() == "req-1"
    assert present_request() is None


def test_work_without_an_id_of_its_own_carries_that_of_the_request_around_it():
    with on_behalf_of("req-1"), on_behalf_of(None):
        assert present_request() == "req-1"


async def test_two_requests_at_once_do_not_see_each_other():
    async def served(request: str) -> str | None:
        with on_behalf_of(request):
            await asyncio.sleep(0)
            return present_request()

    assert [*await asyncio.gather(served("a"), served("b"))] == ["a", "b"]
