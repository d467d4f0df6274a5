"""What was said is searchable."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.desk import rows
from tests.retrieval.recalling import Recaller

from festinger.ids import MAIN_SPACE
from festinger.retrieval.turns import PART_CHARS, cut, embed_turns, index_turns

MINUTE = timedelta(minutes=1)


@given(st.text(alphabet="ab .!?\n", min_size=1, max_size=4000))
def test_the_parts_of_a_text_are_the_text(text: str):
    parts = cut(text)

    assert "".join(parts) == text
    assert all(len(part.rstrip()) <= PART_CHARS for part in parts)


def test_a_long_text_is_cut_where_sentences_end():
    sentence = "The river rose again in the night and the old bridge held. "

    parts = cut(sentence * 40)

    assert len(parts) > 2
    assert all(part.rstrip().endswith("held.") for part in parts)


@pytest.mark.requirement("R-16")
async def test_a_short_answer_is_found_by_the_words_of_its_question(by_words: Recaller):
    await by_words.say("Which colour shall the boathouse be?", role="assistant", session="s1")
    by_words.forward(MINUTE)
    answer = await by_words.say("Dark green please.", session="s1")
    await by_words.settle()

    found = await by_words.recall("colour of the boathouse")

    assert answer in [item.id for item in found.items]


@pytest.mark.requirement("R-16")
async def test_what_was_last_is_known_with_what_came_after(by_words: Recaller):
    first = await by_words.say("Shall we take the ferry?", session="s1")
    await index_turns(by_words.searching, MAIN_SPACE)
    by_words.forward(MINUTE)
    await by_words.say("Only if it sails on Sunday.", session="s1")

    assert await index_turns(by_words.searching, MAIN_SPACE) == 2

    [row] = await rows(by_words.store, "select context from turn_index where turn_id = %(id)s", id=first)
    assert row["context"] == "Only if it sails on Sunday."
    assert await index_turns(by_words.searching, MAIN_SPACE) == 0


@pytest.mark.requirement("R-34")
async def test_what_you_said_and_what_i_said(by_words: Recaller):
    """The person's number first, unless the model's own words are asked for."""
    await by_words.say("The upload limit is 512 megabytes.", session="s1")
    by_words.forward(MINUTE)
    await by_words.say("I suggest an upload limit of 1024 megabytes.", role="assistant", session="s1")
    by_words.forward(timedelta(days=1))
    await by_words.settle()

    said = await by_words.texts("what is the upload limit?")
    suggested = await by_words.texts("what upload limit did you suggest?")

    assert said[0] == "The upload limit is 512 megabytes."
    assert suggested[0] == "I suggest an upload limit of 1024 megabytes."


async def test_vectors_that_were_missing_come_later(by_words: Recaller):
    await by_words.say("The ferry sails on Sunday.")
    await by_words.settle()
    by_words.embedder = by_words.near

    assert await embed_turns(by_words.searching, MAIN_SPACE) == 1
    assert await embed_turns(by_words.searching, MAIN_SPACE) == 0
    [row] = await rows(by_words.store, "select model from turn_index")
    assert row["model"] == by_words.near.name


@pytest.mark.requirement("R-16")
async def test_a_turn_is_embedded_as_the_same_text_whenever_that_is(mind: Recaller):
    await mind.say("Which day does the ferry sail?")
    await mind.say("On Sunday, if the wind holds.", role="assistant")
    await index_turns(mind.searching, MAIN_SPACE)
    hashes = "select turn_id, part, text_hash from turn_index order by turn_id, part"
    first, written = await rows(mind.store, hashes), {text for _, texts in mind.near.asked for text in texts}
    assert "2026-01-05 On Sunday, if the wind holds.\nWhich day does the ferry sail?" in written

    async with mind.store.transaction() as transaction:
        await transaction.connection.execute("update turn_index set model = null, embedding = null")
    mind.near.asked.clear()
    assert await embed_turns(mind.searching, MAIN_SPACE) == 2

    assert await rows(mind.store, hashes) == first
    assert {text for _, texts in mind.near.asked for text in texts} <= written
