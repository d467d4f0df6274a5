"""Who said which part of a message?

The role says it first; what stands in the text can only lower it. A framework that writes objects in the role of
the user is read by their keys. What a person pasted is not what the person said: fenced code, quotes and
marked documents count as documents, and of a very long message only its first and last paragraph are the person's.
Nothing in a text can raise its origin, so a tag runs to the last place where it could close.
"""

import re
from collections.abc import Iterator
from typing import Any

import orjson

from festinger.ids import Origin
from festinger.proxy.requests.turn import Saying

LONG_CHARS = 4000
PARAGRAPH_CHARS = 1000
LONGEST_OBJECT = 1_000_000
CUTS = 100
"""A message with more quotes than this was not typed by anybody: from there on all of it is a document."""

BY_KEY = {
    "user_message": Origin.PERSON,
    "user_intervention": Origin.PERSON,
    "tool_result": Origin.TOOL,
    "system_message": Origin.SYSTEM,
    "system_warning": Origin.SYSTEM,
    "system_error": Origin.SYSTEM,
}
"""What frameworks that speak JSON in text call who is speaking."""

BY_TAG = {
    "document": Origin.DOCUMENT,
    "file": Origin.DOCUMENT,
    "context": Origin.DOCUMENT,
    "system-reminder": Origin.DOCUMENT,
    "tool_result": Origin.TOOL,
}

_FENCED = re.compile(r"\s*(?:```|~~~)\w{0,20}[ \t]*\n")
_QUOTING = re.compile(
    r"^[ ]{0,3}(?P<fence>`{3,}|~{3,})"
    r"|^[ ]{0,3}(?P<quote>>)"
    r"|<(?P<tag>document|file|context|tool_result|system-reminder)(?=[\s>/])[^<>]{0,300}>",
    re.MULTILINE,
)


def said_by_user(text: str) -> tuple[Saying, ...]:
    """The parts of a message in the role of the user."""
    if "{" in text and (found := _object(text)) is not None:
        keyed = [
            Saying(origin=BY_KEY[key], text=_plain(value)) for key, value in found.items() if key in BY_KEY
        ]
        if keyed:
            return tuple(
                part
                for saying in keyed
                for part in (_as_person(saying.text) if _is_person(saying) else (saying,))
            )
    return _as_person(text)


def _is_person(saying: Saying) -> bool:
    return saying.origin is Origin.PERSON


def _as_person(text: str) -> tuple[Saying, ...]:
    is_long = len(text) > LONG_CHARS
    if not is_long and not _may_quote(text):
        return (Saying(Origin.PERSON, text),) if text and not text.isspace() else ()
    parts = tuple(_split(text)) if _may_quote(text) else (Saying(origin=Origin.PERSON, text=text),)
    if is_long:
        parts = tuple(_shortened(parts))
    return tuple(part for part in parts if part.text.strip())


def _may_quote(text: str) -> bool:
    # One character is looked for much faster than three.
    return ">" in text or ("`" in text and "```" in text) or ("~" in text and "~~~" in text)


def _split(text: str) -> Iterator[Saying]:
    """Cut where something is quoted. Each piece is passed once, so time grows with the length alone."""
    here = 0
    for _ in range(CUTS):
        found = _QUOTING.search(text, here)
        if found is None:
            yield Saying(origin=Origin.PERSON, text=text[here:])
            return
        yield Saying(origin=Origin.PERSON, text=text[here : found.start()])
        origin, end = _quoted(text, found)
        yield Saying(origin=origin, text=text[found.start() : end])
        here = end
    yield Saying(origin=Origin.DOCUMENT, text=text[here:])


def _quoted(text: str, found: re.Match[str]) -> tuple[Origin, int]:
    if (tag := found["tag"]) is not None:
        closing = f"</{tag}>"
        close = text.rfind(closing, found.end())
        return BY_TAG[tag], len(text) if close < 0 else close + len(closing)
    if found["quote"] is not None:
        line = text.find("\n", found.end())
        return Origin.DOCUMENT, len(text) if line < 0 else line + 1
    close = text.find("\n" + found["fence"], found.end())
    if close < 0:
        return Origin.DOCUMENT, len(text)
    line = text.find("\n", close + 1)
    return Origin.DOCUMENT, len(text) if line < 0 else line + 1


def _shortened(parts: tuple[Saying, ...]) -> Iterator[Saying]:
    """Only the first and the last paragraph of what is left of a long message are the person's."""
    spoken = [index for index, part in enumerate(parts) if _is_person(part) and part.text.strip()]
    for index, part in enumerate(parts):
        if index not in (spoken[:1] + spoken[-1:]):
            yield part if not _is_person(part) else Saying(origin=Origin.DOCUMENT, text=part.text)
            continue
        head = _first_paragraph(part.text) if index == spoken[0] else 0
        tail = _last_paragraph(part.text) if index == spoken[-1] else len(part.text)
        tail = max(head, tail)
        yield Saying(origin=Origin.PERSON, text=part.text[:head])
        yield Saying(origin=Origin.DOCUMENT, text=part.text[head:tail])
        yield Saying(origin=Origin.PERSON, text=part.text[tail:])


def _first_paragraph(text: str) -> int:
    start = len(text) - len(text.lstrip())
    end = text.find("\n\n", start)
    return min(len(text) if end < 0 else end, start + PARAGRAPH_CHARS)


def _last_paragraph(text: str) -> int:
    end = len(text.rstrip())
    start = text.rfind("\n\n", 0, end)
    return max(start, end - PARAGRAPH_CHARS, 0)


def _object(text: str) -> dict[str, Any] | None:
    """The one JSON object that a text consists of, fenced or not."""
    if "{" not in text[:64] or len(text) > LONGEST_OBJECT:
        return None
    bare = text.strip()
    if (fence := _FENCED.match(text)) is not None:
        bare = text[fence.end() :].rstrip().rstrip("`~").strip()
    if not (bare.startswith("{") and bare.endswith("}")):
        return None
    try:
        found = orjson.loads(bare)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
