"""What happens to the jobs of a worker that died?

A worker that has been silent for a minute is taken for dead, and its jobs go back to the queue; jobs are
idempotent for this reason. A job over which three workers died is parked among the dead ones: it may be what
kills them.
"""

from datetime import datetime

import structlog

from festinger.jobs.attempt import Desk, give_up
from festinger.jobs.work import End, Ending
from festinger.store.pool import Row, Transaction
from festinger.store.queries import queries_of

log = structlog.get_logger()

Q = queries_of("festinger.jobs")

SILENT_SECONDS = 60.0
DEATHS = 3
BATCH = 100


async def return_stalled(desk: Desk) -> list[int]:
    """Give the jobs of dead workers back to the queue; the ids of those that were met."""
    now = desk.clock()
    async with desk.store.transaction() as transaction:
        rows = await transaction.all(Q["take_stalled"], silent_s=SILENT_SECONDS, limit=BATCH)
        for row in rows:
            await _take_back(transaction, row, desk=desk, now=now)
    return [row["id"] for row in rows]


async def _take_back(transaction: Transaction, row: Row, *, desk: Desk, now: datetime) -> None:
    text = "The worker that ran it died."
    job, name = row["id"], row["name"]
    deaths = await transaction.value(Q["record_death"], job=job, name=name, error_text=text, now=now)
    log.warning("job lost its worker", room="jobs", job=job, job_name=name, deaths=deaths)
    if deaths < DEATHS:
        await transaction.run(Q["return_job"], job=job)
        return
    await transaction.run(Q["park_job"], job=job)
    ending = Ending(end=End.DEAD, job=job, name=name, ids=row["args"], error="worker_died", text=text)
    await give_up(transaction, ending, now=now, watch=desk.watch)
