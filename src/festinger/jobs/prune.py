"""When are finished jobs removed?

After `jobs.keep_done_days`, in small batches. Dead jobs stay until a person retries or drops them.
"""

from datetime import timedelta

from festinger.jobs.attempt import Desk
from festinger.jobs.run import Run
from festinger.store.queries import queries_of

Q = queries_of("festinger.jobs")

BATCH = 1_000


async def prune_jobs(desk: Desk, run: Run) -> int:
    """Remove what ended long ago, batch by batch; how many jobs."""
    before = desk.clock() - timedelta(days=desk.setting("jobs.keep_done_days"))
    removed = 0
    while batch := await desk.store.run(Q["prune_done"], before=before, limit=BATCH):
        removed += batch
        await run.report(removed, note="finished jobs removed")
    await desk.store.run(Q["prune_runs"], before=before)
    return removed
