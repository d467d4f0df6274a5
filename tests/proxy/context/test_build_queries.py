"""A service that may hang is asked only so many questions at once."""

import asyncio

from festinger.proxy.context.build import MOST_OPEN, QueryLimiter
from festinger.runtime.lifecycle import BackgroundTasks


async def answer() -> str:
    return "answer"


async def hang() -> str:
    await asyncio.Event().wait()
    return "never"


async def test_open_questions_are_limited():
    questions, background = QueryLimiter(), BackgroundTasks()

    asked = [questions.ask(hang(), background=background) for _ in range(MOST_OPEN + 1)]

    assert [each is not None for each in asked] == [*[True] * MOST_OPEN, False]
    await background.stop()


async def test_an_answered_question_makes_room_for_the_next():
    questions, background = QueryLimiter(), BackgroundTasks()
    for _ in range(MOST_OPEN + 1):
        task = questions.ask(answer(), background=background)
        assert task is not None
        assert await task == "answer"
        await asyncio.sleep(0)
