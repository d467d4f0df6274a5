"""Opening an embedded server in a test: no grace, and no user of the system made for it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from festinger.clock import system_stopwatch
from festinger.settings.tree import StoreSettings
from festinger.store.connection import closing_connection
from festinger.store.embedded import cluster
from festinger.store.embedded.programs import Account, find_account, server_account
from festinger.store.embedded.server import open_embedded_server
from festinger.store.paths import HomeLayout

REPOSITORY = Path(__file__).parents[2]

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    path: Path
    config: Path

    @property
    def layout(self) -> HomeLayout:
        return HomeLayout(home=self.path)

    @property
    def is_running(self) -> bool:
        return cluster.is_running(self.layout)

    @property
    def postmaster(self) -> int:
        pid = cluster.find_postmaster(self.layout.data)
        assert pid is not None
        return pid

    async def stop(self) -> None:
        await cluster.stop_server(self.layout, stopwatch=system_stopwatch)


def account(data: Path) -> Account:
    """As whom the server of a test runs: root becomes a user that every system has."""
    nobody = find_account("nobody")
    return nobody if os.geteuid() == 0 and nobody else server_account(data)


def opened(
    home: Home, *, grace: float = 0.0, progress: Callable[[str], None] = lambda line: None, **settings: Any
) -> AbstractAsyncContextManager[str]:
    limits = {"start_timeout": 60} | settings
    return open_embedded_server(
        home.path, home.config, StoreSettings(**limits), progress=progress, grace=grace, account=account
    )


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[psycopg.AsyncConnection[tuple[Any, ...]]]:
    async with closing_connection(await psycopg.AsyncConnection.connect(url, autocommit=True)) as connection:
        yield connection


async def asked(url: str, statement: str) -> Any:
    """The first column of the first row."""
    async with connected(url) as connection:
        row = await (await connection.execute(statement)).fetchone()
        return row[0] if row else None


def reachable_folder() -> Path:
    """A new folder that other users can pass through, in memory where that has room.

    Clusters sync what they write; in memory that is free, and a killed process loses nothing there either.
    """
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 * 2**30
    if roomy and not os.statvfs(memory).f_flag & os.ST_NOEXEC:
        folder = Path(tempfile.mkdtemp(prefix="fst-", dir=memory))
    else:
        folder = Path(tempfile.mkdtemp(prefix="h-"))
    folder.chmod(0o711)
    return folder


def copy_as_it_is(source: Path, target: Path) -> None:
    """Copy a folder with owners and modes."""
    subprocess.run(["cp", "-a", source, target], check=True)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def launched(command: list[str], **options: Any) -> "subprocess.Popen[str]":
    """A program that runs beside the test."""
    return subprocess.Popen(command, text=True, cwd=REPOSITORY, **options)


def writer(home: Home, *arguments: str) -> list[str]:
    """The command that runs the writer program on this home."""
    return [sys.executable, "-m", "tests.store.writer", str(home.path), str(home.config), *arguments]
