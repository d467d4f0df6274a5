"""Does background work get done?

Checks as data, for `doctor` and the console: dead jobs, jobs whose worker died, a queue that falls behind.
"""

from collections import Counter

from festinger.jobs.attempt import Desk
from festinger.jobs.dead_letters import State, list_jobs
from festinger.jobs.load import PATIENCE, backlog
from festinger.jobs.worker import SILENT_SECONDS
from festinger.observability.checks import Check, fail, ok, warn
from festinger.store.queries import queries_of

Q = queries_of("festinger.jobs")


async def check_jobs(desk: Desk) -> list[Check]:
    return [await _dead(desk), await _stalled(desk), await _behind(desk)]


async def _dead(desk: Desk) -> Check:
    dead = await list_jobs(desk.store, state=State.DEAD)
    if not dead:
        return ok("jobs.dead", "No job was given up.")
    counts = Counter(job.name for job in dead)
    names = ", ".join(f"`{name}` ({count})" for name, count in counts.most_common())
    return fail(
        "jobs.dead",
        f"Given up after all attempts: {names}. Last error: `{dead[0].error}`.",
        "Mend the cause, then `festinger jobs retry ID` (or `--all`); `festinger jobs drop ID --note WHY` "
        "lays one aside.",
        jobs=[job.id for job in dead],
    )


async def _stalled(desk: Desk) -> Check:
    row = await desk.store.one(Q["count_stalled"], silent_s=SILENT_SECONDS)
    if not row["jobs"]:
        return ok("jobs.stalled", "Every running job has a living worker.")
    return warn(
        "jobs.stalled",
        f"{row['jobs']} running jobs belong to a worker that died.",
        "They go back to the queue when a worker runs: start `festinger serve` or `festinger worker`.",
        jobs=row["jobs"],
    )


async def _behind(desk: Desk) -> Check:
    found = await backlog(desk.store, max_waiting=desk.setting("jobs.max_waiting"))
    minutes = int(found.oldest_learn.total_seconds() // 60)
    details = {"waiting": found.waiting, "oldest_learn_minutes": minutes}
    if not found.behind:
        return ok("jobs.behind", "The workers keep up.", **details)
    return warn(
        "jobs.behind",
        f"{found.waiting} jobs wait, the oldest learning for {minutes} minutes "
        f"(limits: {found.max_waiting} jobs, {int(PATIENCE.total_seconds() // 60)} minutes).",
        "Add workers with `festinger worker`, or raise `jobs.workers`; low-value work pauses until then.",
        **details,
    )
