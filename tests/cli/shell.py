"""Calling commands in a test: inside this process for most, as real processes where that is the point."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from festinger.cli.main import command_line

PATIENCE_S = 90.0
"""Longer than any start or stop on a busy machine; a test that waits this long has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """A person at a prompt, with a home of their own and a database to work on."""

    home: Path
    database: str | None
    environment: dict[str, str] = field(default_factory=lambda: {"FESTINGER_EMBEDDING__MODEL": "hashed:"})
    """The toy embedder: the real one takes two seconds to load, which most commands are not about."""

    def __call__(self, *arguments: str, typed: str | None = None, **environment: str) -> Said:
        """Run a command in this process, on the database."""
        runner = CliRunner()
        result = runner.invoke(
            command_line(), [*arguments, *self._address()], input=typed, env={**self.environment, **environment}
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Said(code=result.exit_code, out=result.stdout, err=result.stderr)

    def process(self, *arguments: str, **options: Any) -> "subprocess.Popen[str]":
        """Start a command as a process of its own, on the database."""
        added, python = options.pop("environment", {}), options.pop("python", sys.executable)
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL} | options
        return subprocess.Popen(
            [python, "-m", "festinger", *arguments, *self._address()],
            text=True,
            cwd=self.home,
            env={**os.environ, **self.environment, **added},
            # Whoever runs the tests in the background may ignore Ctrl-C, which a process would inherit.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
            **options,
        )

    def real(self, *arguments: str, **options: Any) -> Said:
        """Run a command as a process of its own, to its end."""
        running = self.process(*arguments, **options)
        out, err = running.communicate(timeout=PATIENCE_S)
        return Said(code=running.returncode, out=out or "", err=err or "")

    @contextmanager
    def server(self, *arguments: str, **options: Any) -> Iterator["Served"]:
        """`festinger serve` on a free port while the block runs; whatever happens, it is gone afterwards."""
        port = free_port()
        log = self.home / f"serve-{port}.log"
        with log.open("w") as lines:
            running = self.process("serve", "--port", str(port), *arguments, stderr=lines, **options)
        try:
            yield Served(process=running, port=port, log=log)
        finally:
            if running.poll() is None:
                running.kill()
            running.communicate(timeout=PATIENCE_S)

    def _address(self) -> tuple[str, ...]:
        return ("--database", self.database) if self.database else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    process: "subprocess.Popen[str]"
    port: int
    log: Path

    def ask(self, path: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def wait_until(self, path: str, status: int) -> dict[str, str]:
        """Ask until the answer has this status; its headers."""
        seen: object = None
        for _ in patiently():
            assert self.process.poll() is None, self.log.read_text()
            try:
                seen, headers, _body = self.ask(path)
            except OSError as error:
                seen = error
                continue
            if seen == status:
                return headers
        raise AssertionError(f"{path} said {seen} last; {self.log.read_text()}")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


def patiently() -> Iterator[None]:
    """Tries, a moment apart, until patience ends."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        yield
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
