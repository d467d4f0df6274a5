"""The suite `learn`: statements are all different, and every number of it is measured."""

from itertools import islice

import pytest
from benchmarks.learning import METRICS, failures, growth, measure, samples, slope
from benchmarks.remembering import LearnMeasurement, statements
from benchmarks.run import throw_away_folder
from benchmarks.suite import Bench

SMALL = LearnMeasurement(
    memories=1_000, batch_seconds=1.0, batch_items=100, single=[0.01], confirm=[0.001], pairs=[2, 4], nearest=[False]
)
LARGE = LearnMeasurement(
    memories=100_000,
    batch_seconds=2.0,
    batch_items=500,
    single=[0.02],
    confirm=[0.002],
    pairs=[3, 3],
    nearest=[True, True, False, True],
)


def test_statements_are_all_different_and_the_same_each_time():
    some = list(islice(statements(1), 5_000))

    assert len(set(some)) == 5_000
    assert some == list(islice(statements(1), 5_000))
    assert some != list(islice(statements(2), 5_000))


def test_the_numbers_are_those_of_the_largest_size_and_how_they_grew():
    found = {each.metric: each.value for each in samples([SMALL, LARGE])}

    assert {*found, "learn.mixed.failed"} == {metric.name for metric in METRICS}
    assert found["learn.nearest.recall1"] == 0.75
    assert found["learn.single.p50"] == 20.0
    assert found["learn.batch"] == 250.0
    assert found["learn.growth"] == 2.0
    assert found["learn.slope"] == pytest.approx(0.1505, abs=1e-3)
    assert found["learn.pairs.most"] == 4
    assert found["learn.pairs.slope"] == pytest.approx(0.0)
    assert growth([SMALL, LARGE]).points["new"] == [(1_000, 10.0), (100_000, 20.0)]


def test_a_straight_line_has_the_slope_of_its_exponent():
    assert slope([(10.0, 3.0), (100.0, 30.0), (1_000.0, 300.0)]) == pytest.approx(1.0)


def test_only_faults_of_ours_count_as_failures():
    told = failures([{"stored": 5, "refused": 2}, {"store_down": 3, "quarantined": 1}])

    assert (told.value, told.n) == (3.0, 11)


@pytest.mark.postgres
async def test_a_quick_run_measures_every_metric():
    with throw_away_folder() as folder:
        measured = await measure(Bench(folder=folder, quick=True))

    assert {each.metric for each in measured.samples} == {metric.name for metric in METRICS}
    assert all(each.value == each.value for each in measured.samples)
