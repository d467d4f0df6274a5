"""Upgrades a cluster of an older major version to the current one.

First the old programs make a backup; then `pg_upgrade` copies the data into a new cluster, and only a
finished one replaces the old one. On any failure the old data stays where and as it was. The old cluster is
removed once the new one has answered; the backup is kept.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import structlog

from festinger.clock import Clock
from festinger.errors import CannotStart, FestingerError
from festinger.store.backup.backup import create_backup, format_timestamp
from festinger.store.embedded import cluster
from festinger.store.embedded.programs import (
    MAJOR,
    Binaries,
    Command,
    ProgramResult,
    binaries_in_package,
    bundled_binaries,
    ensure_runnable,
    run_program,
)
from festinger.store.embedded.start import Deadline, EmbeddedServerSpec, start_server
from festinger.store.paths import HomeLayout, explain_os_errors, make_folder, suggest_remedy, sync_folder

log = structlog.get_logger()

_ERROR = re.compile(r"(?:ERROR|FATAL|PANIC|error): +(.*)")
_CHECKSUMS = re.compile(r"Data page checksum version:\s*(\d+)")


async def upgrade_cluster(server: EmbeddedServerSpec, deadline: Deadline, *, clock: Clock) -> None:
    """Upgrade the data of `server` to the major version of its programs. Nothing may be running on it."""
    layout = server.layout
    old = await _old_programs(server)
    try:
        await _dump_old_cluster(server, old, deadline, clock=clock)
        await _build_upgraded_cluster(server, old)
    except FestingerError as error:
        raise CannotStart(
            f"The embedded database could not be moved to PostgreSQL {MAJOR}: {error.message}",
            hint=f"{error.hint} The data of PostgreSQL {old.major} is as it was.",
        ) from error
    finally:
        shutil.rmtree(layout.growing, ignore_errors=True)
        shutil.rmtree(layout.upgrade_workspace, ignore_errors=True)
    with explain_os_errors(layout.home):
        finish_upgrade(layout)
    log.info("embedded database upgraded", room="store", before=old.major, after=MAJOR)


def finish_upgrade(layout: HomeLayout) -> None:
    """Move a finished cluster into place, even if an earlier attempt was killed between the two renames."""
    if not layout.upgraded_cluster.exists():
        return
    if layout.data.exists():
        shutil.rmtree(layout.outdated_cluster, ignore_errors=True)
        layout.data.rename(layout.outdated_cluster)
    layout.upgraded_cluster.rename(layout.data)
    sync_folder(layout.home)


def remove_old_cluster(layout: HomeLayout) -> None:
    """Remove the old cluster, now that the new one answers."""
    shutil.rmtree(layout.outdated_cluster, ignore_errors=True)


async def _old_programs(server: EmbeddedServerSpec) -> Binaries:
    major = cluster.cluster_major_version(server.layout.data)
    assert major is not None
    wheel = binaries_in_package(bundled_binaries().folder.parent, major)
    return await ensure_runnable(wheel, account=server.account, copies=server.layout.binaries)


async def _dump_old_cluster(server: EmbeddedServerSpec, old: Binaries, deadline: Deadline, *, clock: Clock) -> Path:
    """Back up with the old server. This also shuts it down cleanly, which `pg_upgrade` requires."""
    layout = server.layout
    before = EmbeddedServerSpec(layout=layout, binaries=old, account=server.account, password=server.password)
    with explain_os_errors(layout.backups):
        make_folder(layout.backups)
    target = layout.backups / f"before-postgres-{MAJOR}-{format_timestamp(clock())}.dump"
    socket = await start_server(before, deadline.restart_from_now())
    try:
        await create_backup(before.url(socket=socket), target, clock=clock)
    finally:
        await cluster.stop_server(layout, stopwatch=deadline.stopwatch)
    return target


async def _build_upgraded_cluster(server: EmbeddedServerSpec, old: Binaries) -> None:
    layout, account, new = server.layout, server.account, server.binaries
    with explain_os_errors(layout.home):
        checksums = await _has_checksums(layout.data, old, server)
        # Both must agree on checksums; a cluster without them gets them afterwards, in its new copy.
        await cluster.initialize_cluster(layout.growing, new, account=account, checksums=checksums)
        await cluster.set_superuser_password(layout.growing, new, account=account, password=server.password)
        shutil.rmtree(layout.upgrade_workspace, ignore_errors=True)
        make_folder(layout.upgrade_workspace, uid=account.uid, gid=account.gid)
        await _pg_upgrade(server, old)
        cluster.write_cluster_config(layout.growing, account=account)
        if not checksums:
            enable: Command = [new["pg_checksums"], "--enable", "-D", layout.growing]
            _require_success(await run_program(enable, account=account), layout)
        layout.growing.rename(layout.upgraded_cluster)
        sync_folder(layout.home)


async def _has_checksums(data: Path, old: Binaries, server: EmbeddedServerSpec) -> bool:
    told = await run_program([old["pg_controldata"], "-D", data], account=server.account)
    _require_success(told, server.layout)
    found = _CHECKSUMS.search(told.out)
    return found is not None and found[1] != "0"


async def _pg_upgrade(server: EmbeddedServerSpec, old: Binaries) -> None:
    layout, new = server.layout, server.binaries
    command: Command = [
        *(new["pg_upgrade"], "--username", cluster.SUPERUSER),
        *("--old-bindir", old.folder / "bin", "--new-bindir", new.folder / "bin"),
        *("--old-datadir", layout.data, "--new-datadir", layout.growing),
        # Copied, not linked: the old data must stay usable whatever happens.
        "--copy",
    ]
    outcome = await run_program(
        command, account=server.account, environment={"PGPASSWORD": server.password}, cwd=layout.upgrade_workspace
    )
    if outcome.status != 0:
        files = sorted((layout.growing / "pg_upgrade_output.d").rglob("*.log"))
        reason = find_upgrade_failure_reason(outcome.out, [path.read_text(errors="replace") for path in files])
        raise CannotStart(f"{reason}.", hint=suggest_remedy(reason, layout.home))


def find_upgrade_failure_reason(said: str, logs: Sequence[str]) -> str:
    """Return why `pg_upgrade` failed: the first error in its logs, else the text after its failed check."""
    for text in logs:
        if found := _ERROR.search(text):
            return found[1].strip()
    after = (said.rpartition("fatal")[0] and said.rpartition("fatal")[2]) or said
    lines = [line.strip() for line in after.splitlines() if line.strip()]
    return lines[0] if lines else "pg_upgrade gave no reason"


def _require_success(outcome: ProgramResult, layout: HomeLayout) -> None:
    if outcome.status != 0:
        reason = outcome.reason
        raise CannotStart(f"{reason}.", hint=suggest_remedy(reason, layout.home))
