"""A process for clients that keep loops, threads and connections of their own.

LiteLLM asks its server things on the loop that it was called from, and blocks it meanwhile; a server on that loop
would never answer. So such clients are guests: `python -m tests.stories.guest` reads one deed a line and answers
with one line, and what it leaves open ends with it. It reaches this machine and nothing else, and says whom it
tried to reach beyond.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 120.0
STRANGERS: list[str] = []
"""Whom this process tried to reach beyond the machine."""


class Raised(Exception):
    """A deed of the guest raised an error of this type."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


@dataclass
class Guest:
    """The other process, started when it is first asked for something."""

    running: "subprocess.Popen[str] | None" = None
    environment: dict[str, str] = field(default_factory=dict)

    async def ask(self, client: str, deed: str, url: str, text: Any) -> Any:
        asked = json.dumps({"client": client, "deed": deed, "url": url, "text": text})
        answer = json.loads(await asyncio.to_thread(self._exchange, asked))
        if answer["strangers"]:
            raise AssertionError(f"`{client}` tried to reach {answer['strangers']}")
        if "raised" in answer:
            raise Raised(*answer["raised"])
        return answer["said"]

    def _exchange(self, line: str) -> str:
        process = self.running = self.running or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline() or "{}"

    def _started(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "tests.stories.guest"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            # Prices and telemetry of LiteLLM, tracing of LangChain: nothing that a test needs.
            env={
                **os.environ,
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                "LITELLM_TELEMETRY": "False",
                "LANGSMITH_TRACING": "false",
            },
        )

    def close(self) -> None:
        if self.running is not None:
            self.running.kill()
            self.running.communicate()
            self.running = None


def _stay_here() -> None:
    """Connect to this machine only."""
    real = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1"):
            STRANGERS.append(str(address[0]))
            raise ConnectionRefusedError(f"{address[0]} is not this machine")
        real(self, address)

    socket.socket.connect = guarded  # type: ignore[method-assign,assignment]


def _done(asked: dict[str, str]) -> Any:
    from tests.stories.clients import CLIENTS, leave_after_a_piece

    client, url, text = CLIENTS[asked["client"]], asked["url"], asked["text"]

    async def streamed() -> list[str]:
        return [piece async for piece in client.stream(url, text)]

    work: dict[str, Any] = {
        "say": lambda: asyncio.run(_within(client.say(url, text))),
        "stream": lambda: asyncio.run(_within(streamed())),
        "call": lambda: asyncio.run(_within(client.call(url, text))),
        "leave": lambda: asyncio.run(_within(leave_after_a_piece(client, url, text))),
        "blocking": lambda: client.blocking(url, text) if client.blocking else None,
    }
    return work[asked["deed"]]()


async def _within(work: Awaitable[Any]) -> Any:
    async with asyncio.timeout(PATIENCE_S):
        return await work


def main() -> None:
    _stay_here()
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries print what they like
    for line in sys.stdin:
        try:
            answer: dict[str, Any] = {"said": _done(json.loads(line))}
        except Exception as error:  # noqa: BLE001 - whatever a client raises is what the test asks about
            answer = {"raised": [type(error).__name__, str(error)[:500]]}
        answers.write(json.dumps({**answer, "strangers": STRANGERS}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
