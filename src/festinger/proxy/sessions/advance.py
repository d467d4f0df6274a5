"""What is known of a session after a request of it?

The request's history takes the place of the one before. Requests of one session run side by side, so whatever
another one put down in the meantime stays: its replies, and the blocks that it was given.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from festinger.proxy.loops.message import Role
from festinger.proxy.requests.turn import Turn
from festinger.proxy.sessions.chain import Chain
from festinger.proxy.sessions.session import RECENT, Session


def advanced(
    session: Session, beside: Session | None, *, turns: Sequence[Turn], chain: Chain, at: datetime
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


def _recent(turns: Sequence[Turn], chain: Chain) -> frozenset[bytes]:
    backwards = zip(reversed(turns), reversed(chain.contents), strict=True)
    spoken = (content for turn, content in backwards if turn.role is not Role.USER)
    return frozenset(islice(spoken, RECENT))
