"""How does text get into a body without changing any other byte of it?

Each edit is turned into an offset of the original bytes. Most values are found by writing them down the way that
common clients do and searching for that: a member that is found once, under its own key, is the one. Where that
does not decide, the text is walked from its root. What is put in is written as JSON; nothing else is written anew.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import orjson

from festinger.proxy.injection.spelling import Encode, raw_width, styles
from festinger.proxy.requests.exact import NotPlain, steps_in
from festinger.proxy.requests.turn import Path

BEFORE_BYTES = 96
"""How far back a key is looked for; whoever puts more space before a value gets the walk."""
OTHERS = 200
"""Places of a text that are not the member looked for, after which it is not looked for any more."""
CONTENT_STEPS = 3
"""The list, the message and its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEdit:
    """Put `text` in the place of the characters from `at` to `until` of a string."""

    path: Path
    at: int
    text: str
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewElement:
    """Put an element into an array, before the one at `index`."""

    path: Path
    index: int
    element: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMember:
    """Give the body a member that it does not have."""

    name: str
    value: str


Edit = TextEdit | NewElement | NewMember
Piece = tuple[int, int, bytes]
"""From, until and what stands there instead."""


def spliced(body: bytes, tree: dict[str, Any], edits: Sequence[Edit]) -> bytes:
    """The body with all edits made. Raises `NotPlain` where one has no place that is certain."""
    source = _Source(body=body, tree=tree)
    pieces = sorted((source.piece(edit) for edit in edits), key=lambda piece: piece[:2])
    parts: list[bytes] = []
    here = 0
    for start, end, put in pieces:
        parts += (body[here:start], put)
        here = end
    return b"".join((*parts, body[here:]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    """A string in the body, with its quotes, and how long its first characters are there."""

    start: int
    end: int
    width: Callable[[int], int]


@dataclass(frozen=True, kw_only=True)
class _Source:
    body: bytes
    tree: dict[str, Any]
    walked: dict[Path, tuple[int, int]] = field(default_factory=dict)
    said: dict[tuple[str, str], list[Any]] = field(default_factory=dict)

    @cached_property
    def text(self) -> str:
        return self.body.decode()

    def piece(self, edit: Edit) -> Piece:
        match edit:
            case TextEdit():
                token = self._string(edit.path)
                start = token.start + 1 + token.width(edit.at)
                end = start if edit.until is None else token.start + 1 + token.width(edit.until)
                return start, end, orjson.dumps(edit.text)[1:-1]
            case NewElement():
                return self._element(edit)
            case NewMember():
                start = self.body.index(b"{") + 1
                comma = b"," if self.tree else b""
                return start, start, orjson.dumps({edit.name: edit.value})[1:-1] + comma

    def _element(self, edit: NewElement) -> Piece:
        put = orjson.dumps(edit.element)
        siblings = self._at(edit.path)
        if edit.index < len(siblings):
            start = self._quick_element(edit, siblings[edit.index])
            if start is None:
                start = self._bytes_before(self._exact((*edit.path, edit.index))[0])
            return start, start, put + b","
        start = self._bytes_before(self._exact(edit.path)[1] - 1)
        return start, start, (b"," + put) if siblings else put

    def _quick_element(self, edit: NewElement, neighbour: Any) -> int | None:
        """Where a list of messages begins, or where a plain text part does that is found by its text."""
        if len(edit.path) == 1 and edit.index == 0:
            return self._first_of(str(edit.path[0]))
        if not isinstance(neighbour, dict) or not isinstance(neighbour.get("text"), str):
            return None
        token = self._quick((*edit.path, edit.index, "text"))
        if token is None:
            return None
        found = _PART.search(self.body[max(0, token.start - BEFORE_BYTES) : token.start])
        return None if found is None else token.start - len(found[0])

    def _first_of(self, key: str) -> int | None:
        token = b'"%s"' % key.encode()
        if self.body.count(token) != 1:
            return None
        start = self.body.index(token)
        found = re.compile(re.escape(token) + rb"\s*:\s*\[\s*").match(self.body, start)
        is_key = _member(key).search(self.body[max(0, start - BEFORE_BYTES) : start] + token + b":")
        return found.end() if found is not None and is_key is not None else None

    def _string(self, path: Path) -> _Token:
        quick = self._quick(path)
        if quick is not None:
            return quick
        start, end = self._exact(path)
        raw = self.text[start + 1 : end - 1]
        first = self._bytes_before(start)
        return _Token(
            start=first,
            end=first + 2 + len(raw.encode()),
            width=lambda count: len(raw[: raw_width(raw, count)].encode()),
        )

    def _quick(self, path: Path) -> _Token | None:
        """The one member of this name and value, if there is just one in one of the common spellings.

        Where messages say the same, there must be as many members as messages, and they stand in the same order.
        """
        value, twins = self._at(path), self._twins(path)
        member = _member(str(path[-1]))
        found: list[tuple[int, Encode, int]] = []
        for style in styles(value):
            token = style(value)
            starts = self._members(member, token)
            if starts is None:
                return None
            found += ((start, style, len(token)) for start in starts)
        if len(found) != len(twins):
            return None
        start, encode, length = sorted(found, key=lambda each: each[0])[twins.index(path)]
        return _Token(start=start, end=start + length, width=lambda count: len(encode(value[:count])) - 2)

    def _twins(self, path: Path) -> list[Path]:
        """The paths of all messages with the same content, where this is the content of a message."""
        if len(path) != CONTENT_STEPS:
            return [path]
        listed, _, key = str(path[0]), path[1], str(path[2])
        value, said = self._at(path), self._said(listed, key)
        if said.count(value) == 1:
            return [path]
        return [(listed, index, key) for index, each in enumerate(said) if each == value]

    def _said(self, listed: str, key: str) -> list[Any]:
        """What the messages of a list say, each at its place."""
        if (listed, key) not in self.said:
            self.said[listed, key] = [
                message.get(key) if isinstance(message, dict) else None for message in self.tree[listed]
            ]
        return self.said[listed, key]

    def _members(self, member: re.Pattern[bytes], token: bytes) -> list[int] | None:
        """Where members with this name and text stand; nothing if the text stands in too many other places."""
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

    def _exact(self, path: Path) -> tuple[int, int]:
        """The span of a value by walking there; what was seen on the way is kept for the next."""
        if not path:
            return 0, len(self.text)
        if path not in self.walked:
            start, _ = self._exact(path[:-1])
            for step, span in steps_in(self.text, start).items():
                self.walked[*path[:-1], step] = span
        if path not in self.walked:
            raise NotPlain(path)
        return self.walked[path]

    def _bytes_before(self, characters: int) -> int:
        return characters if self.text.isascii() else len(self.text[:characters].encode())


# A quote after a brace or a comma opens a key: inside a string it would have a backslash before it, and a string
# that ends there could not be followed by a letter.
_PART = re.compile(rb'\{\s*(?:"type"\s*:\s*"\w+"\s*,\s*)?"text"\s*:\s*\Z')


@lru_cache(maxsize=32)
def _member(key: str) -> re.Pattern[bytes]:
    return re.compile(rb'[{,]\s*"' + re.escape(key.encode()) + rb'"\s*:\s*\Z')


__all__ = ["Edit", "NewElement", "NewMember", "NotPlain", "TextEdit", "spliced"]
