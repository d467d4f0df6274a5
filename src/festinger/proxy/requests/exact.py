"""Where exactly does a value stand in a JSON text?

Walks from the root to a value and hops over everything beside its way with the standard library's scanner, which
is the slow and certain way: `splicing` takes a faster one where it can. The text is known to be JSON. An object
on the way with a key that stands twice is not plain, and nothing is said of it.
"""

import re
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]

_SPACE = re.compile(r"[ \t\n\r]*")
# Numbers stay text: reading one of ten thousand digits would raise.
_value = JSONDecoder(parse_int=str, parse_float=str).scan_once  # type: ignore[attr-defined]


class NotPlain(Exception):
    """A key stands twice in an object on the way, or the way leads nowhere."""


def members(text: str, start: int) -> dict[str, tuple[int, int]]:
    """The spans of an object's values by key. `start` is the place of its brace, or of space before it."""
    here = _past_space(text, _past_space(text, start) + 1)
    found: dict[str, tuple[int, int]] = {}
    while text[here] != "}":
        key, here = scanstring(text, here + 1, True)
        value = _past_space(text, _past_space(text, here) + 1)
        _, end = _value(text, value)
        if key in found:
            raise NotPlain(key)
        found[key] = (value, end)
        here = _past_comma(text, end)
    return found


def elements(text: str, start: int) -> list[tuple[int, int]]:
    """The spans of an array's elements."""
    here = _past_space(text, start + 1)
    found = []
    while text[here] != "]":
        _, end = _value(text, here)
        found.append((here, end))
        here = _past_comma(text, end)
    return found


def steps_in(text: str, start: int) -> dict[str | int, tuple[int, int]]:
    """The spans of what an object or an array holds, by key or by index."""
    here = _past_space(text, start)
    found: dict[str | int, tuple[int, int]] = {}
    if text[here] == "{":
        found.update(members(text, here))
    elif text[here] == "[":
        found.update(enumerate(elements(text, here)))
    return found


def _past_space(text: str, here: int) -> int:
    found = _SPACE.match(text, here)
    assert found is not None  # the pattern matches nothing at all, too
    return found.end()


def _past_comma(text: str, here: int) -> int:
    here = _past_space(text, here)
    return _past_space(text, here + 1) if text[here] == "," else here
