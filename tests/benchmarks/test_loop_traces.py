"""Traces are ranked by their highest level, and chats rise only by repeats."""

import pytest
from benchmarks.loop_baselines import repeat_count
from benchmarks.loop_traces import (
    Trace,
    chat_of,
    flagged,
    highest_level,
    of_length,
    of_repeat_count,
    of_the_product,
    trace_of,
)

from festinger.proxy.loops.history import StepCache, parse_steps
from festinger.settings.tree import LoopSettings

SETTINGS = LoopSettings()
LOOK = {"kind": "tool", "tool": "look", "input": "{}", "output": "nothing"}
ASK = {"kind": "tool", "tool": "ask", "input": "{}", "output": "no"}
SAID = {"kind": "llm", "output": "I will look at the one place that I know of."}


@pytest.mark.requirement("S-28")
def test_traces_are_ranked_by_their_highest_evidence():
    traces = [
        Trace(id="loop", history=trace_of([SAID, LOOK] * 3), is_loop=True),
        Trace(id="fine", history=trace_of([SAID, LOOK, SAID])),
    ]

    assert of_the_product(traces).value == 1.0
    assert of_repeat_count(traces).value == of_length(traces).value == 1.0


def test_a_trace_that_never_repeats_has_no_evidence():
    traces = [Trace(id="loop", history=trace_of([LOOK, ASK]), is_loop=True), Trace(id="fine", history=trace_of([LOOK]))]

    assert of_the_product(traces).value == 0.5


def test_equal_calls_and_equal_outputs_are_counted():
    assert repeat_count(parse_steps(trace_of([LOOK, LOOK, LOOK]), StepCache())) == 6


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


@pytest.mark.requirement("S-28")
def test_a_chat_rises_only_by_repeats_between_two_words_of_a_person():
    call: dict[str, object] = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"name": "find", "arguments": "{}"}],
    }
    answer: dict[str, object] = {"role": "tool", "content": "none"}
    person: dict[str, object] = {"role": "user", "content": "And now?"}
    stuck = chat_of([person, *[call, answer] * 4, person])
    patient = chat_of([message for n in range(4) for message in ({**person, "content": f"And {n}?"}, call, answer)])

    raised = flagged([Trace(id="s", history=stuck), Trace(id="p", history=patient)], SETTINGS)

    assert highest_level(stuck, SETTINGS) == 1
    assert raised.value == 0.5
    assert [item.id for item in raised.items if not item.right] == ["s"]
