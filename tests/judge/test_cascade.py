"""Who is asked how two statements relate, in which order, and when is it enough?"""

from typing import Any

import pytest
from tests.judge.judging import UNDECIDED, House, pair
from tests.judge.test_pair_reader import ScriptedScorer

from festinger.errors import Overloaded, ProviderDown
from festinger.ids import MAIN_SPACE
from festinger.judge.cascade import CascadeConfig, RelationAnswer, accept_if_sure, settle_last_judgement
from festinger.judge.model import CurrentSide, Judgement, PairJudgement, Relation
from festinger.judge.pair_reader import NAME, PairReader
from festinger.judge.records import save_person_decision
from festinger.judge.rules import decide
from festinger.llm.providers.scripted import FailStep, SayStep, build_scripted_model
from festinger.store.pool import Store


def word(relation: str = "refines", *, confidence: float = 0.9, current: str = "both") -> RelationAnswer:
    said: dict[str, Any] = {"relation": relation, "confidence": confidence, "current": current}
    return RelationAnswer(reasoning="because", **said)


@pytest.mark.requirement("J-03")
async def test_what_rules_are_sure_of_asks_no_llm(store: Store):
    model, script = build_scripted_model()
    server = House(store, model=model)

    [found] = await server.cascade.with_model_all(MAIN_SPACE, [pair("Anna lives in Paris", "Anna lives in Rome")])

    assert (found.relation, found.judge) == (Relation.UPDATE, decide.NAME)
    assert script.asked == []


@pytest.mark.requirement("J-03")
async def test_the_reader_is_asked_next_and_then_the_llm(store: Store):
    model, script = build_scripted_model(word())
    server, scorer = House(store, model=model), ScriptedScorer(Relation.UNRELATED)
    server.cascade.set_reader(PairReader(scorer))

    [by_reader] = await server.cascade.with_model_all(MAIN_SPACE, [pair(*UNDECIDED, similarity=0.7)])
    assert script.asked == []
    scorer.also = Relation.UPDATE
    unclear = pair("Bert juggles clubs", "Bert juggles knives", similarity=0.7)
    [by_llm] = await server.cascade.with_model_all(MAIN_SPACE, [unclear])

    assert (by_reader.relation, by_reader.judge) == (Relation.UNRELATED, NAME)
    assert (by_llm.relation, by_llm.judge) == (Relation.REFINES, "llm:scripted:script")
    assert len(script.asked) == 1


@pytest.mark.requirement("J-03")
async def test_a_model_without_a_usable_answer_takes_back_nothing_that_the_reader_goes_by(store: Store):
    bad = SayStep(text="Sure, noted.")
    model, script = build_scripted_model(bad, bad)
    server, scorer = House(store, model=model), ScriptedScorer(Relation.UPDATE)
    scorer.also = Relation.UNRELATED
    server.cascade.set_reader(PairReader(scorer))
    unclear = pair("Bert juggles clubs", "Bert juggles knives", similarity=0.7)

    [quick] = await server.cascade.at_once(MAIN_SPACE, [unclear])
    [asked] = await server.cascade.with_model_all(MAIN_SPACE, [unclear])

    assert script.asked
    assert quick.current is CurrentSide.NEW
    assert (asked.relation, asked.current, asked.confidence) == (Relation.UNSURE, quick.current, quick.confidence)


@pytest.mark.requirement("J-03")
async def test_only_rules_and_the_reader_run_at_once(store: Store):
    model, script = build_scripted_model(word())
    server = House(store, model=model)

    [quick] = await server.cascade.at_once(MAIN_SPACE, [pair(*UNDECIDED)])
    [slow] = await server.cascade.with_model_all(MAIN_SPACE, [pair(*UNDECIDED)])

    assert (quick.relation, quick.final) == (Relation.UNSURE, False)
    assert (slow.relation, slow.final, slow.judge) == (Relation.REFINES, True, "llm:scripted:script")
    assert len(script.asked) == 1


@pytest.mark.requirement("J-12", "J-03")
async def test_without_a_model_what_rules_cannot_tell_waits(store: Store):
    [found] = await House(store).cascade.with_model_all(MAIN_SPACE, [pair(*UNDECIDED)])

    assert (found.relation, found.final, found.judge) == (Relation.UNSURE, False, decide.NAME)


LAST = {
    "a sure merge": (Relation.SAME, 0.8, Relation.SAME),
    "an unsure merge": (Relation.SAME, 0.79, Relation.UNSURE),
    "a conflict": (Relation.CONTRADICTS, 0.5, Relation.CONTRADICTS),
    "an update that will be a conflict": (Relation.UPDATE, 0.5, Relation.UPDATE),
    "two that stay": (Relation.REFINES, 0.5, Relation.REFINES),
    "nothing to do": (Relation.UNRELATED, 0.5, Relation.UNRELATED),
    "hardly a conflict": (Relation.CONTRADICTS, 0.49, Relation.UNSURE),
    "unsure": (Relation.UNSURE, 0.99, Relation.UNSURE),
}


@pytest.mark.requirement("J-03")
@pytest.mark.parametrize(("relation", "confidence", "stands"), LAST.values(), ids=LAST)
def test_the_last_judge_needs_less_where_nothing_is_merged(relation: Relation, confidence: float, stands: Relation):
    said = Judgement(relation=relation, confidence=confidence, judge="llm:x", reasoning="r", prompt_hash="h")

    found = settle_last_judgement(said, accept=0.8)

    assert (found.relation, found.final) == (stands, stands is not Relation.UNSURE)
    assert found.prompt_hash == "h"


@pytest.mark.requirement("J-03")
@pytest.mark.parametrize(("confidence", "is_final"), [(0.8, True), (0.79, False)])
def test_a_judge_before_the_last_ends_it_only_when_sure(confidence: float, is_final: bool):
    said = Judgement(relation=Relation.CONTRADICTS, confidence=confidence, judge="rules@1", reasoning="r")

    found = accept_if_sure(said, accept=0.8)

    assert found.final is is_final
    assert found.relation is (Relation.CONTRADICTS if is_final else Relation.UNSURE)
    assert "contradicts" in found.relation or "contradicts" in found.reasoning


@pytest.mark.requirement("J-02")
async def test_the_same_texts_are_not_judged_twice_by_one_model(store: Store):
    model, script = build_scripted_model(word())
    server = House(store, model=model)
    first = pair(*UNDECIDED)
    [said] = await server.cascade.with_model_all(MAIN_SPACE, [first])
    await server.keep(MAIN_SPACE, PairJudgement(pair=first, judgement=said))

    [again] = await server.cascade.with_model_all(MAIN_SPACE, [pair(UNDECIDED[0].upper(), f"{UNDECIDED[1]}.")])

    assert again == said
    assert len(script.asked) == 1


@pytest.mark.requirement("J-02", "F-72")
async def test_a_persons_word_overrules_all_and_is_never_asked_again(store: Store):
    model, script = build_scripted_model()
    server = House(store, model=model)
    updating = pair("Anna lives in Paris", "Anna lives in Rome")
    async with store.transaction() as transaction:
        await save_person_decision(
            server.deps,
            transaction,
            MAIN_SPACE,
            updating,
            name="ada",
            relation=Relation.UNRELATED,
            current=CurrentSide.BOTH,
        )

    [quick] = await server.cascade.at_once(MAIN_SPACE, [pair("Anna lives in Paris", "Anna lives in Rome")])
    [slow] = await server.cascade.with_model_all(MAIN_SPACE, [pair("anna lives in paris", "anna lives in rome")])

    assert (quick.relation, quick.judge, quick.confidence) == (Relation.UNRELATED, "person:ada", 1.0)
    assert slow == quick
    assert script.asked == []


async def test_over_the_budget_pairs_wait_and_nothing_is_decided(store: Store):
    model, script = build_scripted_model(word(), word())
    server = House(store, model=model, terms=CascadeConfig(calls_per_hour=1))
    pairs = [pair(*UNDECIDED), pair("Bert juggles clubs", "Bert juggles knives", similarity=0.9)]

    found = await server.cascade.with_model_all(MAIN_SPACE, pairs)

    assert [each.relation for each in found] == [Relation.UNSURE, Relation.REFINES], "the most similar is asked first"
    assert len(script.asked) == 1


async def test_what_was_asked_within_the_hour_counts(store: Store):
    model, script = build_scripted_model(word())
    server = House(store, model=model, terms=CascadeConfig(calls_per_hour=1))
    first = pair(*UNDECIDED)
    [said] = await server.cascade.with_model_all(MAIN_SPACE, [first])
    await server.keep(MAIN_SPACE, PairJudgement(pair=first, judgement=said))

    [later] = await server.cascade.with_model_all(MAIN_SPACE, [pair("Bert juggles clubs", "Bert juggles knives")])

    assert later.relation is Relation.UNSURE
    assert len(script.asked) == 1


@pytest.mark.parametrize("error", [ProviderDown("gone"), Overloaded("busy")], ids=["down", "overloaded"])
async def test_a_model_that_is_away_has_tried_nothing(store: Store, error: Exception):
    model, _ = build_scripted_model(FailStep(error=error))  # type: ignore[arg-type]
    server = House(store, model=model)

    [found] = await server.cascade.with_model_all(MAIN_SPACE, [pair(*UNDECIDED)])

    assert (found.relation, found.judge) == (Relation.UNSURE, decide.NAME)


async def test_nothing_is_said_of_no_pairs(store: Store):
    assert await House(store).cascade.at_once(MAIN_SPACE, []) == []
    assert await House(store).cascade.with_model_all(MAIN_SPACE, []) == []


@pytest.mark.parametrize("read_as", [Relation.UNRELATED, Relation.CONTRADICTS])
async def test_a_configured_model_judges_what_is_alike_and_the_reader_keeps_apart(store: Store, read_as: Relation):
    model, script = build_scripted_model(word("same"))
    server = House(store, model=model)
    server.cascade.set_reader(PairReader(ScriptedScorer(read_as)))
    alike = pair(*UNDECIDED, similarity=0.86)

    [at_once] = await server.cascade.at_once(MAIN_SPACE, [alike])
    [asked] = await server.cascade.with_model_all(MAIN_SPACE, [alike])

    assert (at_once.relation, at_once.final) == (Relation.UNSURE, False)
    assert (asked.relation, asked.judge, len(script.asked)) == (Relation.SAME, "llm:scripted:script", 1)


async def test_the_reader_stands_where_no_model_is_configured_or_it_cannot_tell(store: Store):
    alike = pair(*UNDECIDED, similarity=0.86)
    found = []
    for model in (None, build_scripted_model(word("unsure"))[0]):
        server = House(store, model=model)
        server.cascade.set_reader(PairReader(ScriptedScorer(Relation.UNRELATED)))
        found += await server.cascade.with_model_all(MAIN_SPACE, [alike])

    assert [(each.relation, each.judge) for each in found] == [(Relation.UNRELATED, NAME)] * 2


async def test_no_model_is_asked_whether_one_ticket_is_another(store: Store):
    model, script = build_scripted_model(word("update"))
    server = House(store, model=model)
    server.cascade.set_reader(PairReader(ScriptedScorer(Relation.UNRELATED)))

    await server.cascade.with_model_all(
        MAIN_SPACE, [pair("Ticket 311 is Ben's", "Ticket 312 is Ben's", similarity=0.95)]
    )

    assert script.asked == []
