"""What items say together, and how sure that is."""

import numpy as np
import pytest
from benchmarks.tally import MetricTally, TallyFinding, TallyItem, auroc, counted, detection, difference, interval
from hypothesis import given
from hypothesis import strategies as st


def tally(*rights: bool, group: str = "") -> MetricTally:
    items = [counted(str(place), right, group=group) for place, right in enumerate(rights)]
    return MetricTally(metric="some", system="festinger", items=items)


def ranked(*items: tuple[float, bool]) -> MetricTally:
    return MetricTally(
        metric="some",
        system="festinger",
        items=[TallyItem(id=str(n), part=score, whole=float(marked)) for n, (score, marked) in enumerate(items)],
        statistic=auroc,
    )


def test_a_share_is_what_was_reached_of_what_could_be():
    assert tally(True, True, False, False).value == 0.5
    assert MetricTally(metric="m", system="s", items=[TallyItem(id="a", part=1, whole=3)]).value == pytest.approx(1 / 3)
    assert MetricTally(metric="m", system="s", items=[]).value == 0.0


def test_precision_recall_and_f1_come_from_the_same_findings():
    findings = [
        TallyFinding(id="hit", wanted=True, found=True, right=True),
        TallyFinding(id="other", wanted=True, found=True, right=False),
        TallyFinding(id="missed", wanted=True, found=False, right=False),
        TallyFinding(id="false", wanted=False, found=True, right=False),
        TallyFinding(id="nothing", wanted=False, found=False, right=False),
    ]

    f1, precision, recall = detection("some", "festinger", findings)

    assert [one.metric for one in (f1, precision, recall)] == ["some.f1", "some.precision", "some.recall"]
    assert precision.value == pytest.approx(1 / 3)
    assert recall.value == pytest.approx(1 / 3)
    assert f1.value == pytest.approx(2 / 6)
    assert [item.id for item in f1.items if not item.right] == ["other", "missed", "false"]
    assert (precision.n, recall.n) == (3, 3)


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        ([(3, True), (2, True), (1, False), (0, False)], 1.0),
        ([(0, True), (1, True), (2, False), (3, False)], 0.0),
        ([(1, True), (1, False)], 0.5),
        ([(3, True), (1, True), (2, False), (0, False)], 0.75),
        ([(3, True)], 0.5),
    ],
)
def test_the_area_is_the_share_of_pairs_in_the_right_order(items, wanted: float):
    assert ranked(*items).value == wanted


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40))
def test_the_area_counts_every_pair(items: list[tuple[int, bool]]):
    marked = [score for score, label in items if label]
    others = [score for score, label in items if not label]
    wins = sum((one > other) + (one == other) / 2 for one in marked for other in others)
    wanted = wins / (len(marked) * len(others)) if marked and others else 0.5

    assert ranked(*items).value == pytest.approx(wanted)


@pytest.mark.requirement("S-06")
def test_the_interval_holds_the_value_and_narrows_with_items():
    few, many = tally(*[True, False] * 10), tally(*[True, False] * 1000)

    wide, narrow = (interval(one.draws(500, seed=0)) for one in (few, many))

    assert wide is not None
    assert narrow is not None
    assert wide[0] < narrow[0] < 0.5 < narrow[1] < wide[1]
    assert narrow[1] - narrow[0] < 0.06


@pytest.mark.requirement("S-06")
def test_items_of_one_group_are_drawn_together():
    apart = tally(*[True] * 20, *[False] * 20)
    items = [TallyItem(id=item.id, part=item.part, group="right" if item.part else "wrong") for item in apart.items]
    together = MetricTally(metric="some", system="festinger", items=items)

    assert set(np.unique(together.draws(200, seed=0))) == {0.0, 0.5, 1.0}
    assert len(np.unique(apart.draws(200, seed=0))) > 5


@pytest.mark.requirement("S-05", "S-06")
def test_the_same_seed_draws_the_same():
    some = tally(*[True, False, True] * 10)

    assert (some.draws(50, seed=1) == some.draws(50, seed=1)).all()
    assert (some.draws(50, seed=1) != some.draws(50, seed=2)).any()


@pytest.mark.requirement("S-06")
def test_a_difference_is_taken_draw_by_draw():
    # Both are half right, and one is right wherever the other is wrong and once more: apart, the intervals overlap.
    ours, other = tally(*[True, False] * 50, *[True] * 10), tally(*[True, False] * 50, *[False] * 10)

    found = difference(ours, other, times=300, seed=0)

    assert found is not None
    assert found[0] > 0
    ours_alone, other_alone = (interval(one.draws(300, seed=0)) for one in (ours, other))
    assert ours_alone is not None
    assert other_alone is not None
    assert ours_alone[0] < other_alone[1]


def test_different_items_have_no_difference():
    assert difference(tally(True), tally(True, False), times=10, seed=0) is None
    assert interval(tally(True).draws(0, seed=0)) is None
    assert interval(MetricTally(metric="m", system="s", items=[]).draws(10, seed=0)) is None


def test_what_was_not_found_cannot_have_been_found_rightly():
    with pytest.raises(ValueError, match="cannot be right"):
        TallyFinding(id="1", wanted=True, found=False, right=True)
