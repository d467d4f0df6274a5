"""The suite `outcomes`: what is read from labelled turns, and from replies that belong to others."""

from pathlib import Path

import pytest

from festinger.bench.outcome_turns import turns
from festinger.bench.outcomes import READ, SHUFFLED, confusion, measure
from festinger.bench.suite import Bench


@pytest.mark.requirement("O-50")
async def test_what_is_read_is_right_as_often_as_promised(tmp_path: Path) -> None:
    found = await measure(Bench(folder=tmp_path, smoke=True, seed=3))
    values = {tally.metric: tally.value for tally in found.tallies}

    assert values["outcomes.acted.precision"] >= 0.9
    assert values["outcomes.contradicted.precision"] >= 0.9
    assert values["outcomes.acted.recall"] >= 0.7
    assert values[SHUFFLED] <= 0.02
    assert found.samples == []


@pytest.mark.requirement("O-50")
def test_the_table_of_confusions_counts_every_turn() -> None:
    labelled = list(turns(210, seed=5))

    table = confusion(labelled)

    assert sum(table.values()) == 210
    assert {label for label, _ in table} == {*READ, "used", "dismissed", "none"}


def test_the_same_seed_writes_the_same_turns() -> None:
    assert list(turns(20, seed=1)) == list(turns(20, seed=1))
    assert list(turns(20, seed=1)) != list(turns(20, seed=2))
