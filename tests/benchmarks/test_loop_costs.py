"""What looking for loops costs is read from the stopwatch."""

from benchmarks.loop_costs import HISTORY, METRICS, costs, long_history

from festinger.settings.tree import LoopSettings


def test_costs_are_read_from_the_stopwatch():
    ticks = iter(range(100_000))

    found = costs(
        ["The build is green again."], long_history()[:3], stopwatch=lambda: next(ticks) / 1e6, settings=LoopSettings()
    )

    assert {sample.metric: round(sample.value) for sample in found} == {metric.name: 1 for metric in METRICS}


def test_the_history_has_as_many_messages_as_its_name_says():
    assert HISTORY - 1 <= len(long_history()) <= HISTORY
