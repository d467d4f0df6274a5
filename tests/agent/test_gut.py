"""Gut feeling: what usually matters, how far a talk is from it, and what comes of one that is unusual."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.agent.test_mind import answering, say, scope
from tests.agent.test_resident import asked, living
from tests.jobs.deps import rows

from festinger.agent.attention import Vector
from festinger.agent.gut import (
    FEWEST,
    blend_recent_vectors,
    blend_usual_vector,
    charge_of_deviation,
    describe_gut,
    distance_z_score,
    measure_gut_distance,
)
from festinger.services.agent import open_mind
from festinger.services.resident import tick

PAST = [0.4, 0.6] * (FEWEST // 2)
"""Distances with a mean of .5 and a deviation of .1."""


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


def axis(at: int, size: int = 3) -> Vector:
    return np.asarray(np.eye(size)[at], dtype=np.float32)


def test_what_usually_matters_is_half_values_and_a_quarter_each_of_goals_and_the_rest():
    blended = blend_usual_vector([(axis(0), 0.9)], [(axis(1), 0.5)], [(axis(2), 0.2), (axis(2), 0.4)])
    heavier = blend_usual_vector([], [], [(axis(0), 0.9), (axis(1), 0.3)])

    assert blended is not None
    assert heavier is not None
    assert np.allclose(blended / blended[0], [1.0, 0.5, 0.5])
    assert heavier[0] == pytest.approx(3 * heavier[1])
    assert blend_usual_vector([], [], []) is None


def test_attention_is_the_mean_of_the_last_ten_the_newest_most():
    blended = blend_recent_vectors([axis(2), *[axis(1)] * 9, axis(0)])

    assert blended is not None
    assert blended[2] == 0.0
    assert blended[1] / blended[0] == pytest.approx(sum(0.7**age for age in range(1, 10)))
    assert blend_recent_vectors([]) is None


def test_the_distance_goes_from_nothing_to_one():
    assert measure_gut_distance(axis(0), axis(0)) == 0.0
    assert measure_gut_distance(axis(0), -axis(0)) == pytest.approx(1.0)
    assert measure_gut_distance(None, axis(0)) is None


@pytest.mark.parametrize(
    ("distance", "charge"), [(0.5, 0.0), (0.6, 0.5), (0.65, 0.75), (0.7, 1.0), (0.9, 1.0), (0.3, 1.0), (None, 0.0)]
)
def test_the_charge_is_how_unusual_a_distance_is(distance: float | None, charge: float):
    assert charge_of_deviation(distance_z_score(distance, PAST)) == pytest.approx(charge)
    assert distance_z_score(distance, PAST[1:]) == 0.0
    assert distance_z_score(distance, [0.5] * FEWEST) == 0.0


def test_only_what_is_notable_is_told():
    assert describe_gut(0.9) == ""
    assert "farther from what usually matters" in describe_gut(1.1)
    assert "nearer to what usually matters" in describe_gut(-2.5)


async def test_an_unusual_talk_is_told_to_the_model_kept_and_thought_about_first(database_url: str, tmp_path: Path):
    thought = "You sounded tired of it all; a free day may help."
    async with living(database_url, tmp_path, thought) as (app, hands):
        here = scope(app)
        kept = await rows(app.store, "select gut from agent_cycle order by n")
        await live_on(app, PAST)
        choose, script = answering("I hear you.")
        async with open_mind(app, here, choose=choose) as agent:
            cycle = await say(agent, "I would rather throw everything away and sleep for a year.")
        hands.forward(timedelta(hours=1))
        (thinking,) = await tick(app)
        rest = await tick(app)
        (call,) = asked(app)

    assert all(0.0 < row["gut"] < 1.0 for row in kept)
    assert cycle.gut is not None
    assert "Your gut: this is farther from what usually matters" in script.asked[0].messages[0].text
    assert (thinking.source, thinking.reply, rest) == ("gut", thought, [])
    assert "- I would rather throw everything away and sleep for a year." in call.messages[1].text
    assert "it is unusual for them" in call.messages[1].text


async def live_on(app: Any, distances: list[float]) -> None:
    """Keep cycles with such distances, scaled to be near, as a longer life has them."""
    await rows(
        app.store,
        "insert into agent_cycle (space_id, id, agent_id, session_id, n, at, source, winner, reason, action, seed, gut)"
        " select 'main', gen_random_uuid(), 'ada', 'chat:1', 100 + row_number() over (), now(), 'user', gen_random_uuid(),"
        " '', 'said', 1, d / 100 from unnest(%(distances)s::double precision[]) as d returning id",
        distances=distances,
    )
