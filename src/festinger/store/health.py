"""Checks the health of the database for `doctor`.

Covers connectivity and versions, clock skew, the connection pool, the last crash, the age of the last backup
and, if asked, what must hold of all rows.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from festinger.clock import iso
from festinger.errors import StoreDown
from festinger.ids import SpaceId
from festinger.observability.checks import Check, CheckSeverity, Report, failed_check, ok_check, warning_check
from festinger.settings.tree import StoreSettings
from festinger.store.backup.backup import AUTOMATIC, SUFFIX
from festinger.store.paths import HomeLayout
from festinger.store.pool import Row, Store
from festinger.store.queries import Query, load_queries
from festinger.store.repositories.spaces import latest_crash

Q = load_queries("festinger.store")
INVARIANTS = load_queries("festinger.store", "invariants.sql")

CLOCK_SLACK = timedelta(seconds=5)
RECENT = timedelta(days=7)
SHOWN = 20
"""Broken rows of a space that are named."""


async def check_store(store: Store, settings: StoreSettings, *, home: Path, now: datetime) -> list[Check]:
    """Run every check of the store. If the database does not answer, report only that."""
    try:
        answers = await _answers(store, now)
        crash = await _crash(store, now)
    except StoreDown as error:
        return [failed_check("store.server", error.message, error.hint)]
    return [*answers, _pool(store), crash, check_backups(settings, home, now=now)]


async def _answers(store: Store, now: datetime) -> list[Check]:
    row = await store.one(Q["look_at_server"])
    server = ok_check(
        "store.server",
        f"PostgreSQL {row['postgres']} with pgvector {row['pgvector']}, {row['migrations']} migrations.",
        schema=row["schema"],
    )
    return [server, _clock(abs(row["now"] - now))]


def _clock(apart: timedelta) -> Check:
    seconds = round(apart.total_seconds(), 1)
    if apart > CLOCK_SLACK:
        return warning_check(
            "store.clock", f"The clocks of this machine and of the database are {seconds} s apart.",
            "Set both by the same time server.", seconds=seconds,
        )  # fmt: skip
    return ok_check("store.clock", "The clocks of this machine and of the database agree.", seconds=seconds)


def _pool(store: Store) -> Check:
    stats = store.pool.get_stats()
    waiting = stats.get("requests_waiting", 0)
    if waiting:
        return warning_check(
            "store.pool", f"{waiting} callers wait for a connection.", "Raise `store.pool_max`.", **stats
        )
    return ok_check(
        "store.pool", f"{stats.get('pool_size', 0)} of at most {store.pool.max_size} connections are open.", **stats
    )


async def _crash(store: Store, now: datetime) -> Check:
    crashed = await latest_crash(store, since=now - RECENT)
    if crashed is None:
        return ok_check("store.last_stop", "No process has crashed in the last 7 days.")
    return warning_check(
        "store.last_stop",
        f"`{crashed.door}` of {iso(crashed.started_at)} (pid {crashed.pid}) ended without a word.",
        "Look for what ended it: the system's log, memory, a kill. Nothing that was acknowledged is lost.",
        run=str(crashed.id),
    )


def check_backups(settings: StoreSettings, home: Path, *, now: datetime) -> Check:
    """Check that automatic backups, if enabled, are being made."""
    if not settings.backup_schedule:
        return ok_check("store.backup", "No automatic backups are wanted (`store.backup_schedule` is empty).")
    made = list(HomeLayout(home=home).backups.glob(f"{AUTOMATIC}*{SUFFIX}"))
    if not made:
        return warning_check("store.backup", "No automatic backup was made yet.", "Run `festinger jobs run backup`.")
    age = now.timestamp() - max(path.stat().st_mtime for path in made)
    days = round(age / 86_400, 1)
    if age > RECENT.total_seconds():
        return warning_check(
            "store.backup",
            f"The last automatic backup is {days} days old.",
            "Run `festinger jobs run backup`.",
            days=days,
        )
    return ok_check("store.backup", f"The last automatic backup is {days} days old.", days=days)


async def check_invariants(store: Store, spaces: Sequence[SpaceId], report: Report) -> list[Check]:
    """Run each query of `invariants.sql` in each space. Rules that hold are one check together."""
    broken = []
    for done, query in enumerate(INVARIANTS.values()):
        report(done, len(INVARIANTS), query.name)
        rows: list[Row] = []
        for space in spaces:
            async with store.transaction(snapshot=True) as transaction:
                rows += await transaction.all(query, space=space, limit=SHOWN)
        broken += [_build_broken_check(query, rows)] if rows else []
    held = f"{len(INVARIANTS) - len(broken)} of {len(INVARIANTS)} rules about rows hold."
    return [ok_check("rows", held, spaces=len(spaces)), *broken]


def _build_broken_check(query: Query, rows: Sequence[Row]) -> Check:
    found = sum({row["space_id"]: row["found"] for row in rows}.values())
    shown = [{name: row[name] for name in ("space_id", "id", "what")} for row in rows[:SHOWN]]
    return Check(
        name=f"rows.{query.name}",
        severity=CheckSeverity(rows[0]["severity"]),
        message=f"{found:,} rows break this rule: {query.purpose} First: {shown[0]['id']} ({shown[0]['what']}).",
        remedy=rows[0]["remedy"],
        details={"found": found, "rows": shown},
    )
