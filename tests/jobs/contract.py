"""What every registered job must keep: run twice, or killed midway and run again, it leaves the same rows.

A room lists a `Case` for each of its jobs in its own tests and compares `rows_after` one run with those after
others; `tests/jobs/test_contract.py` shows how.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tests.jobs.deps import drain, rows

from festinger.jobs.model import JobRun
from festinger.jobs.queue import JobRegistry
from festinger.store.pool import Store


class Killed(BaseException):
    """The process dies here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One job: how the world looks before it, its ids, and the rows that it is about."""

    name: str
    prepare: Callable[[JobRegistry], Awaitable[dict[str, Any]]]
    look: str


async def rows_after(
    store: Store, jobs: JobRegistry, case: Case, *, runs: int, kill_first: bool
) -> list[dict[str, Any]]:
    ids = await case.prepare(jobs)
    if kill_first:
        await _killed_midway(store, jobs, case, ids)
    for _ in range(runs):
        await jobs.defer(None, case.name, **ids)
        await drain(jobs)
    return await rows(store, case.look)


async def _killed_midway(store: Store, jobs: JobRegistry, case: Case, ids: dict[str, Any]) -> None:
    """Run the deed until its first report, or its end, and let the process die there."""
    deps, work = jobs.deps, jobs[case.name]

    class Dying(JobRun):
        async def report(self, done: int, total: int | None = None, note: str = "") -> None:
            raise Killed

    run = Dying(0, work.name, store=store, clock=deps.clock, stopwatch=deps.stopwatch, limit=work.limit)
    with suppress(Killed):
        await work.operation(run, **ids)
