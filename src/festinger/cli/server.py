"""The server behind the open port: supervisor, pages and the watch over the settings file.

The supervisor opens the store and retries when it is unavailable. This module imports every package, so
`early_server` imports it only when the port already answers.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from festinger.cli.agent_tools import build_agent_tools
from festinger.cli.client import MODEL
from festinger.cli.early_server import BackgroundWorkPlace, ServerOptions
from festinger.cli.worker import WorkerProcess, build_capture_writer
from festinger.errors import StoreDown
from festinger.ids import MAIN_SPACE
from festinger.observability.checks import Check
from festinger.proxy.app import ASGIApp
from festinger.proxy.capture.queue import CaptureWriter
from festinger.proxy.capture.recorder import StoreRecorder
from festinger.proxy.context.build import AppWorldReader, ContextBuilder
from festinger.proxy.context.edit import ModelfileCache
from festinger.proxy.context.memories import AppMemoryReader, build_line_update_finder
from festinger.proxy.health import check_capture, check_memory_coverage, check_prefixes_and_loops, check_upstreams
from festinger.proxy.hooks import HookResponder
from festinger.proxy.pipeline import RequestPipeline
from festinger.proxy.remote_client import open_in_process
from festinger.proxy.statements import RequestLearner
from festinger.proxy.transport.upstream import UpstreamClient
from festinger.runtime.app import App, StartOptions, open_app
from festinger.runtime.environment import announce_server
from festinger.runtime.lifecycle import BackgroundTasks
from festinger.runtime.settings import subscribe_to_file_edits
from festinger.runtime.supervisor import McpCaller, Supervisor
from festinger.runtime.world import preload_world
from festinger.services.resident import run_resident_agents
from festinger.settings.watch import watch_settings_file
from festinger.web.app import build_admin_app


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedServer:
    supervisor: Supervisor
    pages: ASGIApp
    pipeline: RequestPipeline
    background: BackgroundTasks
    """Background tasks of the proxy."""
    recorder: StoreRecorder
    writer: CaptureWriter
    learner: RequestLearner

    def serving(self) -> AbstractContextManager[None]:
        """While a request is being served: background work waits."""
        return nullcontext() if self.supervisor.app is None else self.supervisor.app.jobs.courtesy.serving()

    async def live(self, stop: asyncio.Event) -> None:
        """Keep the store open and follow the settings file until `stop`."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.supervisor.keep())
            group.create_task(watch_settings_file(self.supervisor.settings, stop=stop))
            writing = group.create_task(self.writer.run())
            await stop.wait()
            writing.cancel()
            await asyncio.wait({writing})
            # What was captured is written before the store closes, or spooled.
            await self.writer.finish()
            self.supervisor.stop()
        await self.background.stop()


@asynccontextmanager
async def _open(how: ServerOptions, worker: WorkerProcess | None) -> AsyncIterator[App]:
    """The app of a server, with its worker; commands find the server while it is open."""
    start = StartOptions(providers=True, workers=how.background is BackgroundWorkPlace.HERE)
    async with open_app(how.settings, door="serve", progress=how.say, start=start, tools=how.tools) as app:
        app.agent_tools = build_agent_tools
        subscribe_to_file_edits(app)
        preload_world(app, MAIN_SPACE)
        if how.background is BackgroundWorkPlace.HERE:
            app.background.start(run_resident_agents(app))
        with announce_server(app.home, how.local):
            async with worker.running() if worker else nullcontext():
                yield app


def build_server(how: ServerOptions, upstream: UpstreamClient) -> LoadedServer:
    async def more_checks() -> Sequence[Check]:
        checks = [
            *await check_upstreams(upstream, how.settings.now.proxy),
            *check_capture(writer),
            *check_prefixes_and_loops(),
            *([worker.check()] if worker else []),
        ]
        if supervisor.app is not None:
            with suppress(StoreDown):  # its absence was reported already
                checks.append(await check_memory_coverage(supervisor.app.store, now=how.tools.clock()))
        return checks

    worker = None
    if how.background is BackgroundWorkPlace.WORKER:
        worker = WorkerProcess(how.settings, stopwatch=how.tools.stopwatch)
    supervisor = Supervisor(
        how.settings,
        lambda: _open(how, worker),
        more_checks=more_checks,
        closing=how.closing,
        local=how.local,
        disk_fault=lambda: writer.disk_fault,
    )
    background = BackgroundTasks()
    modelfiles = ModelfileCache(upstream, background=background)
    learner = RequestLearner(lambda: supervisor.app, background=background, reader=worker)
    writer = build_capture_writer(how.settings, how.tools, lambda: supervisor.app, ingester=worker)
    memories = AppMemoryReader(lambda: supervisor.app, learner=learner, keep=writer.put)
    context_builder = ContextBuilder(
        AppWorldReader(lambda: supervisor.app),
        memories=memories,
        background=background,
        new_id=how.tools.new_id,
        restate=build_line_update_finder(lambda: supervisor.app),
        modelfile=modelfiles.find,
    )
    if worker is not None:
        worker.on_ready = writer.wake
    recorder = StoreRecorder(
        lambda: supervisor.app, writer, clock=how.tools.clock, settings=lambda: how.settings.now.proxy
    )
    pipeline = RequestPipeline(
        clock=how.tools.clock,
        new_id=how.tools.new_id,
        settings=how.settings.now.proxy,
        modelfile=modelfiles.find,
        recorder=recorder,
        context_builder=context_builder,
        learner=learner,
    )
    supervisor.loops = pipeline.guard
    supervisor.handle_hook = HookResponder(writer, clock=how.tools.clock, new_id=how.tools.new_id).handle
    pages = build_admin_app(supervisor)
    supervisor.mcp = partial(_serve_mcp, pages)
    return LoadedServer(
        supervisor=supervisor,
        pages=pages,
        pipeline=pipeline,
        background=background,
        recorder=recorder,
        writer=writer,
        learner=learner,
    )


async def _serve_mcp(pages: ASGIApp, caller: McpCaller, scope: Any, receive: Any, send: Any) -> None:
    """Answer an MCP client; its tools ask the pages with the client's key."""
    module = await asyncio.to_thread(import_module, "festinger.mcp.server")
    open_client = partial(open_in_process, pages, key=caller.key, space=caller.space, agent=caller.agent, **MODEL)
    await module.serve_http(open_client, scope, receive, send)
