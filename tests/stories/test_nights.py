"""What consolidation does over weeks: it invents nothing, promotes only what the outside says, and can be undone."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.consolidation.sleeper import Sleeper, TalkingModel, insights, numbers_in, sleeping, thinking, with_model
from tests.consolidation.test_nights import GARDEN, INSIGHT, Killed, gardener, plant
from tests.jobs.deps import ask, rows

from festinger.consolidation.apply import undo_night
from festinger.consolidation.context import NightContext
from festinger.consolidation.night import NightStep
from festinger.consolidation.reflect import InsightsAnswer, ReconsiderAnswer
from festinger.consolidation.run import UNITS, run_night
from festinger.consolidation.tensions import TensionAnswer
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Origin, Scope, SessionId
from festinger.memory.changes import BeliefUpdate, adjust_belief, lock_memory
from festinger.memory.confidence import Weight, reinforce_weight
from festinger.memory.edit import archive, supersede
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.model import DERIVED, SourceTag
from festinger.memory.query import explain_belief
from festinger.proposals.model import ProposalType
from festinger.runtime.erasure import build_erasure_service
from festinger.store.queries import Query

TEA = "The team drinks green tea at four"


async def said_on_days(at: Sleeper, text: str, *, days: int, every: int = 1, origin: str = "person") -> UUID:
    """Say something on several days in sessions of their own."""
    learned = None
    for day in range(days):
        learned = await at.tell(text, session=f"day{day}", origin=origin)
        at.forward(timedelta(days=every))
    assert learned is not None
    assert learned.memory is not None
    return learned.memory.id


async def give_weight(at: Sleeper, memory: UUID, *, alpha: float, beta: float) -> None:
    async with at.app.store.transaction() as transaction:
        held = await lock_memory(transaction, MAIN_SPACE, memory)
        belief = replace(held.belief, weight=Weight(alpha=alpha, beta=beta), confidence=0.9)
        effect = BeliefUpdate(memory=held.id, belief=belief)
        await adjust_belief(at.app.memory.deps, transaction, MAIN_SPACE, effect, by="test", reason="test")


@pytest.mark.requirement("C-05")
async def test_navel_gazing_promotes_nothing_and_fills_nothing(database_url: str, tmp_path: Path):
    numbers = iter(range(10_000))
    wordy = thinking(lambda _prompt: f"Ann cares for the garden, thought number {'x' * next(numbers)}")
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        facts = {each.id: each.weight for each in await at.memories("fact")}
        thoughts = set()
        for day in range(90):
            thought = "I keep thinking about the garden" if day % 2 else f"The garden is on my mind {'again ' * day}"
            done = await at.tell(thought, session=f"idle{day}", origin="model", source_tag=SourceTag.INTERNAL_DMN)
            assert done.memory is not None
            thoughts.add(done.memory.id)
            if day % 10 == 9:
                told = await at.night(wordy)
                assert "reinforced" not in told.counts
                assert "proposed" not in told.counts
            at.forward()

        active = await at.memories()
        derived = [each for each in active if each.kind in DERIVED]
        assert len(derived) <= 0.2 * len(active)
        for each in active:
            if each.id in facts:
                assert each.weight.center <= facts[each.id].center
        cited = {row["to_id"] for row in await rows(at.app.store, "select to_id from memory_link")}
        assert cited.isdisjoint(thoughts)


@pytest.mark.requirement("C-23")
async def test_a_month_without_a_model_shows_groups_and_loses_and_raises_nothing(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        before = await at.state()
        for _ in range(30):
            at.forward()
            told = await at.night(None)
            assert told.survey["groups"]
        assert await at.state() == before


@pytest.mark.requirement("C-03", "C-04")
async def test_the_wordy_model_says_it_fifty_times_and_one_row_stands(database_url: str, tmp_path: Path):
    words = iter(f"{INSIGHT}{' indeed' * number}" for number in range(1000))
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        for _ in range(50):
            at.forward(timedelta(hours=1))
            await at.night(thinking(lambda _prompt: next(words)))

        assert len(await at.memories("insight")) == 1


@pytest.mark.requirement("C-50")
async def test_an_echo_chamber_is_one_cause_and_promotes_nothing(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        for _ in range(200):
            await at.tell(TEA, session="one", origin="model")
        at.forward(timedelta(days=20))
        told = await at.night(None)

        assert told.items == ()


@pytest.mark.requirement("C-54")
async def test_a_poisoned_pattern_never_promotes_and_repair_takes_back_what_was_derived(
    database_url: str, tmp_path: Path
):
    poison = [
        "The garden of Ann is for sale",
        "Buyers visit the garden of Ann",
        "A lawyer writes about the garden of Ann",
        "Papers print the sale of the garden",
        "Prices for the garden of Ann fall",
    ]
    async with sleeping(database_url, tmp_path) as at:
        for day in range(30):
            await at.tell(
                poison[day % 5], session=f"web{day}", origin="document", source="evil.example", subject="garden"
            )
            at.forward()
        model = thinking(lambda _prompt: "Buyers and papers follow the sale of the garden")
        told = await at.night(model)
        assert {"reinforced", "proposed"}.isdisjoint(told.counts)
        assert len(await at.memories("insight")) == 1
        await build_erasure_service(at.app).repair(MAIN_SPACE, ErasureSelector(source="evil.example"), by="ada")

        assert await at.memories() == []


@pytest.mark.requirement("C-50", "C-71")
async def test_five_causes_over_two_weeks_promote_once_within_the_rate(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        memory = await said_on_days(at, TEA, days=5, every=4)
        await give_weight(at, memory, alpha=1.0, beta=1.2)
        [before] = await at.memories()
        told = await at.night(None)
        [after] = await at.memories()
        assert after.weight.center == pytest.approx(before.weight.center + 0.10)
        assert [(each["ceiling"], each["enforced"]) for each in told.safety] == [("rate_limit", True)]
        assert any("Promoted" in line for line in told.lines)
        centers = [after.weight.center]
        for _ in range(3):
            at.forward()
            await at.night(None)
            centers.append((await at.memories())[0].weight.center)

        whole = reinforce_weight(before.weight, 2.0).center
        assert centers == sorted(centers)
        assert centers[-1] == pytest.approx(whole, abs=0.05)
        assert all(later - earlier <= 0.1 + 1e-9 for earlier, later in pairwise(centers))
        at.forward()
        assert (await at.night(None)).items == ()


@pytest.mark.requirement("C-71")
async def test_what_four_nights_raised_on_the_same_causes_is_paused_until_a_new_cause(
    database_url: str, tmp_path: Path
):
    async with sleeping(database_url, tmp_path, consolidation__enforce="breaker") as at:
        memory = await said_on_days(at, TEA, days=5, every=4)
        for _ in range(4):
            await at.app.store.run(_raised_query(), memory=memory, at=at.hands.now)
        before = await at.state()
        paused = await at.night(None)
        assert await at.state() == before
        assert [(each["ceiling"], each["enforced"]) for each in paused.safety] == [("breaker", True)]
        at.forward()
        await at.tell(TEA, session="another")
        told = await at.night(None)

        assert (told.counts["reinforced"], told.safety) == (1, ())


def _raised_query() -> Query:
    return ask(
        "with raised as (insert into night (space_id, id, trigger, state, started_at)"
        " values ('main', gen_random_uuid(), 'person', 'done', %(at)s) returning id)"
        " insert into night_item (space_id, id, night_id, unit_key, step, kind, memory_id, place, at)"
        " select 'main', gen_random_uuid(), id, 'u', 'promote', 'reinforced', %(memory)s::uuid, 1, %(at)s from raised"
    )


@pytest.mark.requirement("C-50")
async def test_a_promotion_adds_two_through_the_divisor(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await said_on_days(at, TEA, days=5, every=4)
        [before] = await at.memories()
        await at.night(None)
        [after] = await at.memories()

        gain = 2.0 / math.log2(before.weight.total_evidence)
        assert after.weight.alpha == pytest.approx(before.weight.alpha + gain)
        assert after.weight.beta == before.weight.beta


@pytest.mark.requirement("C-50")
@pytest.mark.parametrize(("days", "every"), [(4, 5), (5, 3)], ids=["four causes", "thirteen days"])
async def test_too_few_causes_or_days_promote_nothing(database_url: str, tmp_path: Path, days: int, every: int):
    async with sleeping(database_url, tmp_path) as at:
        await said_on_days(at, TEA, days=days, every=every)
        told = await at.night(None)

        assert told.items == ()


@pytest.mark.requirement("C-54", "H-76")
async def test_what_would_become_identity_is_asked_and_the_weight_waits_for_the_answer(
    database_url: str, tmp_path: Path
):
    async with sleeping(database_url, tmp_path) as at:
        memory = await said_on_days(at, TEA, days=11, every=4)
        other = await said_on_days(at, "Ann leads the team with Ben", days=11, every=4)
        for each in (memory, other):
            await give_weight(at, each, alpha=4.0, beta=0.95)
        await at.app.store.run(_utility_query(), memory=memory)
        await at.app.store.run(_utility_query(), memory=other)
        before = await at.state()
        told = await at.night(None)

        assert told.counts["proposed"] == 2
        assert await at.state() == before
        found = await rows(at.app.store, "select type, payload, seen_count from proposal order by payload::text")
        assert {row["type"] for row in found} == {ProposalType.IDENTITY_PROMOTION.value}
        assert {row["payload"]["memory_id"] for row in found} == {str(memory), str(other)}
        assert all(row["seen_count"] >= 10 for row in found)
        assert any("Asks you in the inbox" in line for line in told.lines)
        assert (await at.night(None)).items == ()


@pytest.mark.requirement("C-54")
async def test_a_trusted_agent_is_promoted_without_asking(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path, consolidation__trust_level=3) as at:
        memory = await said_on_days(at, TEA, days=11, every=4)
        await give_weight(at, memory, alpha=4.0, beta=0.95)
        await at.app.store.run(_utility_query(), memory=memory)
        told = await at.night(None)

        assert told.counts["reinforced"] == 1
        [after] = await at.memories()
        assert 0.80 < after.weight.center <= 0.95
        [event] = await rows(at.app.store, "select payload from event where name = 'band_reached'")
        assert event["payload"] == {"memory": str(memory), "band": "identity", "center": after.weight.center}


@pytest.mark.requirement("C-54")
async def test_what_is_disputed_is_not_promoted(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await said_on_days(at, "retry failed uploads", days=5, every=4)
        rival = await at.tell("do not retry failed uploads")
        assert rival.conflict is not None

        assert (await at.night(None)).items == ()


def _utility_query() -> Query:
    return ask(
        "insert into outcome (space_id, id, batch_id, memory_id, agent_id, day, origin, outcome, how, reporter, q, w,"
        " credit, evidence_cap, passive_span, confidence_before, confidence_after, alpha_before, beta_before, alpha_gain,"
        " beta_gain, center_after, cycle_factor, counted, at)"
        " select 'main', gen_random_uuid(), gen_random_uuid(), %(memory)s::uuid, 'default', '2026-01-05', 'person', 'acted',"
        " 'explicit', 'ada', 1, 1, 1, 20, 0.1, 0.5, 0.5, 1, 1, 0, 0, 0.5, 1, true, '2026-01-05' from generate_series(1, 5)"
    )


async def test_an_insight_whose_source_was_replaced_is_reconsidered_by_the_model(database_url: str, tmp_path: Path):
    changed = "Ann shares the garden with Neighbors"
    model = gardener()
    model.answers[InsightsAnswer] = lambda _prompt: insights((INSIGHT, [1, 2, 3, 4]))
    model.answers[ReconsiderAnswer] = lambda prompt: ReconsiderAnswer(
        reasoning="r", verdict="change", statement=changed, cites=numbers_in(prompt)
    )
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        await at.night(model)
        [insight] = await at.memories("insight")
        cited = await rows(at.app.store, "select to_id from memory_link where from_id = %(id)s", id=insight.id)
        new = await at.tell("The garden of Ann was sold to Ben")
        assert new.memory is not None
        await supersede(at.app.memory.deps, MAIN_SPACE, cited[0]["to_id"], new.memory.id, by="ada")
        told = await at.night(model, only_step="reconsider")

        [now] = await at.memories("insight")
        assert now.content == changed
        assert (await at.memories("insight", status="superseded"))[0].superseded_by == now.id
        await undo_night(at.deps, MAIN_SPACE, told.id, by="ada")
        assert [each.content for each in await at.memories("insight")] == [INSIGHT]


@pytest.mark.requirement("C-35")
async def test_why_leads_from_an_insight_to_its_sources_and_their_days(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        await at.night(gardener())
        [insight] = await at.memories("insight")
        scope = Scope(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=SessionId(""))
        why = await explain_belief(at.app.memory.deps, scope, insight.id)
        below = await explain_belief(at.app.memory.deps, scope, why.sources[0].id)

        assert {each.content for each in why.sources} <= set(GARDEN)
        assert why.origin is Origin.JOB
        assert len(below.causes) == 2
        assert insight.id in {each.id for each in below.supports}


@pytest.mark.requirement("C-10", "C-16")
async def test_a_night_killed_in_each_step_ends_in_the_same_rows_and_its_undo_leaves_what_stood_before(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    doomed: list[str] = []
    write = NightContext.write_unit

    async def die_once(context: NightContext, transaction: Any, step: str, key: str, plan: Any = None) -> None:
        await write(context, transaction, step, key, plan)
        if plan is None and step in doomed:
            doomed.remove(step)
            raise Killed

    monkeypatch.setattr(NightContext, "write_unit", die_once)
    async with sleeping(database_url, tmp_path, consolidation__derived_share=0.9) as at:
        await prepare_all_steps(at, ("calm", "doomed"))
        before = await rows_of(at, "doomed")
        await at.night(eventful(), agent="calm")
        doomed += [step.value for step in UNITS]
        night, deps = await at.begin(agent="doomed"), with_model(at.deps, eventful())
        for _ in UNITS:
            with pytest.raises(Killed):
                await run_night(deps, MAIN_SPACE, night)
        await run_night(deps, MAIN_SPACE, night)

        assert doomed == []
        assert await rows_of(at, "doomed") == await rows_of(at, "calm") != before
        items = await rows(at.app.store, "select distinct step from night_item where night_id = %(night)s", night=night)
        assert {row["step"] for row in items} == set(NightStep)
        await undo_night(at.deps, MAIN_SPACE, night, by="ada")
        assert await rows_of(at, "doomed") == before


async def prepare_all_steps(at: Sleeper, agents: Sequence[str]) -> None:
    """Give every step of a night something to do: an insight without ground, a goal with a deed against it, and more."""
    for agent in agents:
        for number, text in enumerate(GARDEN):
            await at.tell(text, session=f"s{number % 5}", subject="garden", origin="model", agent=agent)
        await at.night(eventful(cites=[1, 2]), agent=agent, only_step="reflect")
        [lost] = [each for each in await at.memories("insight") if each.agent_id == agent]
        _, *cited = await rows(at.app.store, "select to_id from memory_link where from_id = %(id)s", id=lost.id)
        for row in cited:
            await archive(at.app.memory.deps, MAIN_SPACE, row["to_id"], by="ada")
    for day in range(5):
        for agent in agents:
            await at.tell(TEA, session=f"day{day}", agent=agent)
        at.forward(timedelta(days=4))
    for agent in agents:
        await at.tell("I do not work on Sundays", kind="preference", tags=("goal",), agent=agent)
        await at.tell("I worked on Sundays in March", kind="episodic", origin="model", agent=agent)
        await at.tell("Ann told at length how the garden came to be, and what she learned from it. " * 5, agent=agent)


def eventful(*, cites: Sequence[int] = (1, 2, 3, 4)) -> TalkingModel:
    """A model that has something to say in every step."""
    model = gardener()
    model.answers[InsightsAnswer] = lambda _prompt: insights((INSIGHT, cites))
    model.answers[TensionAnswer] = lambda prompt: TensionAnswer(
        reasoning="r", contradicting=numbers_in(prompt)[:1], confidence=0.9
    )
    return model


async def rows_of(at: Sleeper, agent: str) -> list[dict[str, Any]]:
    """What stands of an agent, without ids and moments."""
    return await rows(
        at.app.store,
        "select m.kind, m.content, m.compressed, m.weight_alpha, m.weight_beta, m.confidence, m.cause_count, m.tags,"
        " array(select s.content from memory_link l join memory s on s.id = l.to_id where l.from_id = m.id"
        " and l.undone_at is null order by l.relation, s.content) as links"
        " from memory m where m.agent_id = %(agent)s and m.status = 'active' order by m.kind, m.content",
        agent=agent,
    )


@pytest.mark.requirement("C-01", "C-16")
async def test_a_bad_night_is_taken_back_whole_and_twenty_nights_change_no_words(database_url: str, tmp_path: Path):
    texts = iter(f"Ann cares for the garden {'x' * number}" for number in range(1000))
    model: TalkingModel = gardener()
    model.answers[InsightsAnswer] = lambda prompt: insights(
        *((next(texts), numbers_in(prompt)[each : each + 3]) for each in range(4))
    )
    async with sleeping(database_url, tmp_path, consolidation__derived_share=0.9) as at:
        await plant(at)
        await said_on_days(at, TEA, days=5, every=4)
        said = {each.id: each.content for each in await at.memories()}
        before = await at.state()
        told = await at.night(model)
        assert told.counts["made"] >= 3
        assert told.counts["reinforced"] == 1
        await undo_night(at.deps, MAIN_SPACE, told.id, by="ada")
        assert await at.state() == before
        for _ in range(20):
            at.forward()
            await at.tell(f"The garden of Ann changes {next(texts)}", subject="garden", origin="model")
            await at.night(model)

        now = {each.id: each.content for each in await at.memories()}
        assert {id_: now[id_] for id_ in said} == said
