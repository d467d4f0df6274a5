"""Texts that loop are counted by source, and ordinary ones as false alarms."""

import pytest
from benchmarks.loop_baselines import exact_period, zlib_limit, zlib_ratio
from benchmarks.loop_streams import (
    LoopStreamText,
    found_in,
    noticed,
    of_exact_period,
    of_the_product,
    of_zlib_tail,
    phrase_of,
)

from festinger.settings.tree import LoopSettings

SETTINGS = LoopSettings().stream
LINE = "print(longest_substring('abcabcefghijklmnop'))\n"
ORDINARY = [
    LoopStreamText(id="x", text="The build is green again, because the second bracket was missing in the file."),
    LoopStreamText(
        id="y", text="You could visit the harbour on Monday and the old town on Tuesday, if it does not rain."
    ),
]
LOOPING = [
    LoopStreamText(id="a", source="synthetic", text=LINE * 20, phrase=LINE),
    LoopStreamText(id="b", source="synthetic", text="\n", phrase=LINE),
    LoopStreamText(id="c", source="real", text=ORDINARY[0].text),
]


def test_a_phrase_is_put_together_from_its_pieces():
    assert phrase_of({"repeated_phrase": ["x", "▁=", "▁1", "<0x0A>"]}) == "x = 1\n"
    assert phrase_of(None) == ""


def test_a_loop_shows_at_the_end_of_its_third_time_though_numbers_change():
    text = LoopStreamText(id="a", source="synthetic", text="go: step 1;step 22;step 3;step 4;", phrase="step 9;")

    assert text.shows_at == len("go: step 1;step 22;step 3;")
    assert LoopStreamText(id="b", source="real", text="step 1;step 2;", phrase="step 9;").shows_at is None


@pytest.mark.requirement("S-28")
def test_streams_are_counted_by_source_and_beside_the_baselines():
    found = found_in([*LOOPING, *ORDINARY], SETTINGS)

    ours = {tally.metric: tally.value for tally in of_the_product(LOOPING, ORDINARY, found)}
    exact = {tally.metric: tally.value for tally in of_exact_period(LOOPING, ORDINARY)}
    packed = {tally.metric: tally.value for tally in of_zlib_tail(LOOPING, ORDINARY, 0.3)}

    assert ours == {
        "loops.synthetic.recall": 0.5,
        "loops.real.recall": 0.0,
        "loops.synthetic.recall_shown": 1.0,
        "loops.false_alarms.notice": 0.0,
        "loops.false_alarms.cut": 0.0,
    }
    assert exact["loops.synthetic.recall"] == 0.5
    assert packed["loops.false_alarms.notice"] == 0.0


@pytest.mark.requirement("S-28")
def test_an_alarm_on_an_ordinary_text_is_a_wrong_item_that_says_why():
    ordinary = [LoopStreamText(id="song", text=LINE * 20), *ORDINARY]

    alarms = noticed("some", ordinary, found_in(ordinary, SETTINGS))

    assert alarms.value == pytest.approx(1 / 3)
    assert [item.id for item in alarms.items if not item.right] == ["song"]
    assert "dense" in alarms.items[0].told["found"]


def test_the_baselines_find_what_they_are_made_for():
    assert exact_period("Well: " + LINE * 3) == len("Well: " + LINE * 3)
    assert exact_period("Well: " + LINE * 9) == 192
    assert exact_period(ORDINARY[0].text) is None
    assert zlib_ratio(LINE * 30) < 0.1 < zlib_ratio("".join(map(chr, range(0x4E00, 0x4F00))))
    assert zlib_limit([n / 1000 for n in range(1000)]) == 0.005
