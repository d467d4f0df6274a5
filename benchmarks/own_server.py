"""How do we ourselves run while we are measured?

As a user runs us: the command `festinger serve`, with its defaults, on a home that is thrown away afterwards. Only
the upstream is the stub, and the embedded server is stopped by us and at once, not after its usual grace.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.load import HOST
from benchmarks.server import Program, bare_environment, free_port
from benchmarks.suite import PRODUCT
from festinger.clock import Stopwatch
from festinger.errors import CannotStart
from festinger.settings.deployment import Deployment
from festinger.settings.live import LiveSettings
from festinger.store.embedded.holders import stop_if_idle
from festinger.store.paths import HomeLayout

READY = "/admin/readyz"
COMMAND = "from festinger.cli.main import main; main()"


@asynccontextmanager
async def throw_away_home(folder: Path, *, stopwatch: Stopwatch) -> AsyncIterator[Path]:
    """The home in this folder, empty at first; its database server is stopped at the end."""
    home = folder / "home"
    try:
        yield home
    finally:
        await stop_if_idle(HomeLayout(home=home.resolve()), stopwatch=stopwatch)


def settings_at(home: Path, given: Mapping[str, Any]) -> LiveSettings:
    """What this process is told while it works on a home itself: nothing that its user has set for others."""
    own = {"home": str(home), "secrets.key_file": str(home.parent / "key"), "offline": True}
    told = {**own, "store.stop_when_idle": False, **given}
    return LiveSettings(Deployment(environment={}, folder=home.parent, config_folder=home.parent, command_line=told))


def own_environment(home: Path) -> dict[str, str]:
    """What a process of ours sees that works on a home."""
    return bare_environment(
        home.parent, FESTINGER_HOME=str(home), FESTINGER_OFFLINE="1", FESTINGER_STORE__STOP_WHEN_IDLE="false"
    )


async def run_apart(module: str, *arguments: str, home: Path) -> None:
    """A module of the bench in a process of its own on a home, to its end. `CannotStart` if it fails."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"benchmarks.{module}", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        env=own_environment(home),
        cwd=home.parent,
    )
    try:
        if await process.wait():
            raise CannotStart(f"`{module}` could not be measured; its last words are above.")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def serving(home: Path, *, upstream_port: int) -> Program:
    """`festinger serve` on a home, in front of a stub."""
    port = free_port()
    options = ["--port", str(port), "--upstream", f"http://{HOST}:{upstream_port}"]
    return Program(
        name=PRODUCT,
        command=[sys.executable, "-c", COMMAND, "serve", *options],
        port=port,
        ready=READY,
        folder=home.parent,
        environment=own_environment(home),
    )
