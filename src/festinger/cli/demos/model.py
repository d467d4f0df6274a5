"""Who answers in a demo? A model server that reads from a script and keeps what it was sent.

It speaks the protocols of the proxy by the proxy's own answers, so that whatever a demo sends is answered legally.
"""

from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import orjson

from festinger.clock import Clock
from festinger.proxy.context.block import mark_of
from festinger.proxy.protocols.messages import Kind, Request, cleaning
from festinger.proxy.protocols.parse import read
from festinger.proxy.protocols.synthetic import Finish, OwnAnswer, own_answer
from festinger.proxy.transport.server import close_sockets, open_sockets, serving

HOST = "127.0.0.1"
LARGEST = 2**20
USUAL = "All right."
KINDS = {kind.value: kind for kind in Kind}


class ScriptedModel:
    """An ASGI application in the place of a model server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._script: deque[str] = deque()
        self.received: list[dict[str, Any]] = []

    def says(self, lines: Iterable[str]) -> None:
        """What it answers next; after that it says the usual."""
        self._script.extend(lines)

    @property
    def newest(self) -> str:
        """The last message of the request that came last."""
        return str(self.received[-1]["messages"][-1]["content"])

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        answer = self._answer(scope["path"], body, at=self._clock())
        length = sum(map(len, answer.chunks))
        headers = [(b"content-type", answer.content_type), (b"content-length", b"%d" % length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for chunk in answer.chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _answer(self, path: str, body: bytes, *, at: datetime) -> OwnAnswer:
        if path not in KINDS:
            return OwnAnswer(content_type=b"application/json", chunks=(b"{}",))
        self.received.append(orjson.loads(body))
        asked = read(body, KINDS[path], rules=cleaning(mark_of(""), ()), limit=LARGEST)
        assert isinstance(asked, Request), "a demo sends only what can be read"
        text = self._script.popleft() if self._script else USUAL
        return own_answer(asked, text, finish=Finish.STOP, answer_id="demo", at=at)


@asynccontextmanager
async def answering(model: ScriptedModel) -> AsyncIterator[str]:
    """The model behind a port of its own; its address."""
    sockets = open_sockets(HOST, 0)
    try:
        async with serving(model, sockets, shutdown_seconds=1):
            yield f"http://{HOST}:{sockets[0].getsockname()[1]}"
    finally:
        close_sockets(sockets)
