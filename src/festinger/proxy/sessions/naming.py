"""Does a request say itself which session it belongs to?

Clients name their sessions in many ways. The first that is found wins, and a name that is too long or holds
control characters is as good as none. What only names one request is not a session.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from festinger.proxy.headers import RawHeaders

NAME_BYTES = 256

_FIRST = ("x-festinger-session", "x-claude-code-session-id")
_LATER = (
    "session-id",
    "session_id",
    "x-session-id",
    "x-session-affinity",
    "x-openwebui-chat-id",
    "helicone-session-id",
    "x-litellm-session-id",
    "x-litellm-trace-id",
    "langfuse_session_id",
    "thread-id",
)
PARENT = "x-parent-session-id"

_ANY_SESSION = re.compile(r"x-[a-z0-9_-]{1,64}-session-id")
_PLAIN = re.compile(r"[A-Za-z0-9_-]{8,}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SUFFIX = "_session_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a request says of its session."""

    session: str | None = None
    parent: str | None = None
    continues: str | None = None
    """The id of the response that it continues."""


def named_in(headers: RawHeaders, tree: dict[str, Any]) -> Named:
    given: dict[str, str] = {}
    for raw, value in headers:
        given.setdefault(raw.decode("latin-1").lower(), value.decode("utf-8", "replace"))
    session = next((name for found in _found(given, tree) if (name := usable(found)) is not None), None)
    return Named(
        session=session, parent=usable(given.get(PARENT)), continues=usable(tree.get("previous_response_id"))
    )


def usable(found: Any) -> str | None:
    """The name that was given, if it can be one."""
    if not isinstance(found, str) or not (name := found.strip()):
        return None
    if len(name.encode("utf-8", "replace")) > NAME_BYTES or _CONTROL.search(name):
        return None
    return name


def _found(given: dict[str, str], tree: dict[str, Any]) -> Iterator[Any]:
    metadata = found if isinstance(found := tree.get("metadata"), dict) else {}
    yield from (given.get(header) for header in _FIRST)
    yield _of_user(metadata.get("user_id"))
    yield from (given.get(header) for header in _LATER)
    yield from (
        value
        for header, value in given.items()
        if header != PARENT and _ANY_SESSION.fullmatch(header) and _PLAIN.fullmatch(value.strip())
    )
    yield from (tree.get("session_id"), tree.get("sessionId"), metadata.get("session_id"))
    yield from (tree.get("litellm_session_id"), tree.get("conversation_id"))
    conversation = tree.get("conversation")
    yield conversation.get("id") if isinstance(conversation, dict) else conversation
    yield tree.get("prompt_cache_key")


def _of_user(user: Any) -> str | None:
    """The session in what Claude Code calls the user: a JSON object, or a text that ends with it."""
    if not isinstance(user, str):
        return None
    if user.lstrip().startswith("{"):
        try:
            found = orjson.loads(user)
        except orjson.JSONDecodeError:
            return None
        session = found.get("session_id") if isinstance(found, dict) else None
        return session if isinstance(session, str) else None
    _, marked, session = user.rpartition(_SUFFIX)
    return session if marked else None
