"""What may be read beside what came to mind?"""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from festinger.retrieval.query import RecallQuery
from festinger.retrieval.result import RecallItem, RecallResult, append_extras


def item(number: int, text: str) -> RecallItem:
    return RecallItem(
        id=UUID(int=number),
        type="task",
        kind="insight",
        text=text,
        compressed=None,
        score=1.0,
        evidence=1.0,
        weak=False,
        origin="model",
        trust=0.5,
        confidence=0.5,
        weight=0.5,
        event_time=None,
        learned_at=datetime(2026, 1, 5, tzinfo=UTC),
        disputed=False,
        source=None,
    )


def recalled(*items: RecallItem) -> RecallResult:
    return RecallResult(id=UUID(int=9), items=items, abstained=not items, below_threshold=0)


@pytest.mark.parametrize(
    ("limit", "tokens", "found"), [(5, None, [1, 2, 3]), (2, None, [1, 2]), (1, None, [1]), (5, 8, [1, 3]), (5, 2, [1])]
)
def test_what_is_read_beside_comes_last_and_takes_nobodys_place(limit: int, tokens: int | None, found: list[int]):
    beside = [item(2, "a task of so many words that it needs a lot of room"), item(3, "a task")]

    answer = append_extras(recalled(item(1, "a memory")), beside, RecallQuery(cue="x", limit=limit, tokens=tokens))

    assert [each.id.int for each in answer.items] == found


def test_an_answer_that_has_only_what_is_read_beside_is_no_silence():
    assert append_extras(recalled(), [item(2, "a task")], RecallQuery(cue="x")).abstained is False
    assert append_extras(recalled(), [], RecallQuery(cue="x")).abstained is True
