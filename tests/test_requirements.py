"""The manifest of requirements: the three lists agree, and each way to disagree is noticed."""

import pytest

from tests.requirements import (
    Carrier,
    Manifest,
    Opening,
    as_toml,
    carriers,
    openings,
    problems,
    read_manifest,
    required,
    skipped_only,
    without_carried,
)


def manifest(*, spec: str = "X-1 X-2", carried: str = "X-1", open_ids: str = "X-2", reason: str = "later") -> Manifest:
    return Manifest(
        spec=tuple(spec.split()),
        carriers=(Carrier(ids=tuple(carried.split()), place="tests/test_it.py:1"),),
        openings=(Opening(reason=reason, ids=tuple(open_ids.split())),),
    )


@pytest.mark.requirement("X-112")
def test_every_requirement_is_either_carried_by_a_test_or_open_with_a_reason():
    assert problems(read_manifest()) == []


def test_the_lists_agree_when_each_id_stands_on_one_side():
    assert problems(manifest()) == []


@pytest.mark.parametrize(
    ("lists", "complaint"),
    [
        (manifest(open_ids=""), "X-2 is neither carried by a test nor open"),
        (manifest(carried="X-1 X-2"), "X-2 is carried by a test and still open"),
        (manifest(carried="X-1 X-7"), "X-7 is named in tests/test_it.py:1 but not in the spec"),
        (manifest(open_ids="X-2 X-9"), "X-9 is open but not in the spec"),
        (manifest(spec="X-1 X-2 X-1"), "X-1 stands 2 times in the spec"),
        (manifest(open_ids="X-2 X-2"), "X-2 is open 2 times"),
        (manifest(reason=" "), "X-2 … are open without a reason"),
    ],
)
@pytest.mark.requirement("X-112")
def test_a_disagreement_names_the_id(lists: Manifest, complaint: str):
    assert problems(lists) == [complaint]


@pytest.mark.requirement("X-112")
def test_a_requirement_in_skipped_tests_alone_is_not_shown():
    lists = manifest(carried="X-1 X-2", open_ids="")

    assert skipped_only(lists, {"X-1": ["skipped", "passed"], "X-2": ["skipped"]}) == [
        "X-2 is carried only by skipped tests"
    ]


def test_a_requirement_whose_tests_never_ran_is_not_shown():
    assert skipped_only(manifest(), {}) == ["X-1 is carried only by skipped tests"]


def test_the_live_group_is_not_expected_in_an_offline_run():
    lists = Manifest(spec=("X-1",), carriers=(Carrier(ids=("X-1",), place="t:1", live=True),), openings=())

    assert skipped_only(lists, {}) == []


def test_a_requirement_is_a_bold_id_at_the_start_of_a_line():
    text = "**X-01 First.** Then **X-02** in a line.\n| X-03 |\n\n**W-100 Last.** See X-04.\n"

    assert required(text) == ["X-01", "W-100"]


def test_marks_are_found_on_functions_classes_modules_and_parameters():
    source = """
import pytest
pytestmark = pytest.mark.requirement("X-1")
@pytest.mark.requirement("X-2", "X-3")
class TestIt:
    @pytest.mark.requirement("X-4")
    async def test_it(self): ...
CASES = [pytest.param(1, marks=pytest.mark.requirement("X-5"))]
"""
    found = {needed for carrier in carriers(source, name="tests/test_it.py") for needed in carrier.ids}

    assert found == {"X-1", "X-2", "X-3", "X-4", "X-5"}


def test_a_mark_of_the_live_group_reaches_everything_beneath_it():
    source = "pytestmark = [pytest.mark.live]\n@pytest.mark.requirement('X-1')\ndef test_it(): ...\n"

    assert [carrier.live for carrier in carriers(source, name="t")] == [True]


def test_an_id_that_is_computed_is_refused():
    with pytest.raises(ValueError, match="t:1: a requirement is named by plain strings"):
        carriers("mark.requirement(f'X-{n}')", name="t")


def test_tidying_drops_only_what_a_test_carries():
    lists = manifest(spec="X-1 X-2 X-3", carried="X-1 X-2", open_ids="X-2 X-3")

    assert openings(as_toml(without_carried(lists))) == [Opening(reason="later", ids=("X-3",))]


def test_the_summary_counts_each_requirement_once():
    lists = manifest(spec="X-1 X-2 X-3", carried="X-1 X-1", open_ids="X-2 X-3")

    assert lists.summary() == "carried 1, open 2"
