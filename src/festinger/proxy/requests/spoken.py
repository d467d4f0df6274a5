"""How does one message of a protocol become the neutral values that everything else reads?"""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import orjson

from festinger.ids import Origin
from festinger.proxy.loops.message import Call, Message, Role
from festinger.proxy.requests.cleaning import Cleaned, Cleaning, cleaned
from festinger.proxy.requests.essence import content_hash
from festinger.proxy.requests.memo import key_of
from festinger.proxy.requests.origins import said_by_user
from festinger.proxy.requests.turn import Path, Saying, Span, Turn

ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}

_ORIGINS = {Role.SYSTEM: Origin.SYSTEM, Role.ASSISTANT: Origin.MODEL, Role.TOOL: Origin.TOOL}


def spoken(
    role: Role,
    stable: Cleaned,
    *,
    path: Path,
    calls: tuple[Call, ...] = (),
    answers: str = "",
    is_error: bool = False,
    others: bytes = b"",
    span: Span | None = None,
) -> Turn:
    """A turn of one author whose text is already cleaned."""
    text, carries, transient = stable
    sayings = said(role, text)
    message = Message(
        role=role,
        text=text,
        calls=calls,
        answers=answers,
        is_error=is_error,
        by_person=role is Role.USER and is_by_person(sayings),
    )
    return Turn(
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


Read = Callable[[dict[str, Any], int, Cleaning], Turn | None]
"""Reads one message, which stands so far down in its list."""


def remembered(
    message: dict[str, Any], index: int, rules: Cleaning, *, listed: str, read: Read
) -> Turn | None:
    """The turn that a message is, from before or else by `read`; `listed` names the kind of its list."""
    memo = rules.memo
    if memo is None:
        return read(message, index, rules)
    key = key_of(message, listed, index)
    found = memo.find(key)
    if found is None and (found := read(message, index, rules)) is not None:
        memo.keep(key, found)
    return found


def said(role: Role, text: str) -> tuple[Saying, ...]:
    if role is Role.USER:
        return said_by_user(text)
    return (Saying(_ORIGINS[role], text),) if text else ()


def is_by_person(sayings: Iterable[Saying]) -> bool:
    return Origin.PERSON in [saying.origin for saying in sayings]


TEXT_PARTS = frozenset({"text", "input_text", "output_text"})


def read_content(content: Any, rules: Cleaning) -> tuple[Cleaned, bytes] | None:
    """The text of a message's content, be it a string or parts, and what else it holds."""
    if content is None:
        return Cleaned(text=""), b""
    if isinstance(content, str):
        return cleaned(content, rules), b""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return None
    texts = [cleaned(part["text"], rules) for part in content if _is_text(part)]
    others = b"".join(orjson.dumps(part) for part in content if not _is_text(part) and not is_thinking(part))
    return joined(texts), others


def joined(texts: Iterable[Cleaned]) -> Cleaned:
    """One text of several parts. A part that was nothing but ours, or a volatile tail, leaves no trace."""
    parts = list(texts)
    return Cleaned(
        text="\n".join(part.text for part in parts if part.text),
        carries=any(part.carries for part in parts),
        transient=bool(parts)
        and any(part.transient for part in parts)
        and not any(part.text for part in parts),
    )


def is_thinking(part: dict[str, Any]) -> bool:
    return part.get("type") in ("thinking", "redacted_thinking", "reasoning")


def _is_text(part: dict[str, Any]) -> bool:
    return is_one_of(part, TEXT_PARTS) and isinstance(part.get("text"), str)


def is_one_of(part: dict[str, Any], types: Collection[str]) -> bool:
    """Whether a part is of one of these types; one that names none is a text."""
    named = part.get("type", "text")
    return isinstance(named, str) and named in types


def as_text(value: Any) -> str:
    """What stands where text or an object may stand."""
    if isinstance(value, str):
        return value
    return "" if value is None else orjson.dumps(value).decode()
