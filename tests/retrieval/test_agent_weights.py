"""How the mind of an agent weighs what comes to it."""

import random
from collections import Counter
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.deps import rows
from tests.memory.remembering import DAY
from tests.retrieval.recalling import Recaller
from tests.retrieval.test_rank_hit import hit

from festinger.retrieval.agent_weights import (
    COMPONENTS,
    HIGHEST,
    LOWEST,
    NO_SHIFT,
    BlendWeights,
    Feeling,
    apply_shifts,
    cold_start_alphas,
    draw_weights,
    emotional_alignment,
    rescale_alphas,
    rescore_hits,
    score_relevance,
    step_shifts,
)
from festinger.retrieval.association import record_co_access
from festinger.settings.retrieval import RetrievalSettings
from festinger.store.pool import Store

SETTINGS = RetrievalSettings()
MATURE = SETTINGS.alpha_mature
ONLY_MATCH = BlendWeights(alphas=MATURE, weights=(1.0, 0.0, 0.0, 0.0, 0.0))


@pytest.mark.requirement("R-52")
@pytest.mark.parametrize(
    ("memories", "alphas"),
    [
        (0, (12, 1, 0.5, 0.5, 3)),
        (100, (12, 1, 0.5, 0.5, 3)),
        (550, (10, 3, 0.5, 1.75, 2.5)),
        (1000, (8, 5, 0.5, 3, 2)),
        (9999, (8, 5, 0.5, 3, 2)),
    ],
)
def test_a_young_mind_goes_by_the_match(memories: int, alphas: tuple[float, ...]):
    assert cold_start_alphas(memories, SETTINGS) == pytest.approx(alphas)


@pytest.mark.requirement("R-52")
def test_the_means_are_those_of_the_parameters():
    chance = random.Random(3)
    draws = [draw_weights(cold_start_alphas(0, SETTINGS), chance).weights for _ in range(4000)]

    means = [sum(draw[place] for draw in draws) / len(draws) for place in range(5)]

    assert means == pytest.approx([0.706, 0.059, 0.029, 0.029, 0.176], abs=0.01)
    assert all(sum(draw) == pytest.approx(1.0) for draw in draws)


@pytest.mark.requirement("R-53")
@given(st.lists(st.tuples(st.integers(0, 4), st.floats(-0.1, 0.1)), max_size=60), st.integers(0, 2000))
def test_whatever_outcomes_teach_the_sum_stays_and_each_stays_within_its_bounds(
    lessons: list[tuple[int, float]], memories: int
):
    base, shifts = cold_start_alphas(memories, SETTINGS), NO_SHIFT
    for component, amount in lessons:
        shifts = step_shifts(base, shifts, component=component, amount=amount)

    alphas = apply_shifts(base, shifts)

    assert sum(alphas) == pytest.approx(sum(base))
    assert all(low <= alpha <= high for low, alpha, high in zip(LOWEST, alphas, HIGHEST, strict=True))


@pytest.mark.requirement("R-53")
def test_a_lesson_moves_its_component_and_the_others_make_room():
    after = apply_shifts(MATURE, step_shifts(MATURE, NO_SHIFT, component=1, amount=0.1))

    assert after[1] > MATURE[1]
    assert after[0] < MATURE[0]
    assert after[1] == pytest.approx(5.1 * 18.5 / 18.6, abs=0.01)


@pytest.mark.requirement("R-53")
def test_chance_never_leads_however_often_it_was_right():
    shifts = NO_SHIFT
    for _ in range(200):
        shifts = step_shifts(MATURE, shifts, component=COMPONENTS.index("noise"), amount=0.1)

    assert apply_shifts(MATURE, shifts)[2] == pytest.approx(1.0)
    assert rescale_alphas(MATURE, total=sum(MATURE)) == MATURE


@pytest.mark.requirement("R-50")
def test_feeling_lies_between_against_and_along_and_says_nothing_while_there_is_none():
    here, along = np.array([0.0, 0.0], dtype=np.float32), np.array([1.0, 0.0], dtype=np.float32)
    felt = Feeling(subconscious=here, delta=along)

    assert emotional_alignment(along, felt) == pytest.approx(1.0)
    assert emotional_alignment(-along, felt) == pytest.approx(0.0)
    assert emotional_alignment(along, None) == 0.5
    assert emotional_alignment(None, felt) == 0.5
    assert emotional_alignment(here, felt) == 0.5


@pytest.mark.requirement("R-50")
@given(st.floats(0, 1), st.integers(0, 10_000))
def test_every_component_lies_between_nothing_and_all(match: float, seed: int):
    found = score_relevance(hit(1, match), ONLY_MATCH, feeling=None, chance=random.Random(seed))

    assert all(0.0 <= part <= 1.0 for part in found.components)
    assert found.components[0] == match


@pytest.mark.requirement("R-51")
def test_a_score_is_how_deeply_it_is_held_by_how_relevant_it_is_by_how_sure():
    mix = BlendWeights(alphas=MATURE, weights=(0.5, 0.1, 0.1, 0.1, 0.2))
    misled = hit(1, 0.8, confidence=0.1)

    found = score_relevance(misled, mix, feeling=None, chance=random.Random(5))

    blended = sum(weight * part for weight, part in zip(mix.weights, found.components, strict=True))
    assert found.score == pytest.approx(found.observed * blended * 1.0)
    assert 0.0 < found.observed < 1.0


@pytest.mark.requirement("R-51")
@pytest.mark.requirement("R-04")
def test_the_same_seed_gives_the_same_scores_in_whichever_order_hits_come():
    hits = [hit(number, number / 10) for number in range(1, 9)]

    def scores(given: list[object]) -> dict[UUID, float]:
        weighed = rescore_hits(given, ONLY_MATCH, feeling=None, chance=random.Random(9))  # type: ignore[arg-type]
        return {each.candidate.ref: each.score for each in weighed}

    assert scores(list(hits)) == scores(list(reversed(hits)))


async def remember(store: Store) -> Recaller:
    """Sixty memories that are deeply held, five of them on the matter."""
    matter = [f"The kiln fires stoneware, note {number}." for number in range(5)]
    others = [f"Entry {number} tells of ship {number}." for number in range(55)]
    near = {"kiln": 1.0} | dict.fromkeys(matter, 0.8)
    near |= {text: 0.1 + place / 1000 for place, text in enumerate(others)}
    mind = Recaller(store, near=near, settings={"abstain": False})
    for text in matter + others:
        await mind.put(text)
    async with store.transaction() as transaction:
        await transaction.connection.execute("update memory set weight_alpha = 10, weight_beta = 2")
    return mind


@pytest.mark.requirement("R-51")
async def test_a_mind_wanders_and_keeps_to_the_matter(store: Store):
    mind = await remember(store)
    steady = [item.id for item in (await mind.recall("kiln", limit=20)).items]
    lists = [
        tuple(item.id for item in (await mind.recall("kiln", limit=10, blend="mind", seed=seed)).items)
        for seed in range(100)
    ]
    again = await mind.recall("kiln", limit=10, blend="mind", seed=7, explain=True)

    often = Counter(ref for each in lists for ref in each)
    assert len(set(lists)) >= 5
    assert all(often[ref] >= 80 for ref in steady[:5])
    assert any(set(each) - set(steady) for each in lists)
    assert tuple(item.id for item in again.items) == lists[7]
    told = again.items[0].why
    assert told is not None
    assert set(told["blend"]["weights"]) == set(COMPONENTS)
    assert sum(told["blend"]["weights"].values()) == pytest.approx(1.0, abs=1e-4)
    assert told["blend"]["alphas"]["semantic"] == 12.0
    mind.forget_unwritten()


@pytest.mark.requirement("R-50")
async def test_what_is_in_mind_brings_what_came_to_mind_with_it(store: Store):
    mind = await remember(store)
    found = {row["content"]: row["id"] for row in await rows(store, "select id, content from memory")}
    one, other = found["Entry 3 tells of ship 3."], found["Entry 9 tells of ship 9."]
    for _ in range(20):
        mind.forward(DAY)
        async with store.transaction() as transaction:
            await record_co_access(mind.searching, transaction, mind.place(), [one, other], recall=UUID(int=1))

    recalled = await mind.recall("kiln", limit=60, blend="mind", seed=1, active=[one], explain=True)

    told = {item.id: item.why["blend"]["components"] for item in recalled.items if item.why}
    assert told[other]["coactivation"] == pytest.approx(1.0, abs=0.01)
    assert told[one]["coactivation"] == 0.0
    mind.forget_unwritten()


@pytest.mark.requirement("R-51")
async def test_a_mind_that_is_given_no_seed_draws_one_and_it_is_kept(by_words: Recaller):
    await by_words.learn("Tea is green.")

    await by_words.recall("tea", blend="mind")
    await by_words.recall("tea", blend="mind")
    await by_words.recall("tea")
    await by_words.written()

    kept = await rows(by_words.store, "select blend, seed from recall order by id")
    assert [row["blend"] for row in kept] == ["mind", "mind", "steady"]
    assert len({row["seed"] for row in kept}) == 3
    assert kept[2]["seed"] == 0
