"""The start page at `/admin`: base URL, health of the parts, and the next setup step if one is missing.

It shows how much waits but no memory, so it is open to callers on this machine. `/admin.json` has the same
data.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from starlette.responses import Response

from festinger import __version__
from festinger.observability.checks import Check, CheckSeverity
from festinger.web.auth import AccessScope
from festinger.web.pages.conflicts import resolution_status
from festinger.web.render import render_page
from festinger.web.route import AdminCall, RouteTable, json_response

ROUTES = RouteTable()
UPSTREAM = "proxy.upstream"
"""The name of the check that asks the upstream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupStep:
    say: str
    command: str = ""
    severity: CheckSeverity = CheckSeverity.WARN


def next_steps(checks: Sequence[Check], *, upstream: str) -> list[SetupStep]:
    """The steps that a person has to take, most urgent first; empty when all is well."""
    missing = [check for check in checks if check.severity is CheckSeverity.FAIL or _is_upstream_away(check)]
    return [_step(check, upstream) for check in missing]


def _is_upstream_away(check: Check) -> bool:
    return check.name == UPSTREAM and check.severity is not CheckSeverity.OK


def _step(check: Check, upstream: str) -> SetupStep:
    if check.name == UPSTREAM:
        return SetupStep(
            say=f"Nothing answers at {upstream}. Start your model server there, or name another one:",
            command="festinger settings set proxy.upstream http://127.0.0.1:8080",
            severity=check.severity,
        )
    return SetupStep(say=f"{check.message} {check.remedy}".strip(), severity=check.severity)


def client_instructions(base: str) -> list[dict[str, str]]:
    """How to point each kind of client at this server."""
    return [
        {"name": "ollama (Python)", "setting": f'Client(host="{base}")'},
        {"name": "ollama (command)", "setting": f"OLLAMA_HOST={base}"},
        {"name": "openai", "setting": f'OpenAI(base_url="{base}/v1")'},
        {"name": "anthropic", "setting": f'Anthropic(base_url="{base}")'},
        {"name": "curl", "setting": f"curl {base}/api/tags"},
    ]


async def build_overview(call: AdminCall) -> dict[str, Any]:
    settings = call.supervisor.settings.now
    checks = await call.supervisor.checks()
    steps = next_steps(checks, upstream=settings.proxy.upstream)
    base = f"{call.request.url.scheme}://{call.request.url.netloc}"
    return {
        "version": __version__,
        "headline": "Festinger is running" if not steps else "Festinger is running, and something is missing",
        "summary": "Requests are forwarded as they come, and answers are passed on byte for byte.",
        "upstream": settings.proxy.upstream,
        "steps": [asdict(step) for step in steps],
        "clients": client_instructions(base),
        "world": await resolution_status(call) if call.supervisor.is_open() else None,
        "parts": [check.as_json() for check in checks],
    }


@ROUTES.add("GET", "/admin", AccessScope.OPEN)
async def start_page(call: AdminCall) -> Response:
    """What to do first."""
    return await render_page(call, "start.html", await build_overview(call))


@ROUTES.add("GET", "/admin.json", AccessScope.OPEN)
async def start_json(call: AdminCall) -> Response:
    """The start page as data."""
    return json_response(await build_overview(call))
