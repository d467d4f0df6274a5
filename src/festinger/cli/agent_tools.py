"""Gives the agent the memory tools of MCP clients, over the admin API in this process.

What it does with them counts as a model's word, as over MCP. `observe` is left out: the agent infers by itself what
became of its notes, and a call for it would cost each turn a request.
"""

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from festinger.agent.tools import AgentTool, ToolEffect
from festinger.ids import Origin, Scope
from festinger.mcp.tools import TOOLS, ToolSpec
from festinger.proxy.remote_client import open_in_process
from festinger.runtime.app import App
from festinger.web.app import build_local_app


def memory_tools(app: App, scope: Scope) -> list[AgentTool]:
    """The memory tools for an agent in a conversation; nothing is opened before one is called."""
    return [
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


async def _run(tool: ToolSpec, app: App, scope: Scope, given: Mapping[str, Any]) -> str:
    pages = build_local_app(app, owner=f"agent:{scope.agent}", uid=os.getuid(), whole=True)
    speaker = {"session": scope.session, "origin": Origin.MODEL}
    async with open_in_process(pages, space=scope.space, agent=scope.agent, **speaker) as client:
        done = await tool.run(client, tool.parse(given))
    # Only `observe` needs the number of a recall, and with it no result would be like another.
    return done.text.removeprefix(f"recall {done.fields.get('recall')}\n")
