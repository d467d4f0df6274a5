"""How does a name that stands out get explained?"""

import json
from typing import Any

import pytest
from tests.jobs.deps import rows
from tests.world.worldly import Bench, events, queue, table

from festinger.ids import MAIN_SPACE, Origin
from festinger.llm.providers.scripted import build_scripted_model
from festinger.store.pool import Store
from festinger.world.edge_statements import apply_statement
from festinger.world.explain import (
    ExplanationAnswer,
    ExplanationFact,
    ask_and_write_explanation,
    filter_triples,
    list_unexplained_names,
)


def fact(**more: Any) -> ExplanationFact:
    plain = {"concept": "gnommoweb", "parent": "repo", "dimension": "type", "is_isa": True, "confidence": 0.9}
    return ExplanationFact(**{**plain, **more})


def answer(*facts: ExplanationFact) -> ExplanationAnswer:
    return ExplanationAnswer(reasoning="the sentences say so", facts=list(facts))


async def met(bench: Bench, times: int, *, first: int = 0) -> None:
    for number in range(first, first + times):
        await bench.hear(f"look at gnommoweb, number {number}, once more", session=f"s{number % 3}")
        await bench.flush()


@pytest.mark.requirement("W-22", "W-54", "W-55", "W-58")
async def test_the_sixteenth_mention_asks_the_model_once_and_its_triples_become_edges(store: Store):
    bench = await Bench(store).open()
    await met(bench, 15)
    before = list(bench.asked)
    await met(bench, 3, first=15)
    model, script = build_scripted_model(
        answer(fact(), fact(parent="glitch_university", dimension="membership", is_isa=False))
    )

    ((concept, _),) = bench.asked
    written = await ask_and_write_explanation(bench.deps, MAIN_SPACE, concept, model=model)

    assert before == []
    assert written == 2
    assert await table(store) == {
        ("gnommoweb", "repo", "type", True, 0.8),
        ("gnommoweb", "glitch_university", "membership", False, 0.8),
    }
    assert bench.world().soas_by_token["gnommoweb"].novelty == 1.0
    assert (await bench.hear("open gnommoweb")).lines == ("gnommoweb: [type] repo [membership] glitch_university",)
    (asked,) = script.asked
    assert asked.messages[0].text.count("look at gnommoweb") == 5
    assert "[person, 2026-01-05] look at gnommoweb, number 17, once more" in asked.messages[0].text
    (source,) = await rows(store, "select distinct source, origin from urd where id <> parent_id")
    assert source == {"source": "cloud_llm", "origin": "model"}
    kept = await rows(store, "select distinct model, prompt_hash from urd_cause")
    assert kept == [{"model": "scripted:script", "prompt_hash": asked.messages[0].prompt_hash}]


@pytest.mark.requirement("W-54")
async def test_a_name_that_only_pages_say_is_never_asked_about(store: Store):
    bench = await Bench(store).open()

    for number in range(20):
        await bench.hear(f"acmecorp {number}", origin=Origin.TOOL)
    await bench.flush()

    assert bench.world().soas_by_token["acmecorp"].encounter_count == 20
    assert bench.asked == []


async def test_without_a_model_a_name_is_wanted_and_nothing_fails(store: Store):
    bench = await Bench(store).open()
    await met(bench, 16)
    ((concept, _),) = bench.asked

    written = await ask_and_write_explanation(bench.deps, MAIN_SPACE, concept, model=None)

    assert written == 0
    assert [row["token"] for row in await list_unexplained_names(bench.deps, MAIN_SPACE)] == ["gnommoweb"]
    assert len(await events(store, "concept_wanted")) == 1
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))
    assert await list_unexplained_names(bench.deps, MAIN_SPACE) == []


@pytest.mark.requirement("W-56")
@pytest.mark.parametrize(
    ("given", "is_believed"),
    [
        (fact(), True),
        (fact(concept="Gnommoweb"), True),
        (fact(concept="dobby"), False),
        (fact(parent="gnommoweb"), False),
        (fact(parent="the"), False),
        (fact(parent=""), False),
        (fact(parent="Red Panda"), True),
        (fact(confidence=0.49), False),
        (fact(confidence=1.01), False),
        (fact(confidence=-1.0), False),
        (fact(dimension="habitat"), False),
        (fact(dimension="habitat", is_new_dimension=True), True),
        (fact(dimension="where-it-lives-now", is_new_dimension=True), False),
        (fact(dimension="gnommoweb", is_new_dimension=True), False),
    ],
)
def test_each_triple_is_looked_at_by_itself(given: ExplanationFact, is_believed: bool):
    found = list(filter_triples(answer(given, fact(parent="app")), "gnommoweb", dimensions=("type",)))

    assert len(found) == 1 + is_believed


@pytest.mark.requirement("W-56")
def test_a_missing_confidence_is_middling_and_a_high_one_is_cut():
    plain, sure = filter_triples(
        answer(fact(confidence=None), fact(parent="app", confidence=1.0)), "gnommoweb", dimensions=("type",)
    )

    assert (plain.confidence, sure.confidence) == (0.7, 0.8)


@pytest.mark.requirement("W-56")
def test_at_most_eight_triples_are_taken():
    many = answer(*(fact(parent=f"parent{number}") for number in range(12)))

    assert len(list(filter_triples(many, "gnommoweb", dimensions=("type",)))) == 8


@pytest.mark.requirement("W-56")
async def test_a_triple_that_would_close_a_circle_is_dropped(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("repo gnommoweb"))
    await met(bench, 5)
    concept = bench.world().soas_by_token["gnommoweb"].id
    model, _ = build_scripted_model(answer(fact()))

    written = await ask_and_write_explanation(bench.deps, MAIN_SPACE, concept, model=model)

    assert written == 0
    assert await queue(store) == []


@pytest.mark.requirement("W-56")
async def test_an_unusable_answer_is_told_and_tried_three_times(store: Store):
    bench = await Bench(store).open()
    await met(bench, 5)
    concept = bench.world().soas_by_token["gnommoweb"].id
    for tries in (1, 2, 3):
        model, script = build_scripted_model("no json", "still none")
        await ask_and_write_explanation(bench.deps, MAIN_SPACE, concept, model=model, tries=tries)
        assert len(script.asked) == 2

    assert bench.asked == [(concept, 2), (concept, 3)]
    assert [event["payload"]["attempts"] for event in await events(store, "write_failed")] == [1, 2, 3]


@pytest.mark.requirement("W-55")
async def test_sentences_are_kept_from_the_fourth_mention_without_secrets_and_only_the_last_five(store: Store):
    bench = await Bench(store).open()
    await met(bench, 3)
    before = await rows(store, "select text from soas_sentence")
    await bench.hear("gnommoweb uses the key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD now")
    await bench.hear(f"gnommoweb {'goes on and on ' * 60}")
    await bench.flush()
    kept = [row["text"] for row in await rows(store, "select text from soas_sentence order by id")]
    await met(bench, 9, first=10)

    assert before == []
    assert "sk-proj" not in json.dumps(kept)
    assert max(map(len, kept)) <= 300
    of_name = "select count(*) from soas_sentence s join soas c on c.id = s.concept_id where c.token = 'gnommoweb'"
    assert await rows(store, of_name) == [{"count": 5}]
