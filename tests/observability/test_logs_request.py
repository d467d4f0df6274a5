import asyncio

import pytest

from festinger.observability.logs import bind_request_id, current_request_id


def test_outside_of_a_request_there_is_none():
    assert current_request_id() is None


@pytest.mark.requirement("X-96")
def test_the_id_is_there_inside_and_gone_afterwards():
    with bind_request_id("req-1"):
        assert current_request_id() == "req-1"
        with bind_request_id("req-2"):
            assert current_request_id() == "req-2"
        assert current_request_id() == "req-1"
    assert current_request_id() is None


def test_work_without_an_id_of_its_own_carries_that_of_the_request_around_it():
    with bind_request_id("req-1"), bind_request_id(None):
        assert current_request_id() == "req-1"


async def test_two_requests_at_once_do_not_see_each_other():
    async def served(request: str) -> str | None:
        with bind_request_id(request):
            await asyncio.sleep(0)
            return current_request_id()

    assert [*await asyncio.gather(served("a"), served("b"))] == ["a", "b"]
