"""How is another program run: to its end, or so that it outlives us?

Plain `subprocess` in a thread, because not every event loop can start a program as another user. A program
that is waited for dies with the one who waits; a detached one has its own session, so that Ctrl-C in the
terminal does not reach it, and is nobody's child, so that nobody has to reap it.
"""

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from festinger.store.server_user import Account

QUIET_LOCALE = {"LC_ALL": "C", "LANG": "C"}
"""Messages are read by us, so they must not be translated."""

Command = Sequence[str | Path]

# Standard output goes where errors go: a pipe that the program kept open would never end for us.
_DETACH = 'umask 077; "$@" </dev/null >&2 & echo $!'


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    status: int
    out: str
    err: str

    @property
    def reason(self) -> str:
        """The line that says what went wrong."""
        lines = [line.strip() for line in (self.err + "\n" + self.out).splitlines() if line.strip()]
        telling = [
            line for line in lines if any(word in line for word in ("FATAL", "PANIC", "error:", "ERROR"))
        ]
        return (telling or lines or [f"it ended with status {self.status}"])[0]


def clean_environment() -> dict[str, str]:
    """Our environment without what points Postgres programs at some other server of this person."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return kept | QUIET_LOCALE


async def run(
    command: Command,
    *,
    account: Account | None = None,
    environment: Mapping[str, str] | None = None,
    given: str = "",
    output: int | None = None,
    cwd: Path = Path("/"),
) -> Outcome:
    """Run a program to its end. `given` is its input, `output` a descriptor that takes its standard output."""
    process = _start(command, account=account, environment=environment, output=output, cwd=cwd)
    try:
        out, err = await asyncio.to_thread(process.communicate, given)
    except asyncio.CancelledError:
        process.kill()
        process.communicate()
        raise
    return Outcome(status=process.returncode, out=out or "", err=err)


def _start(
    command: Command,
    *,
    account: Account | None,
    environment: Mapping[str, str] | None,
    output: int | None,
    cwd: Path,
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if output is None else output,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        cwd=cwd,
        env=clean_environment() | dict(environment or {}),
        umask=0o077,
        # Ctrl-C in the terminal is for us; we end our helpers ourselves.
        start_new_session=True,
        **(account.as_process() if account else {}),
    )


def detach(
    command: Command,
    *,
    account: Account | None = None,
    output: int | None = None,
    keep: Sequence[int] = (),
) -> int:
    """Start a program that outlives us; its pid. `keep` are descriptors that it holds open while it lives."""
    done = subprocess.run(
        ["/bin/sh", "-c", _DETACH, "sh", *(str(part) for part in command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if output is None else output,
        text=True,
        cwd="/",
        env=clean_environment(),
        start_new_session=True,
        pass_fds=tuple(keep),
        check=True,
        **(account.as_process() if account else {}),
    )
    return int(done.stdout)
