"""Is a request the client's own business, beside the conversation?

Front ends let the model write titles, tags and summaries. Such a request is known by its words, or because it
belongs to no session and quotes what a session of the same caller was just told. A quote counts in what the
user or the system says; an assistant's message is a history.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from festinger.proxy.loops.message import Role
from festinger.proxy.requests.turn import Request
from festinger.proxy.sessions.session import REPLY_TEXT, Session

LOOKED_AT = 2000
"""A pattern is looked for in so many first characters."""
QUOTE_CHARS = 80
STEP = QUOTE_CHARS // 2
QUOTING_CHARS = 65_536
JUST = timedelta(minutes=10)


def is_side(request: Request, patterns: Iterable[str]) -> bool:
    """Whether its first system text or its last user text is one of the known ones."""
    first_system = next((turn for turn in request.turns if turn.role is Role.SYSTEM), None)
    texts = [turn.text[:LOOKED_AT].casefold() for turn in (first_system, request.newest_user) if turn]
    return any(matches(text, pattern) for text in texts for pattern in patterns)


@lru_cache(maxsize=1024)
def _pieces(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.casefold().split("*"))


def matches(text: str, pattern: str) -> bool:
    """Whether a text in small letters begins like the pattern, in which `*` stands for anything; its end is free."""
    pieces = _pieces(pattern)
    if not text.lstrip().startswith(pieces[0]):
        return False
    here = text.find(pieces[0]) + len(pieces[0])
    for piece in pieces[1:]:
        at = text.find(piece, here)
        if at < 0:
            return False
        here = at + len(piece)
    return True


def quotes_a_reply(request: Request, live: Sequence[Session], *, now: datetime) -> bool:
    """Whether it quotes what one of these sessions was just told. Asked only where no session was found."""
    fresh = [
        session.replies[-1].text
        for session in live
        if session.replies and now - session.replies[-1].at <= JUST
    ]
    if not fresh:
        return False
    said = "\n".join(turn.text for turn in request.turns if turn.role in (Role.USER, Role.SYSTEM))
    return any(_quotes(said[:QUOTING_CHARS], reply[:REPLY_TEXT]) for reply in fresh)


def _quotes(text: str, reply: str) -> bool:
    return any(_length(text, reply, at, start) >= QUOTE_CHARS for start, at in _shared(text, reply))


def _shared(text: str, reply: str) -> Iterator[tuple[int, int]]:
    """Where pieces of the reply stand in the text. Whatever is as long as a quote holds one whole piece."""
    for start in range(0, len(reply) - STEP + 1, STEP):
        at = text.find(reply[start : start + STEP])
        if at >= 0:
            yield start, at


def _length(text: str, reply: str, at: int, start: int) -> int:
    before = 0
    while before < min(at, start, QUOTE_CHARS) and text[at - before - 1] == reply[start - before - 1]:
        before += 1
    after = 0
    most = min(len(text) - at, len(reply) - start, QUOTE_CHARS)
    while after < most and text[at + after] == reply[start + after]:
        after += 1
    return before + after
