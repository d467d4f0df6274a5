"""A model server for demos that reads from a script and keeps what it was sent.

It speaks the protocols of the proxy with the proxy's own responses, so that every request of a demo gets a
valid answer.
"""

from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import orjson

from festinger.clock import Clock
from festinger.proxy.context.edit import build_block_marker
from festinger.proxy.errors import JSON, LocalResponse
from festinger.proxy.protocols.messages import ChatRequest, RequestKind, build_cleaning_rules
from festinger.proxy.protocols.parse import parse_request
from festinger.proxy.protocols.synthetic import SyntheticFinish, build_synthetic_response
from festinger.proxy.transport.server import close_sockets, open_server, open_sockets

HOST = "127.0.0.1"
LARGEST = 2**20
USUAL = "All right."
KINDS = {kind.value: kind for kind in RequestKind}


class ScriptedModel:
    """An ASGI application in place of a model server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._script: deque[str] = deque()
        self.received: list[dict[str, Any]] = []

    def says(self, lines: Iterable[str]) -> None:
        """Set what it answers next; after that it says the usual."""
        self._script.extend(lines)

    @property
    def newest(self) -> str:
        """The last message of the latest request."""
        return str(self.received[-1]["messages"][-1]["content"])

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        answer = self._answer(scope["path"], body, at=self._clock())
        headers = [(b"content-type", dict(answer.headers)[b"content-type"]), answer.content_length]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for chunk in answer.chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _answer(self, path: str, body: bytes, *, at: datetime) -> LocalResponse:
        if path not in KINDS:
            return LocalResponse(status=200, headers=(JSON,), chunks=(b"{}",))
        self.received.append(orjson.loads(body))
        asked = parse_request(body, KINDS[path], rules=build_cleaning_rules(build_block_marker(""), ()), limit=LARGEST)
        assert isinstance(asked, ChatRequest), "a demo sends only what can be read"
        text = self._script.popleft() if self._script else USUAL
        return build_synthetic_response(asked, text, finish=SyntheticFinish.STOP, answer_id="demo", at=at)


@asynccontextmanager
async def serve_model(model: ScriptedModel) -> AsyncIterator[str]:
    """Serve the model on a port of its own; yields its address."""
    sockets = open_sockets(HOST, 0)
    try:
        async with open_server(model, sockets, shutdown_seconds=1):
            yield f"http://{HOST}:{sockets[0].getsockname()[1]}"
    finally:
        close_sockets(sockets)
