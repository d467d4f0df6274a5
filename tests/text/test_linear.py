"""Does reading a text take time by its length alone?

Steps are counted, not seconds: lines of Python that run while a hostile text is read, at one length and at ten times
that length.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from festinger.text.cues import extract_cues, extract_retractions
from festinger.text.tokens import tokenize

HOSTILE = {
    "words": "aa bb ",
    "capitals": "Aa ",
    "short names": "Aa Bb c ",
    "headings": "# Aa Bb\n",
    "possessives": "a's ",
    "cues": "is a ",
    "subjects": "docker is a repo ",
    "one long sentence": "docker is a repo and ",
    "guards": "if not docker is a repo ",
    "turns": "but docker is a repo; not ",
    "open parentheses": "( docker ",
    "closed parentheses": "docker ) is a repo ",
    "appositions": "docker, is a repo ",
    "kinds": "is a kind of type of ",
    "picked": "is one of the a the a ",
    "owners": "is a docker's ",
    "adjectives": "small, small or ",
    "or": "docker or ",
    "herds": "herd of ",
    "open quotes": ' "docker is a repo',
    "open single quotes": " 'docker",
    "open fences": "``` docker is a repo ~~~ ",
    "quoted lines": "> docker is a repo\n",
    "denials": "docker is no longer no longer ",
    "joined": "a.b_c-",
    "mailboxes": "a@b-",
    "han": "東京は",
    "towers": "e\u0301\u0323",
}


def steps(operation: Callable[[], object]) -> int:
    counted = 0

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal counted
        counted += 1
        return count

    sys.settrace(count)
    try:
        operation()
    finally:
        sys.settrace(None)
    return counted


def read(text: str) -> None:
    found = tokenize(text, known=lambda piece: piece == "東京")
    extract_cues(text, found)
    extract_retractions(text, found)


@pytest.mark.requirement("W-01")
@pytest.mark.parametrize("brick", HOSTILE.values(), ids=HOSTILE)
def test_ten_times_the_text_takes_about_ten_times_the_steps(brick: str):
    read(brick * 3)  # what is loaded once is loaded now

    short = steps(lambda: read(brick * (500 // len(brick))))
    long = steps(lambda: read(brick * (5_000 // len(brick))))

    assert long <= 12 * short + 1_000
