"""The suite `report`: what is made of the times of a run."""

from benchmarks.reporting import OutcomeMeasurement
from benchmarks.reports import METRICS, samples


def test_the_numbers_of_a_run_are_medians_rates_and_shares() -> None:
    stand = OutcomeMeasurement(
        memories=300,
        twenty=[0.010, 0.012, 0.5],
        hundred=[0.050],
        crowd_outcomes=1200,
        crowd_seconds=2.0,
        updates=100,
        in_place=95,
    )

    found = {each.metric: (each.value, each.n) for each in samples(stand)}

    assert found == {
        "outcomes.report.20.p50": (12.0, 3),
        "outcomes.report.100.p50": (50.0, 1),
        "outcomes.report.rate": (600.0, 1200),
        "outcomes.report.in_place": (0.95, 100),
    }
    assert {metric.name for metric in METRICS} == set(found)
