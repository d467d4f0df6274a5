"""Converts protocol messages to neutral turns, and attributes each part of a text to its origin.

The role decides first; the text can only lower the trust. Frameworks that write JSON objects in the user role
are read by their keys. Pasted text is not the person's: fenced code, quotes and marked documents count as
documents, and of a very long message only the first and last paragraphs are the person's. Nothing in a text
can raise its origin, so a tag extends to the last place where it could close.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import orjson

from festinger.ids import Origin
from festinger.proxy.loops.keys import ChatMessage, ChatRole, ToolCall
from festinger.proxy.protocols.messages import (
    AttributedText,
    CleanedText,
    CleaningRules,
    Path,
    RequestTurn,
    SectionSpan,
    clean_text,
    content_hash,
    turn_cache_key,
)

LONG_CHARS = 4000
PARAGRAPH_CHARS = 1000
LONGEST_OBJECT = 1_000_000
CUTS = 100
"""A message with more quotes than this was not typed by anybody: the rest is a document."""

BY_KEY = {
    "user_message": Origin.PERSON,
    "user_intervention": Origin.PERSON,
    "tool_result": Origin.TOOL,
    "system_message": Origin.SYSTEM,
    "system_warning": Origin.SYSTEM,
    "system_error": Origin.SYSTEM,
}
"""Speaker keys of frameworks that write JSON in text."""

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


def split_user_text(text: str) -> tuple[AttributedText, ...]:
    if "{" in text and (found := _parse_object(text)) is not None:
        keyed = [
            AttributedText(origin=BY_KEY[key], text=_plain_text(value)) for key, value in found.items() if key in BY_KEY
        ]
        if keyed:
            return tuple(
                part
                for saying in keyed
                for part in (_split_person_text(saying.text) if _is_person(saying) else (saying,))
            )
    return _split_person_text(text)


def _is_person(saying: AttributedText) -> bool:
    return saying.origin is Origin.PERSON


def _split_person_text(text: str) -> tuple[AttributedText, ...]:
    is_long = len(text) > LONG_CHARS
    if not is_long and not _may_quote(text):
        return (AttributedText(Origin.PERSON, text),) if text and not text.isspace() else ()
    parts = tuple(_split_quotes(text)) if _may_quote(text) else (AttributedText(origin=Origin.PERSON, text=text),)
    if is_long:
        parts = tuple(_limit_person_text(parts))
    return tuple(part for part in parts if part.text.strip())


def _may_quote(text: str) -> bool:
    # Searching one character is much faster than searching three.
    return ">" in text or ("`" in text and "```" in text) or ("~" in text and "~~~" in text)


def _split_quotes(text: str) -> Iterator[AttributedText]:
    """Split at quotes. Each piece is scanned once, so the time is linear."""
    here = 0
    for _ in range(CUTS):
        found = _QUOTING.search(text, here)
        if found is None:
            yield AttributedText(origin=Origin.PERSON, text=text[here:])
            return
        yield AttributedText(origin=Origin.PERSON, text=text[here : found.start()])
        origin, end = _find_quote_end(text, found)
        yield AttributedText(origin=origin, text=text[found.start() : end])
        here = end
    yield AttributedText(origin=Origin.DOCUMENT, text=text[here:])


def _find_quote_end(text: str, found: re.Match[str]) -> tuple[Origin, int]:
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


def _limit_person_text(parts: tuple[AttributedText, ...]) -> Iterator[AttributedText]:
    """Keep only the first and last paragraphs of a long message as the person's."""
    spoken = [index for index, part in enumerate(parts) if _is_person(part) and part.text.strip()]
    for index, part in enumerate(parts):
        if index not in (spoken[:1] + spoken[-1:]):
            yield part if not _is_person(part) else AttributedText(origin=Origin.DOCUMENT, text=part.text)
            continue
        head = _first_paragraph_end(part.text) if index == spoken[0] else 0
        tail = _last_paragraph_start(part.text) if index == spoken[-1] else len(part.text)
        tail = max(head, tail)
        yield AttributedText(origin=Origin.PERSON, text=part.text[:head])
        yield AttributedText(origin=Origin.DOCUMENT, text=part.text[head:tail])
        yield AttributedText(origin=Origin.PERSON, text=part.text[tail:])


def _first_paragraph_end(text: str) -> int:
    start = len(text) - len(text.lstrip())
    end = text.find("\n\n", start)
    return min(len(text) if end < 0 else end, start + PARAGRAPH_CHARS)


def _last_paragraph_start(text: str) -> int:
    end = len(text.rstrip())
    start = text.rfind("\n\n", 0, end)
    return max(start, end - PARAGRAPH_CHARS, 0)


def _parse_object(text: str) -> dict[str, Any] | None:
    """The JSON object that the whole text consists of, fenced or not."""
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


def _plain_text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


ROLES = {
    "system": ChatRole.SYSTEM,
    "developer": ChatRole.SYSTEM,
    "user": ChatRole.USER,
    "assistant": ChatRole.ASSISTANT,
    "tool": ChatRole.TOOL,
    "function": ChatRole.TOOL,
}

_ORIGINS = {ChatRole.SYSTEM: Origin.SYSTEM, ChatRole.ASSISTANT: Origin.MODEL, ChatRole.TOOL: Origin.TOOL}


def build_turn(
    role: ChatRole,
    stable: CleanedText,
    *,
    path: Path,
    calls: tuple[ToolCall, ...] = (),
    answers: str = "",
    is_error: bool = False,
    others: bytes = b"",
    span: SectionSpan | None = None,
) -> RequestTurn:
    text, carries, transient = stable
    sayings = attribute_text(role, text)
    message = ChatMessage(
        role=role,
        text=text,
        calls=calls,
        answers=answers,
        is_error=is_error,
        by_person=role is ChatRole.USER and is_by_person(sayings),
    )
    return RequestTurn(
        role=role,
        path=path,
        messages=(message,),
        content=content_hash((message,), others),
        sayings=sayings,
        others=others,
        span=span,
        carries=carries,
        transient=transient,
    )


Read = Callable[[dict[str, Any], int, CleaningRules], RequestTurn | None]
"""Reads one message at this index of its list."""


def read_cached_turn(
    message: dict[str, Any], index: int, rules: CleaningRules, *, listed: str, read: Read
) -> RequestTurn | None:
    """Read a message through the cache; `listed` names its kind of list."""
    memo = rules.memo
    if memo is None:
        return read(message, index, rules)
    key = turn_cache_key(message, listed, index)
    found = memo.find(key)
    if found is None and (found := read(message, index, rules)) is not None:
        memo.put(key, found)
    return found


def attribute_text(role: ChatRole, text: str) -> tuple[AttributedText, ...]:
    if role is ChatRole.USER:
        return split_user_text(text)
    return (AttributedText(_ORIGINS[role], text),) if text else ()


def is_by_person(sayings: Iterable[AttributedText]) -> bool:
    return Origin.PERSON in [saying.origin for saying in sayings]


TEXT_PARTS = frozenset({"text", "input_text", "output_text"})


def read_content(content: Any, rules: CleaningRules) -> tuple[CleanedText, bytes] | None:
    """Read the text of a string or a list of parts, and the bytes of the other parts."""
    if content is None:
        return CleanedText(text=""), b""
    if isinstance(content, str):
        return clean_text(content, rules), b""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return None
    texts = [clean_text(part["text"], rules) for part in content if _is_text(part)]
    others = b"".join(orjson.dumps(part) for part in content if not _is_text(part) and not is_thinking(part))
    return join_cleaned(texts), others


def join_cleaned(texts: Iterable[CleanedText]) -> CleanedText:
    """Join parts into one text. Parts that were only our block or a volatile tail leave no trace."""
    parts = list(texts)
    return CleanedText(
        text="\n".join(part.text for part in parts if part.text),
        carries=any(part.carries for part in parts),
        transient=bool(parts) and any(part.transient for part in parts) and not any(part.text for part in parts),
    )


def is_thinking(part: dict[str, Any]) -> bool:
    return part.get("type") in ("thinking", "redacted_thinking", "reasoning")


def _is_text(part: dict[str, Any]) -> bool:
    return has_part_type(part, TEXT_PARTS) and isinstance(part.get("text"), str)


def has_part_type(part: dict[str, Any], types: Collection[str]) -> bool:
    """Whether a part has one of these types; without a type it is text."""
    named = part.get("type", "text")
    return isinstance(named, str) and named in types


def to_text(value: Any) -> str:
    """Convert a value that may be text or an object to text."""
    if isinstance(value, str):
        return value
    return "" if value is None else orjson.dumps(value).decode()
