"""Of whom nobody ever spoke, what others did is no answer."""

import pytest
from tests.retrieval.recalling import Recaller

from festinger.retrieval.bm25 import TermStatistics
from festinger.retrieval.score import has_only_unknown_names

STATISTICS = {"known in memories": {"melani": 1}, "known in conversations": {"lisbon": 3}}


@pytest.mark.parametrize(
    ("names", "is_so"),
    [
        ({"melanie"}, False),
        ({"lisbon"}, False),
        ({"zoltan"}, True),
        ({"zoltan", "melanie"}, False),
        ({"zoltan", "ann"}, True),
        (set(), False),
        ({"the"}, False),
    ],
)
def test_it_asks_of_strangers_if_none_of_its_names_was_ever_said(names: set[str], is_so: bool):
    statistics = [TermStatistics(docs=9, total_len=90, df=df) for df in STATISTICS.values()]
    terms = ("melani", "lisbon", "zoltan", "ann", "paint")

    found = has_only_unknown_names(names, terms, statistics=statistics, candidates=())

    assert found is is_so


@pytest.mark.requirement("R-71")
async def test_a_question_about_somebody_unknown_brings_nothing_and_one_about_whom_one_heard_a_moment_ago_does(
    mind: Recaller,
):
    said = "Melanie painted a lake at sunrise"
    asked = [f"what did {name} paint at sunrise" for name in ("Melanie", "Zoltan")]
    mind.near.near |= {said: 0.2, **dict.fromkeys(asked, 1.0)}
    await mind.put(said, "The harbour is closed on Mondays", "Bread is baked at four")

    known, stranger = [await mind.recall(cue) for cue in asked]

    assert [item.text for item in known.items][:1] == [said]
    assert (stranger.abstained, stranger.items) == (True, ())
    assert stranger.below_threshold > 0


async def test_who_asks_in_small_letters_is_not_taken_to_name_anybody(mind: Recaller):
    said, cue = "Melanie painted a lake at sunrise", "what did zoltan paint at sunrise"
    mind.near.near |= {said: 0.2, cue: 1.0}
    await mind.put(said, "The harbour is closed on Mondays", "Bread is baked at four")

    assert (await mind.recall(cue)).items[0].text == said
