"""When is a pair tried again of which no judge was sure?"""

from datetime import UTC, datetime, timedelta

import pytest

from festinger.judge.records import next_try

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
LLM = "llm:ollama:some"


@pytest.mark.parametrize(("attempts", "minutes"), [(1, 1), (2, 10), (3, 60), (4, 360)])
def test_each_try_waits_longer_than_the_one_before(attempts: int, minutes: int):
    assert next_try(LLM, attempts=attempts, now=MONDAY) == MONDAY + timedelta(minutes=minutes)


def test_a_sixth_try_would_wait_a_day():
    assert next_try(LLM, attempts=5, now=MONDAY, max_tries=6) == MONDAY + timedelta(hours=24)


def test_after_five_tries_a_person_is_asked():
    assert next_try(LLM, attempts=5, now=MONDAY) is None
    assert next_try(LLM, attempts=4, now=MONDAY) is not None


@pytest.mark.requirement("J-12")
def test_rules_alone_have_nothing_to_try_again():
    assert next_try("rules@1", attempts=1, now=MONDAY) is None
