"""What is taken away at night?

Words that hold no statement, beyond a number; lines of the log that everybody has followed; messages that were
written long ago. Statements that waited too long in quarantine wait no more. Nothing that anybody said is lost.
"""

from dataclasses import dataclass
from datetime import timedelta

import structlog

from festinger.ids import SpaceId
from festinger.store.queries import queries_of
from festinger.world.desk import Desk
from festinger.world.quarantine import expire
from festinger.world.writing import Kind, writing

log = structlog.get_logger(room="world")

Q = queries_of("festinger.world")

LOG_KEPT_FOR = timedelta(days=7)
MESSAGES_KEPT_FOR = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tended:
    words: int
    expired: int


async def tend(desk: Desk, space: SpaceId) -> Tended:
    """Tidy one space."""
    expired = await expire(desk, [space])
    words = await prune_vocabulary(desk, space)
    now = desk.clock()
    await desk.store.run(Q["prune_log"], space=space, before=now - LOG_KEPT_FOR)
    await desk.store.run(Q["prune_cues"], space=space, before=now - MESSAGES_KEPT_FOR)
    if words:
        log.info("words taken away", space=space, words=words)
    return Tended(words=words, expired=expired)


async def prune_vocabulary(desk: Desk, space: SpaceId) -> int:
    """Take the longest unseen away of the words that hold no statement; how many."""
    async with writing(desk, space, by="festinger", patient=True) as change:
        keep = change.terms.vocabulary_max_unconfirmed
        gone = await change.transaction.all(Q["prune_vocabulary"], space=space, keep=keep)
        for row in gone:
            change.log(Kind.FORGOTTEN, row["id"])
    return len(gone)
