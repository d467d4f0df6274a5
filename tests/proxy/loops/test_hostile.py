"""Hostile text takes no more time than its length asks for."""

import time

import pytest

from festinger.proxy.loops import counting, keys, restraint, sentences, shape, spoken
from festinger.proxy.loops.collapse import collapsed
from festinger.proxy.loops.restraint import is_encoded
from festinger.proxy.loops.stream import findings_in
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
}
PATTERNS = {
    "result_key": keys.result_key,
    "answer key": keys.answer_key,
    "shape": shape.shape_of,
    "sentences": lambda text: list(sentences.Sentences().grow(text)),
    "blot": counting.Blotter().grow,
    "asked": restraint.asked_for,
    "asked pattern": lambda text: restraint._ASKED.findall(text),
    "encoded": lambda text: is_encoded(text, 0),
    "spoken": spoken.spoken_call,
    "collapsed": collapsed,
    "stream": lambda text: findings_in(text, StreamLoopSettings(period_cut=1_000, blank_cut=100_000)),
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
