"""What was said is searchable."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.deps import rows
from tests.memory.remembering import NearEmbedder
from tests.retrieval.recalling import Recaller

from festinger.embedding.embedder import Vector
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import BadInput, ProviderDown
from festinger.ids import MAIN_SPACE
from festinger.memory.episodes.store import close_episode
from festinger.memory.model import parse_kind
from festinger.retrieval.index.turns import PART_CHARS, PIECE, embed_turns, index_turns, split_text
from festinger.settings.memory_sections import RetrievalSettings
from festinger.store.pool import Store
from festinger.text.budget import estimate_tokens

MINUTE = timedelta(minutes=1)


@given(st.text(alphabet="ab .!?\n", min_size=1, max_size=4000))
def test_the_parts_of_a_text_are_the_text(text: str):
    parts = split_text(text)

    assert "".join(parts) == text
    assert all(len(part.rstrip()) <= PART_CHARS for part in parts)


def test_a_long_text_is_cut_where_sentences_end():
    sentence = "The river rose again in the night and the old bridge held. "

    parts = split_text(sentence * 40)

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


async def test_indexing_lets_others_through_before_each_conversation(by_words: Recaller):
    waits = 0

    async def between() -> None:
        nonlocal waits
        waits += 1

    await by_words.say("Shall we take the ferry?", session="s1")
    await by_words.say("Who paints the boathouse?", session="s2")

    assert await index_turns(by_words.searching, MAIN_SPACE, between=between) == 2
    assert waits == 2


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


class Busy(NearEmbedder):
    """Answers only calls with a few texts, and of those not the first: a machine with much else to do."""

    def __init__(self, most: int, refuses: int) -> None:
        super().__init__()
        self.most, self.refuses = most, refuses

    async def embed(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str = "") -> list[Vector]:
        if len(texts) > self.most or self.refuses > 0:
            self.refuses -= 1
            raise ProviderDown("It did not answer in 30 s.")
        return await super().embed(texts, purpose, kind=kind)


@pytest.mark.requirement("R-16")
async def test_a_busy_machine_drops_no_vector(store: Store):
    mind = Recaller(store, embedder=Busy(most=PIECE, refuses=2))
    for number in range(3 * PIECE):
        await mind.say(f"Ferry {number} sails on Sunday.")

    await index_turns(mind.searching, MAIN_SPACE)

    assert await rows(store, "select 1 from turn_index where model is null") == []
    assert (await mind.recall("When does ferry 7 sail?")).degraded == ()
    mind.forget_unwritten()


@pytest.mark.requirement("R-08")
async def test_turns_that_have_no_vector_are_told(store: Store):
    embedder = Busy(most=PIECE, refuses=0)
    mind = Recaller(store, embedder=embedder)
    await mind.say("The ferry sails on Sunday.")
    embedder.refuses = 100
    await index_turns(mind.searching, MAIN_SPACE)
    embedder.refuses = 0

    found = await mind.recall("When does the ferry sail?")

    assert found.degraded == ("turn_vectors 1 of 1 missing",)
    mind.forget_unwritten()


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


async def test_what_a_tool_gave_is_searchable_only_where_that_is_wanted(by_words: Recaller):
    found = {}
    for wanted in (False, True):
        by_words.retrieval = RetrievalSettings(index_tool_turns=wanted)
        await by_words.say(f"ferry log {wanted}", role="tool", session=f"s{wanted}")
        await by_words.settle()
        found[wanted] = await by_words.texts("ferry log")

    assert found == {False: [], True: ["ferry log True"]}


async def test_turns_are_a_kind_to_search_for_and_none_to_learn(by_words: Recaller):
    [memory] = await by_words.put("The ferry is blue.")
    turn = await by_words.say("Is the ferry late again?")
    await by_words.settle()

    def ids(kinds: list[str] | None) -> Any:
        return by_words.recall("ferry", kinds=kinds)

    assert {item.id for item in (await ids(None)).items} == {memory, turn}
    assert [item.id for item in (await ids(["turn"])).items] == [turn]
    assert [item.id for item in (await ids(["fact"])).items] == [memory]
    with pytest.raises(BadInput):
        parse_kind("turn")


async def test_a_turn_of_an_open_episode_is_for_other_sessions_and_for_its_own_when_it_has_ended(by_words: Recaller):
    turn = await by_words.say("The ferry sails on Sunday.", session="now")
    await by_words.settle()
    [episode] = await rows(by_words.store, "select id from episode")

    own, other = [(await by_words.recall("ferry", session=session)).items for session in ("now", "later")]
    await close_episode(by_words.deps, MAIN_SPACE, episode["id"])

    assert (own, [item.id for item in other]) == ((), [turn])
    assert [item.id for item in (await by_words.recall("ferry", session="now")).items] == [turn]


async def test_a_long_turn_is_as_good_an_answer_as_its_best_part_and_has_no_weight(store: Store):
    sentence = "The river rose again in the night and the old bridge held. "
    long = sentence * 40
    *_, last = parts = split_text(long)
    cue = "dawn over water"
    mind = Recaller(store, near={cue: 1.0, f"2026-01-05 {last.strip()}\n": 0.6})
    turn = await mind.say(long)
    await mind.settle()

    [item] = (await mind.recall(cue, explain=True)).items

    assert len(parts) > 2
    assert all(estimate_tokens(part) <= 200 for part in parts)
    assert (item.id, item.text) == (turn, long.strip())
    assert item.evidence == pytest.approx(0.5, abs=1e-3)
    assert item.why is not None
    assert item.why["weight"]["effective"] == item.weight == pytest.approx(0.2)
    mind.forward(timedelta(days=900))
    assert (await mind.recall(cue, include=["dormant"])).items[0].weight == pytest.approx(0.2)
    mind.forget_unwritten()


@pytest.mark.requirement("R-16")
async def test_a_turn_of_a_million_different_words_is_found_by_its_beginning_and_its_end(by_words: Recaller):
    words = [f"w{number:x}" for number in range(140_000)]
    turn = await by_words.say(" ".join(["Quokkas", *words, "hibernate"]), session="s1")
    await by_words.settle()

    for word in ("quokkas", "hibernate"):
        assert turn in [item.id for item in (await by_words.recall(word)).items]
