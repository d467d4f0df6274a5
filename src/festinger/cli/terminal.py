"""Prints other people's text on a terminal as text and nothing else.

Control characters, escape sequences and bidirectional marks are shown by their number, so that a stored value
cannot color, move, hide or answer anything. Nothing is parsed as markup, and half a character does not stop a
command.
"""

import re
from datetime import datetime
from typing import Any

import orjson

from festinger.clock import iso

SHORT_ID = 18
"""Characters of an id that make it unique: its millisecond and the count within it."""

_TURNS = r"\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_BREAKS_TEXT = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_TURNS}\ud800-\udfff]")
_BREAKS_LINE = re.compile(rf"[\x00-\x1f\x7f-\x9f{_TURNS}\ud800-\udfff]")
_NOT_ESCAPED_BY_JSON = re.compile(rf"[\x7f-\x9f{_TURNS}]")


def escape_text(text: object) -> str:
    """Escape several lines of text."""
    return _BREAKS_TEXT.sub(_shown, str(text))


def escape_line(text: object) -> str:
    """Escape a cell, a value, anything that must stay on its line."""
    return _BREAKS_LINE.sub(_shown, str(text))


def to_terminal_safe_json(document: Any, *, indent: bool = False) -> str:
    """One JSON document, with everything escaped that a terminal would obey."""
    options = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    raw = orjson.dumps(document, default=escape_text, option=options)
    return _NOT_ESCAPED_BY_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", raw.decode())


def format_time(at: datetime | None) -> str:
    """A time to the second, for people; empty when there is none."""
    return iso(at.replace(microsecond=0)) if at else ""


def _shown(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
