"""`festinger doctor`: what is wrong, and what to do."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer

from festinger.cli.client import connect_server, find_local_server
from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.errors import CannotStart, FestingerError, Unavailable

if TYPE_CHECKING:
    from festinger.observability.checks import Check
    from festinger.settings.live import LiveSettings

MARKS = {"ok": "ok", "warn": "WARN", "fail": "FAIL"}
STYLES = {"FAIL": "bold red", "WARN": "yellow"}


def register(app: typer.Typer) -> None:
    command(app)(doctor)


async def doctor(context: CommandContext) -> int:
    """Check every part and say what to do. Exit 5 if anything fails.

    Example: festinger doctor --json
    """
    from festinger.observability.checks import Check, CheckSeverity, worst_severity

    settings = context.settings()
    # What only the server knows (its queue, its prompts, its upstream's answers) comes from the server.
    async with connect_server(context, find=True) as server:
        told = (await server.ask("GET", "/admin/api/doctor"))["checks"] if server is not None else None
    checks = [await _check_server(settings)]
    if told is None:
        checks += await _own_checks(context, settings)
    else:
        checks += [Check(**{**each, "severity": CheckSeverity(each["severity"])}) for each in told]
    context.show(
        {"worst": worst_severity(checks), "checks": [check.as_json() for check in checks]},
        table=context.table(("", "check", "what it says"), _rows(checks), styles=STYLES),
    )
    return 5 if worst_severity(checks) is CheckSeverity.FAIL else 0


async def _check_server(settings: "LiveSettings") -> "Check":
    """Whether the server of this home runs, and where."""
    from festinger.observability.checks import ok_check, warning_check
    from festinger.proxy.remote_client import open_remote
    from festinger.runtime.environment import local_base_url

    found, bound = find_local_server(settings), settings.now.server
    url = found.url if found else local_base_url(bound.host, bound.port)
    async with open_remote(url) as server:
        try:
            await server.ask("GET", "/admin/healthz")
        except FestingerError:
            return warning_check("server", f"No server answers at {url}.", "Start it with `festinger serve`.", url=url)
    if found is None:
        return warning_check(
            "server",
            f"The server at {url} has another store open, or none yet.",
            "Its log says which; `festinger serve --port PORT` starts one on this store.",
            url=url,
        )
    return ok_check("server", f"The server runs at {url}.", url=url, pid=found.pid)


async def _own_checks(context: CommandContext, settings: "LiveSettings") -> "list[Check]":
    """The checks that need no server; an unavailable store is itself a finding."""
    from festinger.proxy.health import check_memory_coverage, check_upstreams
    from festinger.proxy.transport.upstream import open_upstream
    from festinger.runtime.app import StartOptions
    from festinger.runtime.environment import home_of
    from festinger.runtime.supervisor import checks_without_store, run_checks

    try:
        async with context.app(start=StartOptions(providers=True), settings=settings) as app:
            checks = await run_checks(app, ask_models=True)
            checks.append(await check_memory_coverage(app.store, now=app.tools.clock()))
    except (CannotStart, Unavailable) as error:
        checks = checks_without_store(settings, home_of(settings), error)
    async with open_upstream() as upstream:
        return [*checks, *await check_upstreams(upstream, settings.now.proxy)]


def _rows(checks: "Sequence[Check]") -> Iterator[tuple[Any, ...]]:
    for check in checks:
        yield MARKS[check.severity], check.name, check.message
        if check.remedy and check.severity != "ok":
            yield "", "", f"-> {check.remedy}"
