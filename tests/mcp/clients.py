"""The official MCP client at the whole server: over HTTP, and over stdio through the bridge."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client
from tests.stories.stage import Stage

from festinger.ids import EVERY_SPACE, AgentId
from festinger.services.access import issue_key
from festinger.store.repositories.auth import AccessRole
from mcp import Client, StdioServerParameters


async def make_key(at: Stage, role: AccessRole = AccessRole.AGENT, agent: str | None = None) -> str:
    bound = AgentId(agent) if agent else None
    _, secret = await issue_key(at.app, f"{role}-{agent}", role=role, space=EVERY_SPACE, agent=bound, by="test")
    return secret


def stdio(home: Path, *arguments: str, **environment: str) -> StdioServerParameters:
    """`festinger mcp` as a client starts it."""
    env = {**os.environ, "HOME": str(home), "FESTINGER_HOME": str(home / "festinger"), **environment}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "festinger", "mcp", *arguments], env=env, cwd=str(home)
    )


@asynccontextmanager
async def client_at(
    at: Stage, transport: str, home: Path, *, key: str, mode: Any = "auto", query: str = ""
) -> AsyncIterator[Client]:
    if transport == "stdio":
        async with Client(stdio(home, "--server", at.url, FESTINGER_KEY=key), mode=mode) as client:
            yield client
        return
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=60) as http:
        async with Client(streamable_http_client(f"{at.url}/admin/mcp{query}", http_client=http), mode=mode) as client:
            yield client
