"""How may a text be written as a JSON string?

Clients differ in what they escape. The spellings of the common ones are known here; any other is read as it stands.
"""

import json
import re
from collections.abc import Callable, Iterator

import orjson

Encode = Callable[[str], bytes]


def _ascii(text: str) -> bytes:
    return json.dumps(text).encode()


_HTML = re.compile(rb"[<>&]|\xe2\x80[\xa8\xa9]")
_HTML_SAFE = {
    b"<": b"\\u003c",
    b">": b"\\u003e",
    b"&": b"\\u0026",
    b"\xe2\x80\xa8": b"\\u2028",
    b"\xe2\x80\xa9": b"\\u2029",
}


def _html_safe(text: str) -> bytes:
    return _HTML.sub(lambda found: _HTML_SAFE[found[0]], orjson.dumps(text))


def styles(text: str) -> Iterator[Encode]:
    """How JavaScript and most others, Python's standard library, and Go write this text, where they differ."""
    yield orjson.dumps
    if not text.isascii():
        yield _ascii
    if any(mark in text for mark in "<>&\u2028\u2029"):
        yield _html_safe


_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")


def raw_width(raw: str, count: int) -> int:
    """How many characters of a string as it is written make its first `count` characters as it is read."""
    read = here = 0
    for found in _ESCAPE.finditer(raw):
        if read + found.start() - here >= count:
            break
        read += found.start() - here + 1
        here = found.end()
    return here + count - read
