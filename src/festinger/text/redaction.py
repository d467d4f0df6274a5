"""What in this text is a secret?

Every secret that one of the known kinds recognises gives way to `[redacted:<kind>]`, before a text is stored,
embedded, logged or sent. The text around it stays as it was. Time grows with the length of the text alone,
whatever it holds, and a text that was redacted once is not changed again. What a secret looks like is told by
`secret_kinds`; what to do with a text that had one is left to the rooms.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from festinger.text.personal_kinds import PERSONAL
from festinger.text.secret_checks import MARK, Sighting
from festinger.text.secret_kinds import SECRETS, Kind, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A text without its secrets, and the kinds of those that it had."""

    text: str
    kinds: tuple[str, ...] = ()


Redact = Callable[[str], Redacted]
"""Takes out of a text what must not be kept."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class _Span:
    start: int
    end: int
    rank: int


def redact(text: str, *, personal: bool = False) -> Redacted:
    """The text without its secrets; with `personal` also without what tells how to reach a person."""
    found = _without(text, SECRETS)
    if not personal:
        return found
    rest = _without(found.text, PERSONAL)
    return Redacted(text=rest.text, kinds=tuple(dict.fromkeys((*found.kinds, *rest.kinds))))


def without_secrets(text: str) -> str:
    """The text alone, for those who do not ask what was in it."""
    return redact(text).text


def _without(text: str, table: Table) -> Redacted:
    data = text.encode("utf-8", "surrogatepass")
    kinds: dict[str, None] = {}
    # A second look finds what only stands alone once its neighbour is gone; it also makes twice the same as once.
    while spans := _joined(sorted(_spans(data, table))):
        kinds |= dict.fromkeys(table.kinds[span.rank].name for span in spans)
        data = _replaced(data, spans, table)
    if not kinds:
        return Redacted(text=text)
    return Redacted(text=data.decode("utf-8", "surrogatepass"), kinds=tuple(kinds))


def _spans(data: bytes, table: Table) -> Iterator[_Span]:
    held = {table.anchors[number] for number in table.anchored.Match(data.lower()) or ()}
    may_lack = table.unanchored.search(data) is not None
    for rank, kind in enumerate(table.kinds):
        if not held.isdisjoint(kind.anchors) or (may_lack and not kind.anchors):
            for start, end in _found(kind, data):
                yield _Span(start=start, end=end, rank=rank)


def _found(kind: Kind, data: bytes) -> Iterator[tuple[int, int]]:
    for match in kind.pattern.finditer(data):
        start, end = match.span(kind.pattern.groups)  # the one group is the secret; without one it is all
        seen = Sighting(data=data, start=start, end=end)
        if kind.claim(seen):
            quote = int(seen.quoted)
            yield start + quote, end - quote


def _joined(spans: list[_Span]) -> list[_Span]:
    """Spans that overlap as one, named by the kind that has the first say."""
    joined: list[_Span] = []
    for span in spans:
        if joined and span.start < joined[-1].end:
            last = joined.pop()
            span = _Span(start=last.start, end=max(last.end, span.end), rank=min(last.rank, span.rank))
        joined.append(span)
    return joined


def _replaced(data: bytes, spans: list[_Span], table: Table) -> bytes:
    parts, at = [], 0
    for span in spans:
        parts += [data[at : span.start], MARK, table.kinds[span.rank].name.encode(), b"]"]
        at = span.end
    return b"".join([*parts, data[at:]])
