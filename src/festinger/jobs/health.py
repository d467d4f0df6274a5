"""Health checks of background work: dead jobs, jobs whose worker died, queues that fall behind."""

from collections import Counter

from festinger.jobs.attempt import JobDeps
from festinger.jobs.dead_letters import JobState, list_jobs
from festinger.jobs.load import PATIENCE, read_backlog
from festinger.jobs.worker import SILENT_SECONDS
from festinger.observability.checks import Check, failed_check, ok_check, warning_check
from festinger.store.queries import queries_of

Q = queries_of("festinger.jobs")


async def check_jobs(deps: JobDeps) -> list[Check]:
    return [await _dead(deps), await _stalled(deps), await _behind(deps)]


async def _dead(deps: JobDeps) -> Check:
    dead = await list_jobs(deps.store, state=JobState.DEAD)
    if not dead:
        return ok_check("jobs.dead", "No job was given up.")
    counts = Counter(job.name for job in dead)
    names = ", ".join(f"`{name}` ({count})" for name, count in counts.most_common())
    return failed_check(
        "jobs.dead",
        f"Given up after all attempts: {names}. Last error: `{dead[0].error}`.",
        "Mend the cause, then `festinger jobs retry ID` (or `--all`); `festinger jobs drop ID --note WHY` "
        "lays one aside.",
        jobs=[job.id for job in dead],
    )


async def _stalled(deps: JobDeps) -> Check:
    row = await deps.store.one(Q["count_stalled"], silent_s=SILENT_SECONDS)
    if not row["jobs"]:
        return ok_check("jobs.stalled", "Every running job has a living worker.")
    return warning_check(
        "jobs.stalled",
        f"{row['jobs']} running jobs belong to a worker that died.",
        "They go back to the queue when a worker runs: start `festinger serve` or `festinger worker`.",
        jobs=row["jobs"],
    )


async def _behind(deps: JobDeps) -> Check:
    found = await read_backlog(deps.store, max_waiting=deps.setting("jobs.max_waiting"))
    minutes = int(found.oldest_learn.total_seconds() // 60)
    details = {"waiting": found.waiting, "oldest_learn_minutes": minutes}
    if not found.behind:
        return ok_check("jobs.behind", "The workers keep up.", **details)
    return warning_check(
        "jobs.behind",
        f"{found.waiting} jobs wait, the oldest learning for {minutes} minutes "
        f"(limits: {found.max_waiting} jobs, {int(PATIENCE.total_seconds() // 60)} minutes).",
        "Add workers with `festinger worker`, or raise `jobs.workers`; low-value work pauses until then.",
        **details,
    )
