"""What is known of a session after a request of it?

The request's history takes the place of the one before. Requests of one session run side by side, so whatever
another one put down in the meantime stays: its replies, and the blocks that it was given.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from festinger.proxy.loops.message import Role
from festinger.proxy.requests.turn import Turn
from festinger.proxy.sessions.chain import Chain
from festinger.proxy.sessions.session import RECENT, Session


def advanced(
    session: Session, beside: Session | None, *, turns: Iterable[Turn], chain: Chain, at: datetime
) -> Session:
    """The session as this request leaves it; `beside` is what is kept of it by now."""
    others = beside or session
    return replace(
        session,
        at=at,
        head=chain.head,
        links=chain.links,
        recent=_recent(turns, chain),
        replies=others.replies,
        blocks={**others.blocks, **session.blocks} if others is not session else session.blocks,
    )


def _recent(turns: Iterable[Turn], chain: Chain) -> frozenset[bytes]:
    spoken = [
        content for turn, content in zip(turns, chain.contents, strict=True) if turn.role is not Role.USER
    ]
    return frozenset(spoken[-RECENT:])
