"""Edits JSON bodies in place, without changing any other byte.

Each edit becomes an offset in the original text. `apply_edits` first searches for the value as common clients
would serialize it, and accepts a unique member under its own key; otherwise, or if asked to be exact, it walks
the text from its root with the standard library's scanner, which is slow but certain. Duplicate keys on the
path or overlapping changes raise `AmbiguousJsonError`, and nothing is changed.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import groupby
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]
from typing import Any

import orjson

from festinger.proxy.protocols.messages import Path

_SPACE = re.compile(r"[ \t\n\r]*")
# Numbers stay text: parsing one with ten thousand digits would raise.
_value = JSONDecoder(parse_int=str, parse_float=str).scan_once  # type: ignore[attr-defined]


class AmbiguousJsonError(Exception):
    """A key on the path is duplicated, or the path does not exist."""


def member_spans(text: str, start: int) -> dict[str, tuple[int, int]]:
    """Spans of an object's values by key. `start` is the position of its brace, or of space before it."""
    here = _skip_space(text, _skip_space(text, start) + 1)
    found: dict[str, tuple[int, int]] = {}
    while text[here] != "}":
        key, here = scanstring(text, here + 1, True)
        value = _skip_space(text, _skip_space(text, here) + 1)
        _, end = _value(text, value)
        if key in found:
            raise AmbiguousJsonError(key)
        found[key] = (value, end)
        here = _skip_comma(text, end)
    return found


def element_spans(text: str, start: int) -> list[tuple[int, int]]:
    here = _skip_space(text, start + 1)
    found = []
    while text[here] != "]":
        _, end = _value(text, here)
        found.append((here, end))
        here = _skip_comma(text, end)
    return found


def child_spans(text: str, start: int) -> dict[str | int, tuple[int, int]]:
    """Spans of an object's or array's children, by key or index."""
    here = _skip_space(text, start)
    found: dict[str | int, tuple[int, int]] = {}
    if text[here] == "{":
        found.update(member_spans(text, here))
    elif text[here] == "[":
        found.update(enumerate(element_spans(text, here)))
    return found


def _skip_space(text: str, here: int) -> int:
    found = _SPACE.match(text, here)
    assert found is not None  # the pattern also matches the empty string
    return found.end()


def _skip_comma(text: str, here: int) -> int:
    here = _skip_space(text, here)
    return _skip_space(text, here + 1) if text[here] == "," else here


Encode = Callable[[str], bytes]


def _encode_ascii(text: str) -> bytes:
    return json.dumps(text).encode()


_HTML = re.compile(rb"[<>&]|\xe2\x80[\xa8\xa9]")
_HTML_SAFE = {
    b"<": b"\\u003c",
    b">": b"\\u003e",
    b"&": b"\\u0026",
    b"\xe2\x80\xa8": b"\\u2028",
    b"\xe2\x80\xa9": b"\\u2029",
}


def _encode_html_safe(text: str) -> bytes:
    return _HTML.sub(lambda found: _HTML_SAFE[found[0]], orjson.dumps(text))


def json_encoders(text: str) -> Iterator[Encode]:
    """Serializers that differ for this text: JavaScript's and most others, Python's, and Go's."""
    yield orjson.dumps
    if not text.isascii():
        yield _encode_ascii
    if any(mark in text for mark in "<>&\u2028\u2029"):
        yield _encode_html_safe


_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")


def escaped_length(raw: str, count: int) -> int:
    """Length of the escaped form of the first `count` characters of a string."""
    read = here = 0
    for found in _ESCAPE.finditer(raw):
        if read + found.start() - here >= count:
            break
        read += found.start() - here + 1
        here = found.end()
    return here + count - read


BEFORE_BYTES = 96
"""How far back a key is searched; values with more space before them use the walk."""
OTHERS = 200
"""Maximum matches that are not the member before the search gives up."""
CONTENT_STEPS = 3
"""Path steps to a message's content: list, message, content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEdit:
    """Replace the characters from `at` to `until` of a string with `text`."""

    path: Path
    at: int
    text: str
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementInsertion:
    """Insert an element into an array before `index`."""

    path: Path
    index: int
    element: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberUpdate:
    """Set these members of an object, replacing those of the same names."""

    path: Path
    members: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementsRemoval:
    """Remove elements of an array."""

    path: Path
    indexes: tuple[int, ...]


Edit = TextEdit | ElementInsertion | MemberUpdate | ElementsRemoval
BytePiece = tuple[int, int, bytes]
"""Start, end and replacement."""


def apply_edits(body: bytes, tree: dict[str, Any], edits: Sequence[Edit], *, exact: bool = False) -> bytes:
    """Apply all edits. Raises `AmbiguousJsonError` if a position is uncertain."""
    source = _EditLocator(body=body, tree=tree, exact=exact)
    pieces = sorted((piece for edit in edits for piece in source.pieces(edit)), key=lambda piece: piece[:2])
    parts: list[bytes] = []
    here = 0
    for start, end, put in pieces:
        if start < here:
            raise AmbiguousJsonError(start)
        parts += (body[here:start], put)
        here = end
    return b"".join((*parts, body[here:]))


Token = tuple[int, Callable[[int], int]]
"""Start of a quoted string in the body, and the encoded width of its first characters."""


@dataclass(frozen=True, kw_only=True)
class _EditLocator:
    body: bytes
    tree: dict[str, Any]
    exact: bool
    walked: dict[Path, dict[str | int, tuple[int, int]]] = field(default_factory=dict)
    said: dict[tuple[str, str], list[Any]] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        return self.body.decode()

    def pieces(self, edit: Edit) -> Iterator[BytePiece]:
        match edit:
            case TextEdit():
                token, width = self._locate_string(edit.path)
                start = token + 1 + width(edit.at)
                end = start if edit.until is None else token + 1 + width(edit.until)
                yield start, end, orjson.dumps(edit.text)[1:-1]
            case ElementInsertion():
                yield self._locate_insertion(edit)
            case MemberUpdate():
                yield from self._locate_member_updates(edit)
            case ElementsRemoval():
                yield from self._locate_removals(edit)

    def _locate_insertion(self, edit: ElementInsertion) -> BytePiece:
        put = orjson.dumps(edit.element)
        siblings = self._at(edit.path)
        if edit.index < len(siblings):
            start = None if self.exact else self._find_insertion_fast(edit, siblings[edit.index])
            if start is None:
                start = self._byte_offset(self._span((*edit.path, edit.index))[0])
            return start, start, put + b","
        start = self._byte_offset(self._span(edit.path)[1] - 1)
        return start, start, (b"," + put) if siblings else put

    def _locate_member_updates(self, edit: MemberUpdate) -> Iterator[BytePiece]:
        known: Collection[Any] = self._children(edit.path) if self.exact else self._at(edit.path)
        for name in edit.members.keys() & set(known):
            start, end = map(self._byte_offset, self._span((*edit.path, name)))
            yield start, end, orjson.dumps(edit.members[name])
        new = {name: value for name, value in edit.members.items() if name not in known}
        if new:
            start = self.body.index(b"{", self._byte_offset(self._span(edit.path)[0]) if edit.path else 0) + 1
            yield start, start, orjson.dumps(new)[1:-1] + (b"," if known else b"")

    def _locate_removals(self, edit: ElementsRemoval) -> Iterator[BytePiece]:
        spans = self._children(edit.path)
        for _, run in groupby(enumerate(sorted(edit.indexes)), key=lambda pair: pair[1] - pair[0]):
            indexes = [index for _, index in run]
            first, last = indexes[0], indexes[-1]
            # Remove one of the two surrounding commas, keep the other.
            start = spans[first - 1][1] if first else spans[first][0]
            end = spans[last + 1][0] if not first and last + 1 in spans else spans[last][1]
            yield self._byte_offset(start), self._byte_offset(end), b""

    def _find_insertion_fast(self, edit: ElementInsertion, neighbour: Any) -> int | None:
        """Start of a message list, or of a plain text part that is found by its text."""
        if len(edit.path) == 1 and edit.index == 0:
            return self._find_first_element_of_key(str(edit.path[0]))
        if not isinstance(neighbour, dict) or not isinstance(neighbour.get("text"), str):
            return None
        token = self._quick((*edit.path, edit.index, "text"))
        if token is None:
            return None
        found = _PART.search(self.body[max(0, token[0] - BEFORE_BYTES) : token[0]])
        return None if found is None else token[0] - len(found[0])

    def _find_first_element_of_key(self, key: str) -> int | None:
        token = b'"%s"' % key.encode()
        if self.body.count(token) != 1:
            return None
        start = self.body.index(token)
        found = re.compile(re.escape(token) + rb"\s*:\s*\[\s*").match(self.body, start)
        is_key = _member_pattern(key).search(self.body[max(0, start - BEFORE_BYTES) : start] + token + b":")
        return found.end() if found is not None and is_key is not None else None

    def _locate_string(self, path: Path) -> Token:
        quick = None if self.exact else self._quick(path)
        if quick is not None:
            return quick
        start, end = self._span(path)
        raw = self.text[start + 1 : end - 1]
        return self._byte_offset(start), lambda count: len(raw[: escaped_length(raw, count)].encode())

    def _quick(self, path: Path) -> Token | None:
        """Find the unique member with this name and value in one of the common spellings.

        If messages are identical, there must be as many members as messages, in the same order.
        """
        value, duplicates = self._at(path), self._equal_message_paths(path)
        member = _member_pattern(str(path[-1]))
        found: list[tuple[int, Encode]] = []
        for style in json_encoders(value):
            token = style(value)
            starts = self._find_member_starts(member, token)
            if starts is None:
                return None
            found += ((start, style) for start in starts)
        if len(found) != len(duplicates):
            return None
        start, encode = sorted(found, key=lambda each: each[0])[duplicates.index(path)]
        return start, lambda count: len(encode(value[:count])) - 2

    def _equal_message_paths(self, path: Path) -> list[Path]:
        """Paths of all messages with the same content, if this is the content of a message."""
        if len(path) != CONTENT_STEPS:
            return [path]
        listed, _, key = str(path[0]), path[1], str(path[2])
        value, said = self._at(path), self._said(listed, key)
        if said.count(value) == 1:
            return [path]
        return [(listed, index, key) for index, each in enumerate(said) if each == value]

    def _said(self, listed: str, key: str) -> list[Any]:
        """The contents of a list's messages, by index."""
        if (listed, key) not in self.said:
            self.said[listed, key] = [
                message.get(key) if isinstance(message, dict) else None for message in self.tree[listed]
            ]
        return self.said[listed, key]

    def _find_member_starts(self, member: re.Pattern[bytes], token: bytes) -> list[int] | None:
        """Positions of members with this name and text; `None` if the text occurs too often elsewhere."""
        found, others = [], 0
        start = self.body.find(token)
        while start >= 0:
            if member.search(self.body[max(0, start - BEFORE_BYTES) : start]):
                found.append(start)
            elif (others := others + 1) > OTHERS:
                return None
            start = self.body.find(token, start + len(token) - 1)
        return found

    def _at(self, path: Path) -> Any:
        found: Any = self.tree
        for step in path:
            found = found[step]
        return found

    def _span(self, path: Path) -> tuple[int, int]:
        """Span of a value, found by walking."""
        if not path:
            return 0, len(self.text)
        children = self._children(path[:-1])
        if path[-1] not in children:
            raise AmbiguousJsonError(path)
        return children[path[-1]]

    def _children(self, path: Path) -> dict[str | int, tuple[int, int]]:
        if path not in self.walked:
            self.walked[path] = child_spans(self.text, self._span(path)[0])
        return self.walked[path]

    def _byte_offset(self, characters: int) -> int:
        return characters if self.text.isascii() else len(self.text[:characters].encode())


# A quote after a brace or a comma opens a key: inside a string it would be escaped, and a string that ends
# there could not be followed by a letter.
_PART = re.compile(rb'\{\s*(?:"type"\s*:\s*"\w+"\s*,\s*)?"text"\s*:\s*\Z')


@lru_cache(maxsize=32)
def _member_pattern(key: str) -> re.Pattern[bytes]:
    return re.compile(rb'[{,]\s*"' + re.escape(key.encode()) + rb'"\s*:\s*\Z')
