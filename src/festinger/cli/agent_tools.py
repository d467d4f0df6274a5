"""Gives the agent its tools: those of MCP clients over the admin API in this process, its own docs, and installed ones.

What it does with them counts as a model's word, as over MCP. `observe` is left out: the agent infers by itself what
became of its notes, and a call for it would cost each turn a request. Packages add tools of their own by an entry point
of the group `festinger.tools` that returns them.
"""

import asyncio
import os
from collections.abc import Mapping
from functools import cache, partial
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

import structlog

from festinger.agent.tools import AgentTool, ToolEffect
from festinger.errors import NotFound
from festinger.ids import Origin, Scope
from festinger.mcp.tools import TOOLS, ToolSpec
from festinger.proxy.remote_client import open_in_process
from festinger.runtime.app import App
from festinger.web.app import build_local_app

log = structlog.get_logger(room="cli")


GROUP = "festinger.tools"
OWN_SOURCES = (".py", ".sql", ".md")


@cache
def load_installed_tools() -> tuple[AgentTool, ...]:
    """The tools of installed packages; one that cannot be loaded is left out."""
    found: list[AgentTool] = []
    for entry in entry_points(group=GROUP):
        try:
            found += entry.load()()
        except (ImportError, AttributeError, TypeError) as error:
            log.warning("tools of a package are left out", package=entry.name, why=str(error))
    return tuple(found)


@cache
def list_docs_and_sources() -> dict[str, Path]:
    """The pages of the docs and the sources of this package by name; nothing else can be named."""
    package = Path(str(files("festinger")))
    docs = next(each for each in (package / "docs", package.parents[1] / "docs") if each.is_dir())
    pages = {path.relative_to(docs).with_suffix("").as_posix(): path for path in sorted(docs.rglob("*.md"))}
    sources = [path for path in package.rglob("*") if path.suffix in OWN_SOURCES and docs not in path.parents]
    return pages | {f"festinger/{path.relative_to(package).as_posix()}": path for path in sources}


async def read_own_docs(given: Mapping[str, Any]) -> str:
    """A page of the docs or a source file by its name, or the names of the pages."""
    name = str(given.get("name", ""))
    if not name:
        return "\n".join(each for each in list_docs_and_sources() if not each.startswith("festinger/"))
    if (path := list_docs_and_sources().get(name)) is None:
        raise NotFound("There is no such page.", hint="Without a name the pages are listed.")
    return await asyncio.to_thread(path.read_text, encoding="utf-8")


OWN_DOCS = AgentTool(
    name="read_own_docs",
    description="Read how you yourself work: a page of your docs, such as `howto/chat`; without a name, their names.",
    schema={"type": "object", "properties": {"name": {"type": "string"}}},
    run=read_own_docs,
    effect=ToolEffect.NOTHING,
)


def build_agent_tools(app: App, scope: Scope) -> list[AgentTool]:
    """The tools for an agent in a conversation; nothing is opened before one is called."""
    own = [
        AgentTool(
            name=each.name,
            description=each.description,
            schema=each.schema,
            run=partial(_run, each, app, scope),
            effect=ToolEffect.NOTHING if each.reads_only else ToolEffect.INNER,
        )
        for each in TOOLS
        if each.name != "observe"
    ]
    return [*own, OWN_DOCS, *load_installed_tools()]


async def _run(tool: ToolSpec, app: App, scope: Scope, given: Mapping[str, Any]) -> str:
    pages = build_local_app(app, owner=f"agent:{scope.agent}", uid=os.getuid(), whole=True)
    speaker = {"session": scope.session, "origin": Origin.MODEL}
    async with open_in_process(pages, space=scope.space, agent=scope.agent, **speaker) as client:
        done = await tool.run(client, tool.parse(given))
    # Only `observe` needs the number of a recall, and with it no result would be like another.
    return done.text.removeprefix(f"recall {done.fields.get('recall')}\n")
