"""The loop measurements say what they claim to say."""

import pytest

from festinger.bench.loop_baselines import exact_period, repeat_count, zlib_limit, zlib_ratio
from festinger.bench.loops import (
    Looping,
    Trace,
    auroc,
    chat_of,
    costs,
    flagged,
    highest_level,
    phrase_of,
    shows_at,
    streams,
    trace_of,
    traces,
)
from festinger.proxy.loops.steps import Keys, steps_of
from festinger.settings.tree import LoopSettings

SETTINGS = LoopSettings()
LINE = "print(longest_substring('abcabcefghijklmnop'))\n"
ORDINARY = [
    "The build is green again, because the second bracket was missing in the file.",
    "You could visit the harbour on Monday and the old town on Tuesday, if it does not rain.",
]
LOOK = {"kind": "tool", "tool": "look", "input": "{}", "output": "nothing"}


def test_a_phrase_is_put_together_from_its_pieces():
    assert phrase_of({"repeated_phrase": ["x", "▁=", "▁1", "<0x0A>"]}) == "x = 1\n"
    assert phrase_of(None) == ""


def test_a_loop_shows_at_the_end_of_its_third_time_though_numbers_change():
    item = Looping(id="a", source="synthetic", text="go: step 1;step 22;step 3;step 4;", phrase="step 9;")

    assert shows_at(item) == len("go: step 1;step 22;step 3;")
    assert shows_at(Looping(id="b", source="real", text="step 1;step 2;", phrase="step 9;")) is None


def test_streams_are_counted_by_source_and_beside_the_baselines():
    looping = [
        Looping(id="a", source="synthetic", text=LINE * 20, phrase=LINE),
        Looping(id="b", source="synthetic", text="\n", phrase=LINE),
        Looping(id="c", source="real", text=ORDINARY[0]),
    ]
    found = streams(looping, ORDINARY, SETTINGS.stream)

    assert found["festinger"]["loops.synthetic.recall"] == 0.5
    assert found["festinger"]["loops.synthetic.recall_shown"] == 1.0
    assert found["festinger"]["loops.real.recall"] == 0.0
    assert found["festinger"]["loops.false_alarms.notice"] == 0.0
    assert found["festinger"]["loops.false_alarms.cut"] == 0.0
    assert 0 < found["festinger"]["loops.delay"] <= 256
    assert found["exact_period"]["loops.synthetic.recall"] == 0.5
    assert found["zlib_tail"]["loops.false_alarms.notice"] == 0.0


def test_the_baselines_find_what_they_are_made_for():
    assert exact_period("Well: " + LINE * 3) == len("Well: " + LINE * 3)
    assert exact_period("Well: " + LINE * 9) == 192
    assert exact_period(ORDINARY[0]) is None
    assert zlib_ratio(LINE * 30) < 0.1 < zlib_ratio("".join(map(chr, range(0x4E00, 0x4F00))))
    assert zlib_limit([n / 1000 for n in range(1000)]) == 0.005
    assert repeat_count(steps_of(trace_of([LOOK, LOOK, LOOK]), Keys())) == 6


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [([3, 2, 1, 0], 1.0), ([0, 1, 2, 3], 0.0), ([1, 1, 1, 1], 0.5), ([3, 1, 2, 0], 0.75)],
)
def test_the_area_is_the_share_of_pairs_in_the_right_order(scores: list[float], wanted: float):
    assert auroc(scores, [True, True, False, False]) == wanted


def test_traces_are_ranked_by_their_highest_level():
    said = {"kind": "llm", "output": "I will look at the one place that I know of."}
    found = traces(
        [
            Trace(id="loop", history=trace_of([said, LOOK] * 3), is_loop=True),
            Trace(id="fine", history=trace_of([said, LOOK, said])),
        ],
        SETTINGS,
    )

    assert found["festinger"] == {"trail.auroc": 1.0}
    assert found["repeat_count"] == {"trail.auroc": 1.0}
    assert found["length"] == {"trail.auroc": 1.0}


def test_a_trace_that_never_repeats_in_a_row_has_no_level():
    other = {"kind": "tool", "tool": "ask", "input": "{}", "output": "no"}
    found = traces(
        [
            Trace(id="loop", history=trace_of([LOOK, other, LOOK, other]), is_loop=True),
            Trace(id="fine", history=trace_of([LOOK, other])),
        ],
        SETTINGS,
    )

    assert found["festinger"] == {"trail.auroc": 0.5}


def test_the_words_of_a_model_stand_with_the_calls_that_follow_them():
    said = {"kind": "llm", "output": "Let me look."}
    history = trace_of([said, said, LOOK, LOOK, said])

    assert [(message.text, len(message.calls)) for message in history[1:]] == [
        ("Let me look.", 0),
        ("Let me look.", 2),
        ("nothing", 0),
        ("nothing", 0),
        ("Let me look.", 0),
    ]


def test_a_chat_rises_only_by_repeats_between_two_words_of_a_person():
    call: dict[str, object] = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"name": "find", "arguments": "{}"}],
    }
    answer: dict[str, object] = {"role": "tool", "content": "none"}
    person: dict[str, object] = {"role": "user", "content": "And now?"}
    stuck = chat_of([person, *[call, answer] * 3, person])
    patient = chat_of([person, call, answer] * 3)

    assert highest_level(stuck, SETTINGS) == 1
    assert flagged([Trace(id="s", history=stuck), Trace(id="p", history=patient)], SETTINGS) == ["s"]


def test_costs_are_read_from_the_stopwatch():
    ticks = iter(range(100_000))
    found = costs(ORDINARY, trace_of([LOOK]), stopwatch=lambda: next(ticks) / 1e6, settings=SETTINGS)

    assert {round(value) for value in found.values()} == {1}
