"""What was reached once must be reached again."""

from pathlib import Path

import pytest
from benchmarks.catalogue import SUITES
from benchmarks.floors import SMOKE, WHOLE, fallen, raised, read_floors, written
from benchmarks.result import BenchMetric, BenchResult, GoalOp, at_least, at_most
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadInput

UP = BenchMetric(name="up", unit="share", about="more is better", goal=at_least(0.9))
DOWN = BenchMetric(name="down", unit="share", about="less is better", goal=at_most(0.1))
PLAIN = BenchMetric(name="plain", unit="share", about="more is better, without a goal", better=GoalOp.AT_LEAST)
TIME = BenchMetric(name="time", unit="ms", about="no floor is kept for it", goal=at_most(1))


def result(metric: BenchMetric, value: float, *, system: str = "festinger") -> BenchResult:
    return BenchResult(metric=metric, system=system, value=value, spread=(value, value), n=1)


@pytest.mark.requirement("S-07")
def test_what_is_below_its_floor_has_fallen_and_says_from_what_to_what():
    metrics = [UP, DOWN, PLAIN]
    floors = {"up": 0.8, "down": 0.2, "plain": 0.5, "of another suite": 1.0}

    (one,) = fallen(metrics, [result(UP, 0.79), result(DOWN, 0.2), result(PLAIN, 0.5)], floors)

    assert str(one) == "up: the floor is 0.8000, it is 0.7900"
    assert [str(one) for one in fallen([DOWN], [result(DOWN, 0.21)], floors)] == [
        "down: the floor is 0.2000, it is 0.2100"
    ]


@pytest.mark.requirement("S-07")
def test_a_number_that_is_no_longer_measured_has_fallen():
    (one,) = fallen([UP], [result(UP, 1.0, system="is_a")], {"up": 0.8})

    assert (one.value, "it was not measured" in str(one)) == (None, True)


@pytest.mark.requirement("S-07")
def test_a_floor_is_what_was_reached_less_a_margin():
    results = [result(UP, 0.9), result(DOWN, 0.02), result(TIME, 1.0), result(PLAIN, 0.3, system="is_a")]

    assert raised({}, results) == {"up": 0.89, "down": 0.03}


@pytest.mark.requirement("S-07")
@given(st.floats(0, 1), st.floats(0, 1))
def test_floors_only_rise(first: float, second: float):
    before = raised({}, [result(UP, first), result(DOWN, first)])
    after = raised(before, [result(UP, second), result(DOWN, second)])

    assert after["up"] >= before["up"]
    assert after["down"] <= before["down"]
    assert fallen([UP, DOWN], [result(UP, second), result(DOWN, second)], raised({}, [result(UP, second)])) == []


def test_the_file_is_read_as_it_is_written(tmp_path: Path):
    floors = {SMOKE: {"b.x": 0.5, "a": 0.25}, WHOLE: {"c": 1.0}}
    path = tmp_path / "floors.toml"
    path.write_text(written(floors))

    assert read_floors(path) == floors
    path.write_text("[smoke")
    with pytest.raises(BadInput):
        read_floors(path)


def test_every_floor_belongs_to_a_metric_that_knows_which_way_is_better():
    known = {metric.name: metric for suite in SUITES.values() for metric in suite.metrics}

    for table in read_floors().values():
        for name in table:
            assert known[name].direction is not None, name
            assert known[name].unit == "share", name
