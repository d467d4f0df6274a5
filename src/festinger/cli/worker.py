"""The worker process: it does everything that can wait, so that the process that serves only serves.

A server starts one, passes it its own settings, and starts it again with growing pauses when it dies. Meanwhile
requests go on: what is captured waits in the spool. Both talk in lines of JSON over the worker's stdin and stdout.
The server says that a spool file is sealed, which turns a person just said, and which model clients use; the
worker says which turns it has learned and what it has counted. Nothing depends on these lines: the spool and the
store hold all that must not be lost. A worker whose server is gone ends by itself.
"""

import asyncio
import os
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import structlog

from festinger.cli.agent_tools import build_agent_tools
from festinger.cli.context import CommandContext
from festinger.clock import Stopwatch
from festinger.ids import AgentId, Scope, SessionId, SpaceId
from festinger.jobs.queue import Pause
from festinger.jobs.worker import STEADY_SECONDS, restart_delays
from festinger.memory.deps import EffectiveMemorySettings
from festinger.memory.extract.turns import PersonTurn
from festinger.observability.checks import Check, ok_check, warning_check
from festinger.observability.metrics import Counts, add_counts, take_counts_since
from festinger.proxy.capture.queue import CaptureWriter, SpoolIngester
from festinger.proxy.capture.spool import Spool
from festinger.proxy.errors import fail_open
from festinger.proxy.statements import learn_turns
from festinger.runtime.app import App, StartOptions
from festinger.runtime.environment import SystemServices, home_of, store_fingerprint
from festinger.runtime.settings import subscribe_to_file_edits
from festinger.services.resident import run_resident_agents
from festinger.settings.deployment import Deployment
from festinger.settings.live import LiveSettings
from festinger.settings.watch import watch_settings_file
from festinger.store.paths import HomeLayout

log = structlog.get_logger(room="cli")

COMMAND = (sys.executable, "-m", "festinger", "worker", "--server-pid", str(os.getpid()))
LINE_BYTES = 2**22
MOST_UNSENT = 2**20
"""Bytes that may wait for a worker that does not read; more are not sent."""
MOST_LEARNING = 200
"""Turns that a worker is asked to learn at once; the others it finds in what was captured."""
LEARN_SECONDS = 1.0
"""Nobody waits longer than this for a turn to be learned."""
END_SECONDS = 10.0
"""What a worker gets at a stop beyond the time of its jobs."""
REPORT_SECONDS = 2.0
POLL_SECONDS = 1.0
"""How often sealed files are looked for, also without being told."""
NICENESS = 5
"""Requests go first where the processor is short."""


def build_capture_writer(
    settings: LiveSettings,
    tools: SystemServices,
    app: Callable[[], App | None],
    *,
    ingester: SpoolIngester | None = None,
    **options: Any,
) -> CaptureWriter:
    """The writer of a process on the spool of its home."""
    name = f"{store_fingerprint(settings)[:8]}.{tools.new_id()}"
    return CaptureWriter(
        app,
        Spool(HomeLayout(home=home_of(settings)).spool, name=name),
        settings=lambda: settings.now.proxy,
        stopwatch=tools.stopwatch,
        redact=lambda space: EffectiveMemorySettings(memory=settings.for_space(space).memory).redact,
        ingester=ingester,
        **options,
    )


class WorkerProcess:
    """The worker of a server, as the server sees it."""

    def __init__(self, settings: LiveSettings, *, stopwatch: Stopwatch, pause: Pause = asyncio.sleep) -> None:
        self.is_running = False
        """Whether there is one that has its store open."""
        self.pid = 0
        self.ends = 0
        """How often it has ended by itself."""
        self.on_ready: Callable[[], None] = lambda: None
        self._settings = settings
        self._stopwatch = stopwatch
        self._pause = pause
        self._stdin: asyncio.StreamWriter | None = None
        self._learning: dict[int, asyncio.Future[int]] = {}
        self._asked = 0
        self._model = ""

    def wake(self) -> None:
        self._send({"wake": True})

    def learn(
        self, scope: Scope, turns: Sequence[PersonTurn], *, is_history: bool = False
    ) -> asyncio.Future[int] | None:
        if not self.is_running:
            return None
        self._asked += 1
        number, loop = self._asked, asyncio.get_running_loop()
        self._learning[number] = learned = loop.create_future()
        if not is_history:
            loop.call_later(LEARN_SECONDS, self._resolve_learning, [number], 0)
        said = [{"id": str(turn.id), "text": turn.text} for turn in turns]
        asks = {"learn": number, "scope": asdict(scope), "turns": said, "history": is_history}
        if len(self._learning) > MOST_LEARNING or not self._send(asks):
            self._resolve_learning([number], 0)
        return learned

    def skip(self, space: SpaceId, turns: Sequence[PersonTurn]) -> None:
        self._send({"skip": space, "turns": [str(turn.id) for turn in turns]})

    def use_model(self, setting: str) -> None:
        if setting != self._model and self._send({"model": setting}):
            self._model = setting

    def check(self) -> Check:
        """Check for `doctor` whether it works."""
        details = {"pid": self.pid, "ends": self.ends}
        if self.is_running or not self.ends:
            message = "The worker process works." if self.is_running else "The worker process is starting."
            return ok_check("worker.process", message, **details)
        return warning_check(
            "worker.process",
            f"The worker process has ended {self.ends} times and is started again; meanwhile what is said waits.",
            "The log of `festinger serve` says why it ended. `--no-worker` does its work in the server.",
            **details,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep a worker running inside this block; at its end it finishes what it does."""
        task = asyncio.create_task(self.keep())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def keep(self) -> None:
        """Run a worker, again and again, until canceled."""
        pauses = restart_delays()
        while True:
            began, code = self._stopwatch(), None
            with fail_open("worker process"):
                code = await self._run_to_end()
            if self._stopwatch() - began >= STEADY_SECONDS:
                pauses = restart_delays()
            self.ends += 1
            seconds = next(pauses)
            log.error("worker process ended", code=code, again_in_s=seconds)
            await self._pause(seconds)

    async def _run_to_end(self) -> int | None:
        """Run a worker to its end; return its exit code."""
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_BYTES,
            # Ctrl-C in the terminal is for the server, which ends its worker last. In a session of its own, the
            # niceness of the worker would mean nothing beside the server where Linux groups processes by session.
            preexec_fn=os.setpgrp,
        )
        self.pid, self._stdin, self._model = process.pid, process.stdin, ""
        try:
            self._send(asdict(self._settings.deployment))
            assert process.stdout is not None
            async for line in process.stdout:
                with fail_open("worker report"):
                    self._hear(orjson.loads(line))
            return await process.wait()
        finally:
            self.is_running, self._stdin = False, None
            self._resolve_learning(list(self._learning), 0)
            await self._end(process)

    def _hear(self, said: Mapping[str, Any]) -> None:
        if "ready" in said:
            self.is_running = True
            self.on_ready()
        elif "learned" in said:
            self._resolve_learning([said["learned"]], said["things"])
        else:
            add_counts(said["counts"])

    def _resolve_learning(self, numbers: Iterable[int], things: int) -> None:
        for number in numbers:
            if (learned := self._learning.pop(number, None)) is not None and not learned.done():
                learned.set_result(things)

    def _send(self, message: Mapping[str, Any]) -> bool:
        """Send a line to the worker, if it reads."""
        stdin, line = self._stdin, orjson.dumps(message, default=str) + b"\n"
        if stdin is None or stdin.is_closing() or len(line) > LINE_BYTES:
            return False
        if stdin.transport.get_write_buffer_size() > MOST_UNSENT:
            return False
        stdin.write(line)
        return True

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(self._settings.now.server.shutdown_seconds + END_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


class ServerLink:
    def __init__(self, lines: asyncio.StreamReader, deployment: Deployment) -> None:
        self.deployment = deployment
        self._lines = lines
        self._in_order: defaultdict[tuple[SpaceId, AgentId], asyncio.Lock] = defaultdict(asyncio.Lock)
        """What an agent hears is learned in order: a correction needs what it corrects."""
        self._history = asyncio.Lock()

    @classmethod
    async def open(cls) -> "ServerLink":
        """Take stdin and stdout, and read what the server was started with."""
        os.nice(NICENESS)
        lines, loop = asyncio.StreamReader(limit=LINE_BYTES), asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        said = orjson.loads(await lines.readline())
        paths = {name: Path(said[name]) for name in ("folder", "config_folder", "config") if said[name]}
        return cls(lines, Deployment(**{**said, **paths}))

    async def follow(self, app: App, writer: CaptureWriter, *, stop: asyncio.Event) -> None:
        """Do what the server says until it is gone."""
        _say({"ready": True})
        app.background.start(self._report_counts_forever())
        async for line in self._lines:
            with fail_open("server line"):
                self._run_server_command(app, writer, orjson.loads(line))
        stop.set()

    def _run_server_command(self, app: App, writer: CaptureWriter, said: Mapping[str, Any]) -> None:
        if "wake" in said:
            writer.wake()
        elif "learn" in said:
            app.background.start(self._learn(app, said))
        elif "skip" in said:
            for turn in said["turns"]:
                app.memory.claim_turn(SpaceId(said["skip"]), UUID(turn))
        else:
            app.own_model.setting = said["model"]

    async def _learn(self, app: App, said: Mapping[str, Any]) -> None:
        where = said["scope"]
        scope = Scope(space=SpaceId(where["space"]), agent=AgentId(where["agent"]), session=SessionId(where["session"]))
        turns = [PersonTurn(id=UUID(turn["id"]), text=turn["text"]) for turn in said["turns"]]
        if said["history"]:
            things = await self._learn_history(app, scope, turns)
        else:
            async with self._in_order[scope.space, scope.agent]:
                things = len((await learn_turns(app, scope, turns)).actions)
        _say({"learned": said["learn"], "things": things})

    async def _learn_history(self, app: App, scope: Scope, turns: Sequence[PersonTurn]) -> int:
        """Learn what was said long ago, one turn of one history at a time: what is said now goes between."""
        things = 0
        async with self._history:
            for turn in turns:
                async with self._in_order[scope.space, scope.agent]:
                    status = await learn_turns(app, scope, [turn])
                things += len(status.actions)
                if status.failed:
                    break
        return things

    async def _report_counts_forever(self) -> None:
        """Report what this process counts, so that one page of metrics shows both."""
        before: Counts = {}
        while True:
            await asyncio.sleep(REPORT_SECONDS)
            if changed := take_counts_since(before):
                _say({"counts": changed})


def _say(message: Mapping[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.buffer.flush()


async def run_worker(context: CommandContext, *, stop: asyncio.Event, supervised: bool) -> None:
    """Run jobs and ingest the spool of this home until `stop`."""
    link = await ServerLink.open() if supervised else None
    settings = LiveSettings(link.deployment) if link else context.settings()
    context.configure_logs(settings)
    async with context.app(start=StartOptions(providers=True, workers=True), settings=settings) as app:
        subscribe_to_file_edits(app)
        app.agent_tools = build_agent_tools
        app.background.start(run_resident_agents(app))
        app.background.start(watch_settings_file(settings, stop=stop))
        writer = build_capture_writer(settings, app.tools, lambda: app, adopt_seconds=POLL_SECONDS)
        working = asyncio.create_task(writer.run())
        if link is not None:
            app.background.start(link.follow(app, writer, stop=stop))
        context.say("Working; stop with Ctrl-C.")
        await stop.wait()
        working.cancel()
        await asyncio.wait({working})
        await writer.finish()
