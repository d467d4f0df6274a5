"""Matches a request to a live session, and recognizes side requests of the client.

An explicit session name wins; it is ignored if it is too long or contains control characters. Otherwise the
history decides: the session that it continues; one that it rewinds, if recent; or one whose latest replies it
contains although its beginning was cut or rewritten. A diverging history becomes a new session. Side requests
(titles, tags, summaries) are recognized by their wording, or because they belong to no session and quote, in
a user or system text, a recent reply to the same caller.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any

import orjson

from festinger.ids import SessionId
from festinger.proxy.headers import RawHeaders
from festinger.proxy.loops.keys import ChatRole
from festinger.proxy.protocols.messages import ChatRequest, RequestTurn
from festinger.proxy.sessions.session import REPLY_TEXT, HashChain, ProxySession

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
class SessionHints:
    """Session information in a request."""

    session: str | None = None
    parent: str | None = None
    continues: str | None = None
    """Id of the response that it continues."""


def parse_session_hints(headers: RawHeaders, tree: dict[str, Any]) -> SessionHints:
    given: dict[str, str] = {}
    for raw, value in headers:
        given.setdefault(raw.decode("latin-1").lower(), value.decode("utf-8", "replace"))
    session = next(
        (name for found in _iter_session_names(given, tree) if (name := parse_session_name(found)) is not None), None
    )
    return SessionHints(
        session=session,
        parent=parse_session_name(given.get(PARENT)),
        continues=parse_session_name(tree.get("previous_response_id")),
    )


def parse_session_name(found: Any) -> str | None:
    if not isinstance(found, str) or not (name := found.strip()):
        return None
    if len(name.encode("utf-8", "replace")) > NAME_BYTES or _CONTROL.search(name):
        return None
    return name


def _iter_session_names(given: dict[str, str], tree: dict[str, Any]) -> Iterator[Any]:
    metadata = found if isinstance(found := tree.get("metadata"), dict) else {}
    yield from (given.get(header) for header in _FIRST)
    yield _session_in_user_id(metadata.get("user_id"))
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


def _session_in_user_id(user: Any) -> str | None:
    """Extract the session from Claude Code's user id: a JSON object, or a text that ends with it."""
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


REWIND = timedelta(minutes=10)
REPLY_CHARS = 40
SHARED = 2


class SessionMatchKind(StrEnum):
    HEADER = "header"
    CHAIN = "chain"
    REPLY = "reply"
    NEW = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMatch:
    how: SessionMatchKind
    session: SessionId | None = None
    """`None` for a new session, which the caller names."""
    parent: SessionId | None = None


def match_session(
    chain: HashChain,
    turns: Sequence[RequestTurn],
    *,
    live: Sequence[ProxySession],
    others: Iterable[ProxySession] = (),
    now: datetime,
) -> SessionMatch:
    """Match against `live`, the caller's sessions that begin alike, and `others`, which may share replies."""
    nearest = None
    if chain.head is not None:
        alike = [session for session in live if session.head == chain.head]
        if [turn.role for turn in turns if turn.role is not ChatRole.SYSTEM] == [ChatRole.USER]:
            # A session that was answered continues with its answer; without it, somebody opened a new chat in
            # the same words. An unanswered one is a retry.
            alike = [session for session in alike if not session.replies]
        if continued := [session for session in alike if _is_prefix(session.links, chain.links)]:
            best = max(continued, key=lambda session: (len(session.links), session.at))
            return SessionMatch(how=SessionMatchKind.CHAIN, session=best.id)
        if back := [session for session in alike if _is_prefix(chain.links, session.links)]:
            best = max(back, key=lambda session: session.at)
            if now - best.at <= REWIND:
                return SessionMatch(how=SessionMatchKind.CHAIN, session=best.id)
            alike = [session for session in alike if session not in back]
        nearest = max(alike, key=lambda each: (shared_length(each.links, chain.links), each.at), default=None)
    for session in sorted({each.id: each for each in (*live, *others)}.values(), key=lambda each: each.at)[::-1]:
        if _continues_session(session, chain, turns):
            return SessionMatch(how=SessionMatchKind.REPLY, session=session.id)
    return SessionMatch(how=SessionMatchKind.NEW, parent=nearest.id if nearest is not None else None)


def shared_length(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """Number of links that two chains share."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[middle - 1] == other[middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low


def _is_prefix(short: Sequence[bytes], long: Sequence[bytes]) -> bool:
    return 0 < len(short) <= len(long) and short[-1] == long[len(short) - 1]


def _continues_session(session: ProxySession, chain: HashChain, turns: Sequence[RequestTurn]) -> bool:
    """Whether the history contains recent replies of this session beyond their common beginning."""
    from_here = shared_length(session.links, chain.links)
    spoken = {
        content
        for content, turn in zip(chain.contents[from_here:], turns[from_here:], strict=True)
        if turn.role in (ChatRole.ASSISTANT, ChatRole.TOOL)
    }
    long_replies = {reply.content for reply in session.replies if len(reply.text) >= REPLY_CHARS}
    return bool(spoken & long_replies) or len(spoken & session.recent) >= SHARED


LOOKED_AT = 2000
"""Patterns are searched in this many first characters."""
QUOTE_CHARS = 80
STEP = QUOTE_CHARS // 2
QUOTING_CHARS = 65_536
JUST = timedelta(minutes=10)


def is_side_request(request: ChatRequest, patterns: Iterable[str]) -> bool:
    """Whether the first system text or the last user text matches a known pattern."""
    first_system = next((turn for turn in request.turns if turn.role is ChatRole.SYSTEM), None)
    texts = [turn.text[:LOOKED_AT].casefold() for turn in (first_system, request.newest_user_turn) if turn]
    return any(starts_with_pattern(text, pattern) for text in texts for pattern in patterns)


@lru_cache(maxsize=1024)
def _pattern_pieces(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.casefold().split("*"))


def starts_with_pattern(text: str, pattern: str) -> bool:
    """Whether a lowercase text starts with the pattern, where `*` matches anything."""
    pieces = _pattern_pieces(pattern)
    if not text.lstrip().startswith(pieces[0]):
        return False
    here = text.find(pieces[0]) + len(pieces[0])
    for piece in pieces[1:]:
        at = text.find(piece, here)
        if at < 0:
            return False
        here = at + len(piece)
    return True


def quotes_a_reply(request: ChatRequest, live: Sequence[ProxySession], *, now: datetime) -> bool:
    """Whether the request quotes a recent reply of these sessions. Used only if no session matched."""
    fresh = [session.replies[-1].text for session in live if session.replies and now - session.replies[-1].at <= JUST]
    if not fresh:
        return False
    said = "\n".join(turn.text for turn in request.turns if turn.role in (ChatRole.USER, ChatRole.SYSTEM))
    return any(_has_quote(said[:QUOTING_CHARS], reply[:REPLY_TEXT]) for reply in fresh)


def _has_quote(text: str, reply: str) -> bool:
    return any(_quote_length(text, reply, at, start) >= QUOTE_CHARS for start, at in _shared_pieces(text, reply))


def _shared_pieces(text: str, reply: str) -> Iterator[tuple[int, int]]:
    """Find pieces of the reply in the text. Any quote of full length contains one whole piece."""
    for start in range(0, len(reply) - STEP + 1, STEP):
        at = text.find(reply[start : start + STEP])
        if at >= 0:
            yield start, at


def _quote_length(text: str, reply: str, at: int, start: int) -> int:
    before = 0
    while before < min(at, start, QUOTE_CHARS) and text[at - before - 1] == reply[start - before - 1]:
        before += 1
    after = 0
    most = min(len(text) - at, len(reply) - start, QUOTE_CHARS)
    while after < most and text[at + after] == reply[start + after]:
        after += 1
    return before + after
