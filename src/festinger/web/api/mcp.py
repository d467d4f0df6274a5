"""The HTTP endpoint for MCP clients. The server that mounts it brings the app; the key is checked here."""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from festinger.errors import NotAuthenticated, NotFound
from festinger.runtime.supervisor import McpCaller, ServeMcp
from festinger.web.auth import AccessScope, read_request_key
from festinger.web.route import AdminCall, RouteTable, agent_of

ROUTES = RouteTable()
MCP = "/admin/mcp"


class McpResponse(Response):
    """Lets the MCP server answer."""

    def __init__(self, serve: ServeMcp, caller: McpCaller) -> None:
        super().__init__()
        self._serve, self._caller = serve, caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._serve(self._caller, scope, receive, send)


@ROUTES.add("POST", MCP, AccessScope.READ)
async def serve_mcp(call: AdminCall) -> Response:
    serve, key = call.supervisor.mcp, read_request_key(call.request)
    if serve is None:
        raise NotFound("This process serves no MCP clients.")
    if key is None:
        raise NotAuthenticated("MCP clients need a key.", hint="`festinger keys make NAME --role agent` makes one.")
    return McpResponse(serve, McpCaller(key=key, space=call.space, agent=agent_of(call)))


@ROUTES.add("GET", MCP, AccessScope.READ)
@ROUTES.add("DELETE", MCP, AccessScope.READ)
async def refuse_stream(_call: AdminCall) -> Response:
    """There are no sessions and no messages that nobody asked for."""
    return Response(status_code=405, headers={"allow": "POST"})
