"""Who may be late is asked a few questions at a time, and not waited for while nothing comes in time."""

import asyncio

import pytest

from festinger.app.background import Background
from festinger.proxy.patience import LAST, Patience
from festinger.proxy.questions import MOST_OPEN, Questions

SOON = 0.025


class Hands:
    """A stopwatch that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def answered() -> str:
    return "answer"


async def refused() -> str:
    raise ValueError


async def hanging() -> str:
    await asyncio.Event().wait()
    return "never"


def late() -> Patience:
    patience = Patience()
    for _ in range(LAST):
        patience.answered(9.0)
    return patience


@pytest.mark.parametrize(
    ("patience", "most"), [(Patience(), MOST_OPEN), (late(), 1)], ids=["in time", "late"]
)
async def test_only_so_many_questions_stand_open(patience: Patience, most: int):
    questions, beside = Questions(patience=patience), Background()

    asked = [questions.ask(hanging(), within=SOON, beside=beside) for _ in range(most + 1)]

    assert [each is not None for each in asked] == [*[True] * most, False]
    await beside.stop()


@pytest.mark.requirement("P-50")
@pytest.mark.parametrize("question", [answered, refused], ids=["answered", "refused"])
@pytest.mark.parametrize(("took", "is_worth"), [(SOON / 2, True), (2 * SOON, False)], ids=["in time", "late"])
async def test_what_came_late_was_late_whether_it_was_answered_or_failed(question, took, is_worth):
    hands, beside = Hands(), Background()
    questions = Questions(stopwatch=hands)
    for _ in range(LAST):
        task = questions.ask(question(), within=SOON, beside=beside)
        hands.now += took
        assert task is not None
        await asyncio.wait({task})

    assert questions.is_worth(SOON) is is_worth


async def test_a_question_that_was_called_off_tells_nothing_of_who_was_asked():
    patience, beside = late(), Background()
    questions = Questions(patience=patience)
    task = questions.ask(hanging(), within=SOON, beside=beside)
    await beside.stop()

    assert task is not None
    assert task.cancelled()
    assert not questions.is_worth(SOON)
    assert questions.ask(hanging(), within=SOON, beside=beside) is not None
    await beside.stop()
