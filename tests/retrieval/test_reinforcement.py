"""A recall moves weights only where somebody asked for it, and never on the whole."""

import random
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.deps import rows
from tests.retrieval.recalling import Recaller

from festinger.errors import BadSetting
from festinger.ids import MAIN_SPACE
from festinger.memory.confidence import Weight
from festinger.retrieval.index.terms import recount_words
from festinger.retrieval.reinforcement import LOWERED, RAISED, SPAN, ReinforcementTarget, reinforced_weights
from festinger.settings.keys import KEYS, parse_value
from festinger.store.pool import Store


def memory(number: int, weight: Weight, amount: float, moved: float = 0.0) -> ReinforcementTarget:
    return ReinforcementTarget(id=UUID(int=number), weight=weight, amount=amount, moved=moved)


WEIGHTS = st.builds(Weight, alpha=st.floats(0.5, 30), beta=st.floats(0.5, 30))


@pytest.mark.requirement("R-61")
@given(st.lists(WEIGHTS, min_size=1, max_size=5), st.lists(WEIGHTS, max_size=15))
def test_both_sides_of_a_recall_cancel_out(best: list[Weight], missed: list[Weight]):
    up = [memory(number, weight, RAISED) for number, weight in enumerate(best)]
    down = [memory(100 + number, weight, LOWERED) for number, weight in enumerate(missed)]

    after = reinforced_weights(up, down)

    moved = [after[each.id].center - each.weight.center for each in (*up, *down)]
    assert sum(moved) == pytest.approx(0.0, abs=1e-9)
    assert all(by >= -1e-12 for by in moved[: len(up)])
    assert all(by <= 1e-12 for by in moved[len(up) :])


@pytest.mark.requirement("R-61")
def test_a_thousand_recalls_leave_the_mean_and_no_memory_goes_far():
    chance = random.Random(11)
    start = {number: Weight(alpha=chance.uniform(1, 8), beta=chance.uniform(1, 8)) for number in range(40)}
    now = dict(start)
    for _ in range(1000):
        found = chance.sample(sorted(now), 20)
        each = [
            memory(number, now[number], RAISED if place < 5 else LOWERED, now[number].center - start[number].center)
            for place, number in enumerate(found)
        ]
        now |= {id_.int: weight for id_, weight in reinforced_weights(each[:5], each[5:]).items()}

    assert sum(weight.center for weight in now.values()) / 40 == pytest.approx(
        sum(weight.center for weight in start.values()) / 40, abs=1e-6
    )
    assert max(abs(now[number].center - start[number].center) for number in start) <= SPAN + 1e-9
    assert now != start


@pytest.mark.requirement("R-61")
def test_what_a_person_contradicted_is_not_lifted_above_its_ceiling_and_what_is_held_for_good_stays():
    weight = Weight(alpha=2, beta=4)
    capped = ReinforcementTarget(id=UUID(int=1), weight=weight, amount=0.1, ceiling=weight.center)
    fixed = ReinforcementTarget(id=UUID(int=2), weight=Weight(alpha=50, beta=1), amount=0.05, immutable=True)

    assert reinforced_weights([capped], [memory(3, weight, 0.05), fixed])[UUID(int=1)] == weight
    assert fixed.lowered(1.0) == fixed.weight


async def weights(store: Store) -> dict[str, float]:
    found = await rows(store, "select content, weight_alpha / (weight_alpha + weight_beta) as center from memory")
    return {row["content"]: row["center"] for row in found}


@pytest.mark.requirement("R-61")
@pytest.mark.parametrize("mutation", ["count", "strengthen"])
async def test_the_best_rise_what_just_missed_falls_once_per_cause_and_only_where_it_is_switched_on(
    store: Store, mutation: str
):
    mind = Recaller(store, without_embedder=True, settings={"mutation": mutation})
    for number in range(8):
        await mind.put(f"Tea number {number}.")
    await recount_words(mind.searching, MAIN_SPACE)
    before = await weights(store)

    given = await mind.texts("tea")
    await mind.written()
    once = await weights(store)
    await mind.recall("tea")
    await mind.written()

    assert await weights(store) == once
    changes = await rows(store, "select reason from memory_change where op = 'weight'")
    told = await rows(store, "select payload from event where name = 'weights_nudged'")
    if mutation == "count":
        assert once == before
        assert (changes, told) == ([], [])
    else:
        assert {text for text in once if once[text] > before[text]} == set(given)
        assert sum(once.values()) == pytest.approx(sum(before.values()), abs=1e-9)
        assert min(once.values()) < min(before.values())
        assert [row["reason"] for row in changes] == ["retrieval"]
        assert [(row["payload"]["up"], row["payload"]["down"]) for row in told] == [(5, 3)]
    mind.forget_unwritten()


@pytest.mark.requirement("R-61")
async def test_five_hits_or_fewer_move_nothing(store: Store):
    mind = Recaller(store, without_embedder=True, settings={"mutation": "strengthen"})
    for number in range(5):
        await mind.put(f"Tea number {number}.")
    before = await weights(store)

    await mind.recall("tea")
    await mind.written()

    assert await weights(store) == before
    mind.forget_unwritten()


@pytest.mark.requirement("R-61")
@pytest.mark.parametrize(
    ("mutation", "own", "moves"),
    [("count", "strengthen", True), ("strengthen", "count", False)],
    ids=["switched on for one", "switched off for one"],
)
async def test_an_agent_may_have_its_own_choice(store: Store, mutation: str, own: str, *, moves: bool):
    mind = Recaller(
        store, without_embedder=True, settings={"mutation": mutation, "mutation_agents": (f"helper={own}",)}
    )
    for agent in ("helper", "other"):
        await mind.put(*(f"Tea number {number} of {agent}." for number in range(8)), agent=agent)
    before = await weights(store)

    for agent in ("helper", "other"):
        await mind.recall("tea", agent=agent)
    await mind.written()

    after = await weights(store)
    assert {text.split()[-1] for text in after if after[text] != before[text]} == {"helper." if moves else "other."}
    mind.forget_unwritten()


@pytest.mark.requirement("R-61")
async def test_what_slept_is_raised_twice_as_much(store: Store):
    mind = Recaller(store, without_embedder=True, settings={"mutation": "strengthen"})
    await mind.put("Tea tea tea in a dream.", kind="episodic", origin="model")
    mind.forward(timedelta(days=400))
    for number in range(8):
        await mind.put(f"Tea number {number}.")
    await recount_words(mind.searching, MAIN_SPACE)

    given = await mind.texts("tea dream", include=["dormant"])
    await mind.written()

    risen = {
        row["content"]: row["weight_alpha"] - 1.0
        for row in await rows(store, "select content, weight_alpha from memory where weight_alpha > 1.0")
    }
    assert set(risen) == set(given)
    slept = risen.pop("Tea tea tea in a dream.")
    assert list(risen.values()) == [pytest.approx(slept / 2)] * 4
    mind.forget_unwritten()


@pytest.mark.requirement("R-61")
@pytest.mark.parametrize("line", ["helper", "=count", "helper=stop", "helper=count,helper=strengthen"])
def test_a_choice_for_an_agent_names_both_and_stands_once(line: str):
    with pytest.raises(BadSetting, match="an agent and what holds for it"):
        parse_value(KEYS["retrieval.mutation_agents"], line)
