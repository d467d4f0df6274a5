"""A chronicle that writes into an open house while the block runs, as the server has one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from festinger.clock import Clock, system_stopwatch
from festinger.proxy.capture.queue import CaptureWriter, SpoolIngester
from festinger.proxy.capture.recorder import StoreRecorder
from festinger.proxy.capture.spool import Spool
from festinger.runtime.app import App
from festinger.settings.tree import ProxySettings

PATIENCE_S = 120
"""On a busy machine everything takes its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    writer: CaptureWriter
    recorder: StoreRecorder

    async def kept(self) -> None:
        """Wait until everything is in the store."""
        async with asyncio.timeout(PATIENCE_S):
            await self.writer.settled()


def recorder(
    app: Callable[[], App | None],
    folder: Path,
    *,
    clock: Clock,
    settings: ProxySettings | None = None,
    name: str = "1",
    ingester: SpoolIngester | None = None,
) -> Recorder:
    chosen = settings or ProxySettings()
    spool = Spool(folder, name=name)
    writer = CaptureWriter(app, spool, settings=lambda: chosen, stopwatch=system_stopwatch, ingester=ingester)
    recorder = StoreRecorder(app, writer, clock=clock, settings=lambda: chosen)
    return Recorder(writer=writer, recorder=recorder)


@asynccontextmanager
async def recording(app: App, folder: Path, *, settings: ProxySettings | None = None) -> AsyncIterator[Recorder]:
    """A recorder at work; at the end it finishes as a server's does."""
    made = recorder(lambda: app, folder / "spool", clock=app.tools.clock, settings=settings)
    working = asyncio.create_task(made.writer.run())
    try:
        yield made
    finally:
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        await made.writer.finish()
