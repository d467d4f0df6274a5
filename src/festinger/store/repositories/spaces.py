"""Stores spaces, changed settings and process runs.

A space is the tenant: everything remembered belongs to one. Its id comes from its first name and never
changes; its name may. Deleting a space erases all its rows: foreign keys cascade, and a package whose rows
may also belong to all spaces ('*') supplies an `erase_space` query. Changed settings are rows of `config`,
for all spaces or one, written in the caller's transaction together with the event about them; `settings` has
validated them before. Each process writes a run when it starts and completes it when it ends well; an open
run of a dead process is a crash.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from uuid import UUID

import psutil

from festinger.errors import BadInput, NotFound, Refused
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.records import field_values
from festinger.store.cache_invalidation import bump_cache_version
from festinger.store.pool import Store, Transaction
from festinger.store.queries import Query, load_queries

Q = load_queries("festinger.store")

NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
ID_CHARS = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    id: SpaceId
    name: str
    created_at: datetime
    settings_version: int


def check_space_name(name: str) -> str:
    """Return `name` if it is valid for a space."""
    if not NAME.fullmatch(name):
        raise BadInput(
            f"`{name[:80]}` cannot name a space.",
            hint="Use up to 63 small letters, digits and hyphens, beginning with a letter.",
        )
    return name


def choose_space_id(name: str, taken: Iterable[str]) -> SpaceId:
    """Return the id of a new space: its name, with a number appended if an older space has that id."""
    used = set(taken)
    for number in count(1):
        ending = f"-{number}" if number > 1 else ""
        if (candidate := name[: ID_CHARS - len(ending)] + ending) not in used:
            return SpaceId(candidate)
    raise AssertionError("count never ends")


async def load_spaces(store: Store) -> list[Space]:
    """Return all spaces, oldest first."""
    return [Space(**row) for row in await store.all(Q["spaces"])]


async def find_space(store: Store, name: str) -> Space:
    missing = NotFound(f"There is no space `{name[:80]}`.", hint="`festinger spaces` lists them.")
    return Space(**await store.one(Q["find_space"], missing, name=name))


async def create_space(transaction: Transaction, name: str, *, at: datetime) -> Space:
    """Create an empty space. Raises `Refused` if the name is taken."""
    taken = [row["id"] for row in await transaction.all(Q["space_ids"])]
    row = await transaction.one(Q["create_space"], id=choose_space_id(check_space_name(name), taken), name=name, at=at)
    return Space(**row)


async def rename_space(transaction: Transaction, space: SpaceId, *, name: str) -> Space:
    """Rename a space; its id stays."""
    missing = NotFound(f"There is no space `{space}`.")
    return Space(**await transaction.one(Q["rename_space"], missing, space=space, name=check_space_name(name)))


async def delete_space(
    transaction: Transaction, space: SpaceId, *, typed_name: str, erasers: Sequence[Query] = ()
) -> int:
    """Erase a space and all its rows, permanently; return the number of rows.

    The person must have typed its name. `erasers` are the `erase_space` queries of the other packages. Large
    spaces take long: pass a patient transaction.
    """
    if space == MAIN_SPACE:
        raise Refused("`main` cannot be deleted: everything that names no space lives in it.")
    name = await transaction.one(Q["lock_space"], NotFound(f"There is no space `{space}`."), space=space)
    if typed_name != name["name"]:
        raise Refused("The name that was typed is not that of the space.", hint="Type it exactly.")
    before = await transaction.value(Q["rows_deleted"])
    for eraser in (*erasers, *(Q[name] for name in OWN_ERASERS)):
        await transaction.run(eraser, space=space)
    return int(await transaction.value(Q["rows_deleted"]) - before)


OWN_ERASERS = (
    "forget_cached",
    "erase_config",
    "erase_console_sessions",
    "erase_api_keys",
    "erase_cache_versions",
    "delete_space",
)
"""In this order: other processes are notified of what is gone while it is still counted."""


ROOM = "settings"
"""Name under which changes of settings are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRow:
    space: SpaceId
    key: str
    value: str
    updated_at: datetime
    updated_by: str


async def read_config_rows(store: Store, *, space: SpaceId | None = None) -> list[ConfigRow]:
    return [ConfigRow(**row) for row in await store.all(Q["config_rows"], space=space)]


async def lock_config_value(transaction: Transaction, *, space: SpaceId, key: str) -> str | None:
    """Return the value of one row, locked until the transaction ends."""
    row = await transaction.maybe(Q["lock_config"], space=space, key=key)
    return str(row["value"]) if row else None


async def put_config(transaction: Transaction, row: ConfigRow) -> str | None:
    """Write a row; return the value that it replaces, if there was one."""
    before = await lock_config_value(transaction, space=row.space, key=row.key)
    await transaction.run(
        Q["put_config"], space=row.space, key=row.key, value=row.value, at=row.updated_at, by=row.updated_by
    )
    await _count(transaction, row.space)
    return before


async def delete_config(transaction: Transaction, *, space: SpaceId, key: str) -> str | None:
    """Delete a row, so that the next weaker source applies; return its value, if it existed."""
    gone = await transaction.maybe(Q["delete_config"], space=space, key=key)
    if gone is None:
        return None
    await _count(transaction, space)
    return str(gone["value"])


async def _count(transaction: Transaction, space: SpaceId) -> None:
    await transaction.run(Q["raise_settings_version"], space=space)
    await bump_cache_version(transaction, space=space, room=ROOM)


START_SLACK = timedelta(seconds=2)
"""The system's process start time and our clock differ by rounding and by small clock adjustments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRun:
    id: UUID
    door: str
    version: str
    host: str
    pid: int
    started_at: datetime
    stopped_at: datetime | None = None
    clean: bool | None = None
    """None while it runs; false if it was found dead without having ended its run."""
    pins: tuple[str, ...] = ()
    """Settings that its own environment or command line pins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """Totals over all runs (age, restarts, time awake): what the agent knows about its own life."""

    runs: int
    crashes: int
    since: datetime | None
    awake: timedelta
    """Run time of this process and of those that ended well. How long a crashed one ran is unknown."""

    @property
    def restarts(self) -> int:
        return max(0, self.runs - 1)


IsAlive = Callable[[ProcessRun], bool]


def is_alive(run: ProcessRun) -> bool:
    """Return whether the process of a run on this machine still exists and its pid was not reused."""
    try:
        process = psutil.Process(run.pid)
        born, state = process.create_time(), process.status()
    except psutil.NoSuchProcess:
        return False
    # A process that ended but was not reaped by its parent still has its pid.
    return state != psutil.STATUS_ZOMBIE and born <= (run.started_at + START_SLACK).timestamp()


async def begin_run(transaction: Transaction, run: ProcessRun, *, is_alive: IsAlive = is_alive) -> list[ProcessRun]:
    """Record that a process begins; return newly found crashed runs of this machine, each reported once."""
    rows = await transaction.all(Q["lock_unfinished_runs"], host=run.host)
    crashed = [before for before in (ProcessRun(**row) for row in rows) if not is_alive(before)]
    await transaction.run(Q["mark_crashed"], ids=[before.id for before in crashed])
    await transaction.run(Q["begin_run"], **{**field_values(run), "pins": list(run.pins)})
    return crashed


async def find_pinning_runs(store: Store, key: str, *, host: str, is_alive: IsAlive = is_alive) -> list[ProcessRun]:
    """Return the processes that pin a setting; those of this machine only if they are still alive."""
    found = [ProcessRun(**row) for row in await store.all(Q["runs_that_pin"], key=key)]
    return [run for run in found if run.host != host or is_alive(run)]


async def end_run(store: Store, run: UUID, *, at: datetime) -> None:
    """Record that a process ended well."""
    await store.run(Q["end_run"], id=run, at=at)


async def latest_crash(store: Store, *, since: datetime) -> ProcessRun | None:
    """Return the last run that began after `since` and crashed, for `doctor`."""
    row = await store.maybe(Q["latest_crash"], since=since)
    return ProcessRun(**row) if row else None


async def load_run_summary(store: Store, *, now: datetime) -> RunSummary:
    """Return the totals over all runs at `now`; overlapping runs each count in full."""
    return RunSummary(**await store.one(Q["sum_runs"], now=now))
