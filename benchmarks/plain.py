"""The smallest proxy in Python: Starlette in front, an HTTP client behind, nothing between.

`python -m benchmarks.plain PORT UPSTREAM` runs it. It is what one would write in an afternoon, and is
measured to show what the framework costs before anything is done with a request.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from benchmarks.load import HOST

PER_HOP = frozenset({"host", "connection", "keep-alive", "transfer-encoding", "upgrade"})


def proxy(upstream: str) -> Starlette:
    client = httpx2.AsyncClient(base_url=upstream, timeout=None, trust_env=False)

    async def forward(request: Request) -> StreamingResponse:
        asked = client.build_request(
            request.method,
            request.url.path,
            headers=[(name, value) for name, value in request.headers.items() if name not in PER_HOP],
            content=await request.body(),
        )
        answer = await client.send(asked, stream=True)
        headers = {name: value for name, value in answer.headers.items() if name not in PER_HOP}
        return StreamingResponse(_pieces(answer), status_code=answer.status_code, headers=headers)

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        async with client:
            yield

    return Starlette(routes=[Route("/{path:path}", forward, methods=["GET", "POST"])], lifespan=life)


async def _pieces(answer: httpx2.Response) -> AsyncIterator[bytes]:
    try:
        async for piece in answer.aiter_raw():
            yield piece
    finally:
        await answer.aclose()


if __name__ == "__main__":
    uvicorn.run(proxy(sys.argv[2]), host=HOST, port=int(sys.argv[1]), log_level="error", access_log=False)
