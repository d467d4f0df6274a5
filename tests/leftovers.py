"""What does a run leave behind? A pytest plugin, loaded by `conftest.py`.

Every run gets a temporary folder and a home of its own, and every process it starts inherits the run's name. When the
run ends, whatever still lives in the folder or still carries the name is removed, named and fails the run. So
a test that forgets a server or a file is found on the day it is written.
"""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

RUN = "TEST_RUN_OF_FESTINGER"
"""Names the run in the environment of everything it starts; not a `FESTINGER_…` name, those are settings."""

HOMES = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")
ROOTS_HOME = Path("/var/lib/festinger")

PATIENCE_S = 30.0
"""How long a process that is already ending may take to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """Where a run may write, and what stood there before it."""

    folder: Path
    environment: dict[str, str | None]
    roots_home_stood: bool


def lay_grounds() -> Grounds:
    """Give this run a temporary folder and an empty home; everything started from now on inherits them."""
    before = {name: os.environ.get(name) for name in ("TMPDIR", "PYTEST_DEBUG_TEMPROOT", RUN, *HOMES)}
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix="fst-"))
    # The test server runs as another user when the tests run as root: it must be able to walk through.
    folder.chmod(0o711)
    (folder / "home").mkdir(mode=0o700)
    for name in HOMES:
        os.environ.pop(name, None)
    os.environ.update({"TMPDIR": str(folder), "HOME": str(folder / "home"), RUN: folder.name})
    tempfile.tempdir = None
    return Grounds(folder=folder, environment=before, roots_home_stood=ROOTS_HOME.exists())


def leave(grounds: Grounds) -> None:
    """Put the environment back and remove the folder."""
    for name, value in grounds.environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    tempfile.tempdir = None
    shutil.rmtree(grounds.folder, ignore_errors=True)


def strays(name: str) -> list[psutil.Process]:
    """Processes that carry the run's name, but for this one and those it came from."""
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    return [process for process in psutil.process_iter() if process.pid not in own and _carries(process, name)]


def files(grounds: Grounds) -> list[Path]:
    """What was left in the run's folder and homes, outermost names only."""
    left = [path for path in grounds.folder.iterdir() if path.name != "home"]
    left += (grounds.folder / "home").rglob("*")
    if ROOTS_HOME.exists() and not grounds.roots_home_stood:
        left.append(ROOTS_HOME)
    return sorted(left)


def end(processes: Iterable[psutil.Process]) -> list[str]:
    """Wait for processes that are ending, stop the others, and name those."""
    _, waited = psutil.wait_procs(list(processes), timeout=PATIENCE_S)
    alive = [process for process in waited if _lives(process)]
    named = [f"process {process.pid}: {_command(process)}" for process in alive]
    for process in alive:
        process.kill()
    psutil.wait_procs(alive, timeout=PATIENCE_S)
    return named


def _carries(process: psutil.Process, name: str) -> bool:
    try:
        return _lives(process) and process.environ().get(RUN) == name
    except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
        return False


def _lives(process: psutil.Process) -> bool:
    """Whether it can still do anything. One that ended stays listed until its parent asks, which may be never."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())[:120]
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return "already gone"


class Leftovers:
    def __init__(self) -> None:
        self._grounds = lay_grounds()
        self._found: list[str] = []

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session):
        # Around every other plugin: the test server and the workers are stopped by now.
        result = yield
        self._found = [*end(strays(self._grounds.folder.name)), *map(str, files(self._grounds))]
        if self._found and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self._found:
            terminalreporter.write_line(f"left behind: {line}", red=True)

    def pytest_unconfigure(self) -> None:
        leave(self._grounds)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        # A run that is told to end (by `timeout`, by CI) tidies up as one that is interrupted does.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        config.pluginmanager.register(Leftovers(), "festinger-leftovers")
