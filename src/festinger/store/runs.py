"""Which processes have lived on this store, and how did they end?

Each process writes a row when it begins and completes it when it ends well. A row that is still open although
its process is gone is a crash: the next process on that machine finds it and says so. The sums (age,
restarts, time awake) are what the agent knows about its own life.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import psutil

from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.store")

START_SLACK = timedelta(seconds=2)
"""The system's start time of a process and our clock differ by rounding and by small steps of the clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    id: UUID
    door: str
    version: str
    host: str
    pid: int
    started_at: datetime
    stopped_at: datetime | None = None
    clean: bool | None = None
    """None while it runs; false when it was found gone without a word."""
    pins: tuple[str, ...] = ()
    """Settings on which its own environment or command line has the last word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What all runs together say."""

    runs: int
    crashes: int
    since: datetime | None
    awake: timedelta
    """Time in which processes ran that ended well, and in this one. How long a crashed one ran is not known."""

    @property
    def restarts(self) -> int:
        return max(0, self.runs - 1)


IsAlive = Callable[[Run], bool]


def is_alive(run: Run) -> bool:
    """Whether the process of a run of this machine is still there; a process that took over its number is not it."""
    try:
        process = psutil.Process(run.pid)
        born, state = process.create_time(), process.status()
    except psutil.NoSuchProcess:
        return False
    # One that ended and was not collected by its parent yet still has its number.
    return state != psutil.STATUS_ZOMBIE and born <= (run.started_at + START_SLACK).timestamp()


async def begin(transaction: Transaction, run: Run, *, is_alive: IsAlive = is_alive) -> list[Run]:
    """Write that a process begins; the runs of this machine that are found to have crashed, each told once."""
    rows = await transaction.all(Q["lock_unfinished_runs"], host=run.host)
    crashed = [before for before in map(_run, rows) if not is_alive(before)]
    await transaction.run(Q["mark_crashed"], ids=[before.id for before in crashed])
    await transaction.run(
        Q["begin_run"],
        id=run.id,
        door=run.door,
        version=run.version,
        host=run.host,
        pid=run.pid,
        at=run.started_at,
        pins=list(run.pins),
    )
    return crashed


async def runs_that_pin(store: Store, key: str, *, host: str, is_alive: IsAlive = is_alive) -> list[Run]:
    """The processes for which a setting is pinned; of this machine those that are still there."""
    found = [_run(row) for row in await store.all(Q["runs_that_pin"], key=key)]
    return [run for run in found if run.host != host or is_alive(run)]


async def end(store: Store, run: UUID, *, at: datetime) -> None:
    """Write that a process ended well."""
    await store.run(Q["end_run"], id=run, at=at)


async def latest_crash(store: Store, *, since: datetime) -> Run | None:
    """The last run that began after `since` and crashed, for `doctor`."""
    row = await store.maybe(Q["latest_crash"], since=since)
    return _run(row) if row else None


async def life(store: Store, *, now: datetime) -> Life:
    """What all runs together say `now`; overlapping ones are counted each."""
    return Life(**await store.one(Q["sum_runs"], now=now))


def _run(row: dict[str, object]) -> Run:
    return Run(**row)  # type: ignore[arg-type]
