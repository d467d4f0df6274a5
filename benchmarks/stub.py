"""A model server that costs almost nothing, to run behind the proxies that are compared.

`python -m benchmarks.stub PORT` answers chat completions in OpenAI's form, whole or streamed, with the same
words every time. The model `slow` streams them at the pace of a person who reads. Its cost is the same behind
every system, so it is kept as small as asyncio allows: no body is parsed, every answer is made beforehand.
"""

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from typing import cast

from benchmarks.load import HOST

WORDS = [f"word{number} " for number in range(31)] + ["done."]
"""What the model says, one piece per streamed event; `done.` shows that an answer is complete."""

COMMON = {"id": "chatcmpl-stub", "created": 1_767_614_400, "model": "stub"}

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_STREAMED = re.compile(rb'"stream": ?true')
_SLOW = re.compile(rb'"model": ?"slow"')

PACE_S = 0.1
"""Seconds between two events of the slow model."""


def whole_answer() -> bytes:
    message = {"role": "assistant", "content": "".join(WORDS)}
    body = json.dumps(
        {
            **COMMON,
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": len(WORDS), "total_tokens": 1 + len(WORDS)},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def streamed_answer() -> list[bytes]:
    """The head, then one chunk per event, to be written one by one."""
    deltas = [{"index": 0, "delta": {"content": word}, "finish_reason": None} for word in WORDS]
    choices = [*deltas, {"index": 0, "delta": {}, "finish_reason": "stop"}]
    events = [json.dumps({**COMMON, "object": "chat.completion.chunk", "choices": [choice]}) for choice in choices]
    chunks = [f"data: {event}\n\n".encode() for event in [*events, "[DONE]"]]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return [head, *(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks), b"0\r\n\r\n"]


WHOLE, STREAMED = whole_answer(), streamed_answer()


class ModelServerStub(asyncio.Protocol):
    def __init__(self) -> None:
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0 or self._transport is None:
            return
        length = _LENGTH.search(self._received, 0, end)
        if len(self._received) - end - 4 < (int(length[1]) if length else 0):
            return
        if _SLOW.search(self._received, end):
            self._dribble(iter(STREAMED))
        elif _STREAMED.search(self._received, end):
            for piece in STREAMED:
                self._transport.write(piece)
        else:
            self._transport.write(WHOLE)
        self._received.clear()

    def _dribble(self, pieces: Iterator[bytes]) -> None:
        piece = next(pieces, None)
        if piece is not None and self._transport is not None and not self._transport.is_closing():
            self._transport.write(piece)
            asyncio.get_running_loop().call_later(PACE_S, self._dribble, pieces)


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(ModelServerStub, HOST, port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
