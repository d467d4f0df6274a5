"""A turn that is short, long, or leaves the answer to another one stands behind one that tells something."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.retrieval.recalling import Recaller
from tests.retrieval.test_rank_hit import candidate

from festinger.retrieval.score import FOR_ASKING, FOR_LENGTH, LONG, SHORT, substance_penalty
from festinger.settings.memory_sections import RetrievalSettings

ENOUGH = "x" * SHORT


def of(text: str, **more: object) -> float:
    return substance_penalty(candidate(1, type="turn", content=text, **more))


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (ENOUGH, 0.0),
        ("x" * LONG, 0.0),
        ("x" * (SHORT // 3), FOR_LENGTH * math.log(3)),
        ("x" * (LONG * 2), FOR_LENGTH * math.log(2)),
        ("", FOR_LENGTH * math.log(SHORT)),
    ],
    ids=["just enough", "not yet too much", "a third", "twice", "nothing"],
)
def test_what_is_short_or_long_tells_little(text: str, taken: float):
    assert of(text) == pytest.approx(-taken)


@pytest.mark.parametrize(
    ("ending", "speaker", "taken"),
    [("?", "ann", FOR_ASKING), ('?" ', "ann", FOR_ASKING), ("? I did.", "ann", 0.0), ("?", None, 0.0)],
    ids=["asks", "asks in quotes", "asks and goes on", "a message to an assistant"],
)
def test_among_people_who_ends_by_asking_leaves_the_answer_to_another(ending: str, speaker: str | None, taken: float):
    assert of(ENOUGH + ending, speaker=speaker) == pytest.approx(-taken)


@given(st.text(max_size=3_000))
def test_nothing_is_gained_by_it_and_a_memory_loses_nothing(text: str):
    assert -1.0 < of(text, speaker="ann") <= 0.0
    assert substance_penalty(candidate(1, content=text)) == 0.0


async def test_an_answer_comes_before_the_question_that_it_answers(by_words: Recaller):
    asked = "Ann: So what is it that you keep in the blue harbour shed these days, Bob?"
    told = "Bob: In the blue harbour shed there are those two boats that my aunt left me."
    for number, each in enumerate((told, asked, "Ann: Mine is another shed and stands somewhere else.")):
        await by_words.say(each, session=f"talk {number}")
    await by_words.settle()

    by_default = await by_words.texts("blue harbour shed")
    by_words.retrieval = RetrievalSettings(substance=False)

    assert by_default[:2] == [told, asked]
    assert (await by_words.texts("blue harbour shed"))[:2] == [asked, told], "the shorter one matches better"
