"""A turn is learned when it is said: by rules at once, and corrected by a model where there is one."""

from uuid import UUID

import pytest
from structlog.testing import capture_logs
from tests.memory.episodes.talking import writing
from tests.memory.remembering import Mind, memories, texts

from festinger.errors import ProviderRefused
from festinger.ids import Origin
from festinger.llm.providers.scripted import FailStep, build_scripted_model
from festinger.memory.extract.model_reader import ReadFact, TurnReading, correct_turn_with_model, is_english
from festinger.memory.extract.turns import PersonTurn, learn_turn
from festinger.memory.model import LearnAction
from festinger.store.pool import Store


def turn(text: str, number: int = 1) -> PersonTurn:
    return PersonTurn(id=UUID(int=number), text=text)


def reading(*facts: tuple[str, list[int]], wrong: tuple[int, ...] = ()) -> TurnReading:
    found = [ReadFact(content=content, replaces=replaces) for content, replaces in facts]
    return TurnReading(reasoning="as told", facts=found, wrong=list(wrong))


@pytest.mark.requirement("M-55")
async def test_what_a_turn_states_is_the_persons_own_word(store: Store):
    mind = Mind(store)

    learned = await learn_turn(mind.deps, mind.place(), turn("btw our staging server runs on port 5433. ok?"))

    [memory] = await memories(store)
    assert [each.action for each in learned] == [LearnAction.STORED]
    assert (memory.content, memory.origin, memory.trust) == ("Our staging server runs on port 5433", Origin.PERSON, 1.0)
    assert (memory.source, memory.turn_id) == ("conversation", UUID(int=1))


async def test_a_turn_that_is_read_twice_is_learned_once(store: Store):
    mind = Mind(store)
    said = turn("Remember that the wiki moved to Outline.")

    await learn_turn(mind.deps, mind.place(), said)
    await learn_turn(mind.deps, mind.place(), said)

    [memory] = await memories(store)
    assert memory.confirmation_count == 0


async def test_a_correction_reaches_statements_of_its_own_conversation_alone(store: Store):
    mind = Mind(store)
    await learn_turn(mind.deps, mind.place("s1"), turn("Remember that the office is on floor 3.", 1))
    await learn_turn(mind.deps, mind.place("s2"), turn("Remember that we are 9 people.", 2))

    await learn_turn(mind.deps, mind.place("s2"), turn("make that 11", 3))

    assert await texts(store) == ["The office is on floor 3", "We are 11 people"]
    assert await texts(store, "superseded") == ["We are 9 people"]


async def test_what_a_model_words_better_replaces_what_was_taken_from_the_same_turn(store: Store):
    mind = Mind(store)
    said = turn("Please remember that she teaches chess, my sister Ana I mean.")
    await learn_turn(mind.deps, mind.place(), said)
    before = await texts(store)
    model, _ = build_scripted_model(reading(("My sister Ana teaches chess", [1, 2])))

    await correct_turn_with_model(writing(mind.deps, model), mind.place(), said)

    assert before == ["She teaches chess", "My sister Ana I mean"]
    assert await texts(store) == ["My sister Ana teaches chess"]
    assert await texts(store, "superseded") == before


async def test_news_that_a_model_reads_replaces_an_older_note(store: Store):
    mind = Mind(store)
    await learn_turn(mind.deps, mind.place("s1"), turn("Remember that I get to work by bike.", 1))
    said = turn("I said goodbye to my bike, these days the bus brings me to work.", 2)
    model, _ = build_scripted_model(reading(("The bus brings me to work", [1])))

    await correct_turn_with_model(writing(mind.deps, model), mind.place("s2"), said)

    assert "The bus brings me to work" in await texts(store)
    assert await texts(store, "superseded") == ["I get to work by bike"]


async def test_what_should_not_have_been_kept_is_put_away_and_older_notes_are_not(store: Store):
    mind = Mind(store)
    await learn_turn(mind.deps, mind.place("s1"), turn("Remember that I live in Oslo.", 1))
    said = turn("Remember that I am Batman, haha.", 2)
    await learn_turn(mind.deps, mind.place("s2"), said)
    model, _ = build_scripted_model(reading(wrong=(1, 2)))

    await correct_turn_with_model(writing(mind.deps, model), mind.place("s2"), said)

    assert await texts(store) == ["I live in Oslo"]
    assert len(await texts(store, "archived")) == 1


async def test_what_the_turn_does_not_say_is_not_kept_though_a_model_says_so(store: Store):
    mind = Mind(store)
    said = turn("I live in Oslo.")
    model, _ = build_scripted_model(reading(("The moon landing happened in July 1969", [])))

    assert await correct_turn_with_model(writing(mind.deps, model), mind.place(), said) == []
    assert await texts(store) == []


async def test_without_a_model_or_with_one_that_fails_what_rules_read_stands(store: Store):
    mind = Mind(store)
    said = turn("I live in Oslo.")
    await learn_turn(mind.deps, mind.place(), said)
    failing, _ = build_scripted_model(*[FailStep(error=ProviderRefused("no"))] * 5)

    assert await correct_turn_with_model(mind.deps, mind.place(), said) == []
    assert await correct_turn_with_model(writing(mind.deps, failing), mind.place(), said) == []
    assert await texts(store) == ["I live in Oslo"]


async def test_a_model_that_cannot_answer_in_shape_is_warned_of_once_with_what_to_do(store: Store):
    mind = Mind(store)
    model, _ = build_scripted_model(*["Sorry, I only speak prose."] * 6)
    deps = writing(mind.deps, model)

    with capture_logs() as lines:
        for number in range(3):
            await correct_turn_with_model(deps, mind.place(), turn("I live in Oslo.", number + 1))

    told = [each for each in lines if each["event"] == "turn not read by a model"]
    assert [each["log_level"] for each in told] == ["warning", "debug", "debug"]
    assert told[0]["model"] == model.name
    assert "`llm.*`" in told[0]["hint"]


async def test_a_turn_that_states_nothing_costs_no_call(store: Store):
    mind = Mind(store)
    model, script = build_scripted_model()

    assert await correct_turn_with_model(writing(mind.deps, model), mind.place(), turn("why is the sky blue?")) == []
    assert script.asked == []


async def test_a_turn_in_another_language_is_read_by_a_model_and_a_question_is_not(store: Store):
    mind = Mind(store)
    model, _ = build_scripted_model(reading(("Meine Schwester Ana spielt Schach", [])))

    asked = await correct_turn_with_model(writing(mind.deps, model), mind.place(), turn("Wer spielt hier Schach?", 1))
    said = turn("Meine Schwester Ana spielt seit Jahren Schach.", 2)
    await correct_turn_with_model(writing(mind.deps, model), mind.place(), said)

    assert asked == []
    assert await texts(store) == ["Meine Schwester Ana spielt Schach"]


@pytest.mark.parametrize(
    ("text", "is_ours"),
    [
        ("my boss Ingrid hates jargon", True),
        ("prod is in eu-west-1", True),
        ("Unsere Bäckerei schließt um sechs", False),
        ("Ma tante habite au bord de la mer", False),
        ("danke", True),
    ],
)
def test_a_text_of_a_few_words_without_english_ones_is_in_another_language(text: str, is_ours: bool):
    assert is_english(text) is is_ours
