"""Hostile text takes no more time than its length asks for."""

import time

import pytest
from tests.proxy.loops.histories import detect_in_text

from festinger.proxy.loops import keys, stream
from festinger.proxy.loops.keys import classify_outcome
from festinger.proxy.loops.stream import remove_repeated_end
from festinger.settings.tree import StreamLoopSettings

HOSTILE = {
    "quotes": "\"'`",
    "one quote": '"',
    "blanks": " ",
    "stops": ". ",
    "digits": "1",
    "hex": "a1",
    "dashes": "0123abcd-",
    "times": "12:34:",
    "temporary": "/tmp/",
    "repeat": "repeat ",
    "numbers": "7 ",
    "braces": '{"tool_name"',
    "fences": "```",
    "rows": " |",
    "newlines": "\n",
    "letters": "ab",
    "comments": "/*",
    "hashes": " #",
    "failures": "1 failed ",
    "colons": "a: ",
}
PATTERNS = {
    "result_key": keys.result_key,
    "answer key": keys.answer_key,
    "call key": keys.call_key,
    "failure key": lambda text: keys.failure_key(text, keys.call_key(text)),
    "waiting": lambda text: keys.is_wait_call("run", text),
    "outcome": lambda text: classify_outcome(text, text, is_error=False),
    "asked": stream.asks_to_repeat,
    "spoken": keys.parse_text_call,
    "collapsed": remove_repeated_end,
    "stream": lambda text: detect_in_text(text, StreamLoopSettings(stale_cut=100_000, blank_cut=100_000)),
}


def fastest(read, text: str) -> float:
    spent = []
    for _ in range(3):
        since = time.process_time()
        read(text)
        spent.append(time.process_time() - since)
    return min(spent)


@pytest.mark.parametrize("name", PATTERNS)
def test_hostile_text_takes_time_by_its_length_alone(name: str):
    read = PATTERNS[name]
    for unit in HOSTILE.values():
        short, long = ((unit * (size // len(unit) + 1))[:size] for size in (10_000, 100_000))
        # Ten times the text takes ten times as long, or a hundred times where a pattern is not linear. Processor
        # time is compared with itself, far from both; what takes a few milliseconds is fast enough.
        assert fastest(read, long) <= max(30 * fastest(read, short), 0.005), unit
