"""How do counts get into the database?

Every so often, and at the end, the counts of each space are added in one statement, so that several processes add
up; the sums come back and replace what was in memory. A concept that stands out by now is given to the write job, or marked as wanted where no model could explain it.
If the database is away, the counts wait.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

import structlog

from festinger.errors import StoreDown
from festinger.events.event import Happening
from festinger.ids import SpaceId
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.concept import SoasRow
from festinger.world.desk import Desk
from festinger.world.encounters import SENTENCES_KEPT, Delta, Encounters
from festinger.world.world import World

log = structlog.get_logger(room="world")

Q = queries_of("festinger.world")

ASKED_AGAIN_AFTER = timedelta(days=7)

Find = Callable[[SpaceId], World | None]
"""The world of a space, if it is in memory."""


async def flush(desk: Desk, encounters: Encounters, space: SpaceId, *, world: World | None) -> int:
    """Write the counts of a space; how many words. If that fails they are kept, and the error goes on."""
    deltas = encounters.take(space)
    if not deltas:
        return 0
    try:
        async with desk.store.transaction() as transaction:
            rows = await _add(transaction, space, deltas)
            await _keep_sentences(desk, transaction, space, deltas=deltas, rows=rows)
            await _ask_to_write(desk, transaction, space, rows=rows)
    except BaseException:
        # Whatever ended it, cancelling included, must not cost counts; nothing is swallowed.
        encounters.give_back(space, deltas)
        raise
    if world is not None:
        for row in rows:
            world.put_row(row)
    return len(rows)


async def flush_all(desk: Desk, encounters: Encounters, find: Find) -> int:
    """Write the counts of every space; a database that is away is waited for."""
    written = 0
    for space in encounters.spaces():
        try:
            written += await flush(desk, encounters, space, world=find(space))
        except StoreDown as error:
            log.warning("counts not written", space=space, error=error.message)
    return written


async def _add(transaction: Transaction, space: SpaceId, deltas: Mapping[str, Delta]) -> list[SoasRow]:
    # In one order everywhere, or two processes would wait for each other's rows.
    tokens = sorted(deltas)
    rows = await transaction.all(
        Q["add_encounters"],
        space=space,
        tokens=tokens,
        counts=[deltas[token].count for token in tokens],
        seen=[deltas[token].seen for token in tokens],
        trusted=[deltas[token].trusted for token in tokens],
    )
    return [SoasRow(**row) for row in rows]


async def _keep_sentences(
    desk: Desk,
    transaction: Transaction,
    space: SpaceId,
    *,
    deltas: Mapping[str, Delta],
    rows: Sequence[SoasRow],
) -> None:
    said = [(token, each) for token, delta in deltas.items() for each in delta.sentences]
    if not said:
        return
    await transaction.run(
        Q["keep_sentences"],
        space=space,
        tokens=[token for token, _ in said],
        texts=[each.text for _, each in said],
        origins=[each.origin.value for _, each in said],
        sessions=[each.session for _, each in said],
        messages=[each.message for _, each in said],
        at=desk.clock(),
    )
    spoken = [row.id for row in rows if deltas[row.token].sentences]
    await transaction.run(Q["trim_sentences"], space=space, concepts=spoken, keep=SENTENCES_KEPT)


async def _ask_to_write(
    desk: Desk, transaction: Transaction, space: SpaceId, *, rows: Sequence[SoasRow]
) -> None:
    threshold = desk.terms(space).saliency_write_threshold
    salient = [row.id for row in rows if row.saliency >= threshold and row.trusted_seen]
    if not salient:
        return
    now = desk.clock()
    if not await desk.has_writer(space):
        await _want(desk, transaction, space, salient, now=now)
        return
    due = await transaction.all(
        Q["claim_writing"],
        space=space,
        concepts=salient,
        threshold=threshold,
        now=now,
        before=now - ASKED_AGAIN_AFTER,
    )
    for row in due:
        await desk.ask_to_write(transaction, space, row["id"])


async def _want(
    desk: Desk, transaction: Transaction, space: SpaceId, concepts: Sequence[int], *, now: datetime
) -> None:
    """Mark names that nobody can explain. Without a model a job for each would only find that out again."""
    rows = await transaction.all(Q["want_concepts"], space=space, concepts=concepts, now=now)
    happenings = [
        Happening(
            name="concept_wanted",
            subject=f"concept:{row['id']}",
            payload={
                "concept_id": row["id"],
                "token": row["token"],
                "encounters": row["encounter_count"],
            },
        )
        for row in rows
    ]
    await desk.outbox.emit_all(transaction, happenings, space=space)
