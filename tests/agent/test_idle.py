"""What an idle mind comes upon, why it thinks about it, and when it rests."""

import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import numpy as np
import pytest

from festinger.agent.attention import Vector
from festinger.agent.idle import (
    BARRED_PICKS,
    MOST_ALONE,
    MOST_AN_HOUR,
    GoalAndValueVectors,
    IdleCandidate,
    IdleHistory,
    ThoughtReason,
    choose_thought_reason,
    draw_two_indexes,
    find_repetitive_topic_vectors,
    is_empty_thought,
    is_time_to_think,
    pick_memory,
    score_idle_candidate,
)
from festinger.memory.confidence import Weight

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
HEAVY, LIGHT = Weight(alpha=12.0, beta=2.0), Weight()
NOBODY = GoalAndValueVectors()


def candidate(
    *, weight: Weight = LIGHT, days: float = 0.0, vector: Vector | None = None, tense: bool = False
) -> IdleCandidate:
    return IdleCandidate(
        id=uuid4(), text="", weight=weight, touched=NOW - timedelta(days=days), vector=vector, is_tense=tense
    )


def unit(*values: float) -> Vector:
    made = np.asarray(values, dtype=np.float32)
    return np.asarray(made / np.linalg.norm(made), dtype=np.float32)


@pytest.mark.requirement("A-73")
def test_what_weighs_and_was_neglected_comes_up_three_times_as_often_and_everything_once():
    pool = [candidate(weight=HEAVY, days=90) for _ in range(100)] + [candidate() for _ in range(100)]
    appeals = [score_idle_candidate(each, now=NOW, recent=(), selves=NOBODY) for each in pool]
    chance = random.Random(1)
    picks = Counter(draw_two_indexes(appeals, chance)[0] for _ in range(10_000))

    assert sum(picks[at] for at in range(100)) >= 3 * sum(picks[at] for at in range(100, 200))
    assert set(picks) == set(range(200))


def test_appeal_weighs_neglect_tension_distance_and_self():
    near = unit(1, 0)
    plain = candidate(vector=unit(0, 1))
    base = score_idle_candidate(plain, now=NOW, recent=[near], selves=NOBODY)

    assert score_idle_candidate(candidate(vector=near), now=NOW, recent=[near], selves=NOBODY) == pytest.approx(
        base - 0.20
    )
    assert score_idle_candidate(replace(plain, is_tense=True), now=NOW, recent=[near], selves=NOBODY) == pytest.approx(
        base + 0.25
    )
    assert score_idle_candidate(
        plain, now=NOW, recent=[near], selves=GoalAndValueVectors(goals=[unit(0, 1)])
    ) == pytest.approx(base + 0.20)
    assert score_idle_candidate(
        replace(plain, weight=HEAVY, touched=NOW - timedelta(days=900)), now=NOW, recent=[near], selves=NOBODY
    ) == pytest.approx(base + 0.35)


@pytest.mark.parametrize(
    ("vector", "channel"),
    [
        (unit(1, 0, 0), ThoughtReason.GOAL),
        (unit(0, 1, 0), ThoughtReason.VALUE),
        (unit(0, 0, 1), ThoughtReason.CONNECTION),
        (None, ThoughtReason.CONNECTION),
    ],
)
def test_a_thought_is_about_the_goal_or_value_that_is_nearest_or_connects(
    vector: Vector | None, channel: ThoughtReason
):
    some = [candidate(vector=unit(x, 10 - x, 4)) for x in range(10)]
    selves = GoalAndValueVectors(goals=[unit(1, 0, 0)], values=[unit(0, 1, 0)])
    picked = candidate(vector=vector)

    assert choose_thought_reason(picked, [picked, *some], selves) is channel
    assert choose_thought_reason(picked, [picked, *some], NOBODY) is ThoughtReason.CONNECTION


def test_five_picks_alike_are_a_rut_that_is_left_for_ten_picks():
    one, other = unit(1, 0.01), unit(0, 1)

    assert find_repetitive_topic_vectors([one] * 4, bar=0.9) == []
    assert len(find_repetitive_topic_vectors([one] * 5, bar=0.9)) == 1
    assert find_repetitive_topic_vectors([one, other] * 4, bar=0.9) == []
    assert len(find_repetitive_topic_vectors([one] * 5 + [other, one] * (BARRED_PICKS // 2 - 1), bar=0.9)) == 1
    assert find_repetitive_topic_vectors([one] * 5 + [other, one] * (BARRED_PICKS // 2), bar=0.9) == []


def test_a_rut_is_barred_and_every_fifth_pick_looks_back_at_what_came_second():
    rut = [candidate(vector=unit(1, 0.01 * at)) for at in range(3)]
    others = [candidate(vector=unit(np.cos(at), np.sin(at))) for at in np.linspace(1.2, 3.0, 30)]
    chance = random.Random(1)

    def pick(before: list[Vector], loser: UUID | None = None) -> UUID:
        return pick_memory([*rut, *others], before=before, loser=loser, selves=NOBODY, now=NOW, chance=chance)[0].id

    free = [pick([]) for _ in range(300)]
    barred = [pick([unit(1, 0)] * 5) for _ in range(300)]
    back = [pick([], loser=rut[0].id) for _ in range(1000)].count(rut[0].id)

    assert {each.id for each in rut} & set(free)
    assert not {each.id for each in rut} & set(barred)
    assert 170 <= back <= 280


@pytest.mark.parametrize(
    ("history", "may"),
    [
        (IdleHistory(), False),
        (IdleHistory(last_word=NOW - timedelta(seconds=59)), False),
        (IdleHistory(last_word=NOW - timedelta(seconds=60)), True),
        (IdleHistory(last_word=NOW - timedelta(hours=1), last_thought=NOW - timedelta(seconds=299)), False),
        (IdleHistory(last_word=NOW - timedelta(hours=1), last_thought=NOW - timedelta(seconds=300)), True),
        (IdleHistory(last_word=NOW - timedelta(hours=1), in_hour=MOST_AN_HOUR), False),
        (IdleHistory(last_word=NOW - timedelta(hours=2), alone=MOST_ALONE), False),
        (IdleHistory(last_word=NOW - timedelta(hours=6)), False),
    ],
)
def test_it_thinks_after_a_conversation_not_too_often_and_then_rests(history: IdleHistory, may: bool):
    assert is_time_to_think(history, now=NOW) is may


@pytest.mark.parametrize(
    ("text", "nothing"), [("NOTHING", True), ("Nothing.", True), ("", True), ("Nothing new?", False)]
)
def test_a_model_may_have_nothing_to_say(text: str, nothing: bool):
    assert is_empty_thought(text) is nothing
