"""How are members, elements and text changed in a body, and not another byte of it?

Every place is found by walking the text from its root, which is slow and certain: a request of a looping agent has
the time. Where two changes meet, or a key stands twice on the way, nothing is certain and nothing is changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import orjson

from festinger.proxy.injection.spelling import raw_width
from festinger.proxy.injection.splicing import NewElement, TextEdit
from festinger.proxy.requests.exact import NotPlain, steps_in
from festinger.proxy.requests.turn import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PutMembers:
    """Give an object these members, in the place of those of the same names."""

    path: Path
    members: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOut:
    """Leave elements of an array out."""

    path: Path
    indexes: tuple[int, ...]


Patch = TextEdit | NewElement | PutMembers | TakeOut
Piece = tuple[int, int, str]
"""From, until and what stands there instead."""


def patched(body: bytes, patches: Sequence[Patch]) -> bytes:
    """The body with all changes made. Raises `NotPlain` where one has no place that is certain."""
    text = body.decode()
    walk = _Walk(text=text)
    pieces = sorted((piece for patch in patches for piece in walk.pieces(patch)), key=lambda piece: piece[:2])
    parts: list[str] = []
    here = 0
    for start, end, put in pieces:
        if start < here:
            raise NotPlain(start)
        parts += (text[here:start], put)
        here = end
    return "".join((*parts, text[here:])).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    text: str
    seen: dict[Path, dict[str | int, tuple[int, int]]] = field(default_factory=dict)

    def pieces(self, patch: Patch) -> Iterator[Piece]:
        match patch:
            case TextEdit():
                yield self._text(patch)
            case NewElement():
                yield self._element(patch)
            case PutMembers():
                yield from self._members(patch)
            case TakeOut():
                yield from self._gone(patch)

    def _text(self, edit: TextEdit) -> Piece:
        start, end = self._span(edit.path)
        raw = self.text[start + 1 : end - 1]
        first = start + 1 + raw_width(raw, edit.at)
        last = first if edit.until is None else start + 1 + raw_width(raw, edit.until)
        return first, last, _written(edit.text)[1:-1]

    def _element(self, edit: NewElement) -> Piece:
        elements = self._inside(edit.path)
        put = _written(edit.element)
        if edit.index < len(elements):
            start = elements[edit.index][0]
            return start, start, f"{put},"
        end = self._span(edit.path)[1] - 1
        return end, end, f",{put}" if elements else put

    def _members(self, put: PutMembers) -> Iterator[Piece]:
        known = self._inside(put.path)
        new = {name: value for name, value in put.members.items() if name not in known}
        for name in put.members.keys() & known.keys():
            yield *known[name], _written(put.members[name])
        if new:
            start = self.text.index("{", self._span(put.path)[0]) + 1
            yield start, start, _written(new)[1:-1] + ("," if known else "")

    def _gone(self, patch: TakeOut) -> Iterator[Piece]:
        spans = self._inside(patch.path)
        for _, run in groupby(enumerate(sorted(patch.indexes)), key=lambda pair: pair[1] - pair[0]):
            indexes = [index for _, index in run]
            first, last = indexes[0], indexes[-1]
            # With one of the two commas around it, and the other stays.
            if first:
                yield spans[first - 1][1], spans[last][1], ""
            else:
                yield spans[first][0], spans[last + 1][0] if last + 1 in spans else spans[last][1], ""

    def _span(self, path: Path) -> tuple[int, int]:
        if not path:
            return 0, len(self.text)
        inside = self._inside(path[:-1])
        if path[-1] not in inside:
            raise NotPlain(path)
        return inside[path[-1]]

    def _inside(self, path: Path) -> dict[str | int, tuple[int, int]]:
        if path not in self.seen:
            self.seen[path] = steps_in(self.text, self._span(path)[0])
        return self.seen[path]


def _written(value: Any) -> str:
    return orjson.dumps(value).decode()


__all__ = ["NewElement", "NotPlain", "Patch", "PutMembers", "TakeOut", "TextEdit", "patched"]
