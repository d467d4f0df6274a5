"""A wire between a store and its server that a test can cut, mend and freeze."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

SOCKET = ".s.PGSQL.5432"


class Relay:
    """Passes bytes on between its own socket and the server's."""

    def __init__(self, url: str) -> None:
        # A short path of its own: socket paths end at 107 bytes, and pytest's folders are long.
        self._folder = Path(tempfile.mkdtemp(prefix="fst-"))
        self._server = Path(str(conninfo_to_dict(url)["host"])) / SOCKET
        self._flows = asyncio.Event()
        self._flows.set()
        self._listener: asyncio.Server | None = None
        self._pipes: set[asyncio.Task[None]] = set()
        self.calls = 0
        self.url = make_conninfo(url, host=str(self._folder))

    async def mend(self) -> None:
        self._listener = await asyncio.start_unix_server(self._call, self._folder / SOCKET)

    async def cut(self) -> None:
        """End every connection and take no new one."""
        assert self._listener is not None
        self._listener.close()
        for pipe in self._pipes:
            pipe.cancel()
        await asyncio.gather(*self._pipes, return_exceptions=True)
        (self._folder / SOCKET).unlink(missing_ok=True)

    def freeze(self) -> None:
        """Keep every connection open and let nothing through."""
        self._flows.clear()

    async def close(self) -> None:
        await self.cut()
        shutil.rmtree(self._folder)

    async def _call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        far_reader, far_writer = await asyncio.open_unix_connection(self._server)
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            pipe = asyncio.create_task(self._pump(source, sink))
            self._pipes.add(pipe)
            pipe.add_done_callback(self._pipes.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65_536):
                await self._flows.wait()
                sink.write(data)
        finally:
            sink.close()


@asynccontextmanager
async def relay_to(url: str) -> AsyncIterator[Relay]:
    relay = Relay(url)
    await relay.mend()
    try:
        yield relay
    finally:
        await relay.close()
