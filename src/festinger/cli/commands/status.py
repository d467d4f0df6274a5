"""`festinger status`, `doctor` and `login`: how the server is, and the way to its console."""

import getpass
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from festinger.cli.client import connect_server, find_local_server
from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import show_progress
from festinger.errors import BadInput, CannotStart, FestingerError, Unavailable

if TYPE_CHECKING:
    from festinger.observability.checks import Check
    from festinger.settings.live import LiveSettings


LINES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("memory", ("memory",), ("pending pairs", "held", "quarantined", "vectors")),
    ("learned, 24 h", ("judge", "24 h"), ("learns", "learns that asked a model", "share", "calls")),
    ("learned, 7 d", ("judge", "7 d"), ("learns", "learns that asked a model", "share", "calls")),
    ("outcomes, 24 h", ("outcomes", "24 h"), ("rate", "resolved", "contradicted")),
    ("outcomes, 7 d", ("outcomes", "7 d"), ("rate", "resolved", "contradicted")),
    ("outcomes", ("outcomes",), ("pending", "unreadable")),
    ("proposals", ("proposals",), ("open", "limit", "paused")),
    ("jobs", ("health", "jobs"), ("waiting", "behind", "dead")),
    ("events", ("health", "events"), ("waiting", "dead")),
    ("degraded", ("health",), ("degraded",)),
    ("cost, 24 h", ("cost", "24 h"), ("calls", "failed", "usd", "unpriced")),
    ("cost, all time", ("cost", "all time"), ("calls", "failed", "usd", "unpriced")),
    ("life", ("life",), ("since", "restarts", "crashes")),
)
"""The lines of the table: name, where its numbers are in the document, and which of them it shows."""


def register(app: typer.Typer) -> None:
    command(app)(status)
    command(app)(doctor)
    command(app)(login)


async def status(context: CommandContext) -> None:
    """What waits, what died, what it cost, how long it has lived.

    Example: festinger status --json
    """
    from festinger.services.status import build_status as numbers

    async with context.app() as app:
        found = await numbers(app, space=context.resolve_space_option(app))
        running = find_local_server(app.settings)
    server = running.url if running else None
    table = context.table(("", ""), _lines(found, server or "not running"))
    context.show({**found, "server": server}, table=table)
    context.say("`festinger status --json` has every number.")


def _lines(found: Mapping[str, Any], server: str) -> Iterator[tuple[str, str]]:
    yield "server", server
    for name, path, shown in LINES:
        numbers: Mapping[str, Any] = found
        for step in path:
            numbers = numbers[step]
        if len(shown) == 1:
            yield name, _short(numbers[shown[0]])
        else:
            yield name, ", ".join(f"{each} {_short(numbers[each])}" for each in shown)


def _short(value: Any) -> str:
    """A value for a line: the sum of numbers by name, a dash for nothing."""
    if isinstance(value, Mapping):
        return str(sum(value.values()))
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)


MARKS = {"ok": "ok", "warn": "WARN", "fail": "FAIL"}
STYLES = {"FAIL": "bold red", "WARN": "yellow"}


async def doctor(
    context: CommandContext,
    deep: Annotated[bool, typer.Option("--deep", help="Read all rows too and check what must hold of them.")] = False,
) -> int:
    """Check every part and say what to do. Exit 5 if anything fails.

    Example: festinger doctor --deep --json
    """
    from festinger.observability.checks import Check, CheckSeverity, worst_severity

    settings = context.settings()
    # What only the server knows (its queue, its prompts, its upstream's answers) comes from the server.
    async with connect_server(context, find=True) as server:
        told = (await server.ask("GET", "/admin/api/doctor"))["checks"] if server is not None else None
    checks = [await _check_server(settings)]
    if told is None:
        checks += await _run_local_checks(context, settings)
    else:
        checks += [Check(**{**each, "severity": CheckSeverity(each["severity"])}) for each in told]
    checks += await _run_deep_checks(context, settings) if deep else []
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


async def _run_local_checks(context: CommandContext, settings: "LiveSettings") -> "list[Check]":
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


async def _run_deep_checks(context: CommandContext, settings: "LiveSettings") -> "list[Check]":
    """The checks of rows; without a store the others have failed already."""
    from festinger.runtime.app import StartOptions
    from festinger.services.status import run_deep_checks

    with suppress(CannotStart, Unavailable), show_progress(context, "Checking rows") as report:
        async with context.app(start=StartOptions(providers=True), settings=settings) as app:
            return await run_deep_checks(app, report)
    return []


def _rows(checks: "Sequence[Check]") -> Iterator[tuple[Any, ...]]:
    for check in checks:
        yield MARKS[check.severity], check.name, check.message
        if check.remedy and check.severity != "ok":
            yield "", "", f"-> {check.remedy}"


async def login(
    context: CommandContext,
    name: Annotated[str | None, typer.Option("--name", help="Who will decide; else who is logged in here.")] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="Address of the server, if not the one that runs here.")
    ] = None,
) -> None:
    """Print a one-time link to the console.

    Example: festinger login --name ann
    """
    from festinger.proxy.remote_client import check_server_address
    from festinger.runtime.environment import local_base_url

    async with context.app() as app:
        link = await app.logins.invite(name or _user())
        server, minutes = app.settings.now.server, app.settings.now.auth.login_link_minutes
        running = find_local_server(app.settings)
    base = check_server_address(at) if at else running.url if running else local_base_url(server.host, server.port)
    address = f"{base}/admin/login?code={link}"
    context.show({"link": address, "minutes": minutes}, text=address)
    context.say(f"It works once, within {minutes} minutes.")


def _user() -> str:
    try:
        return getpass.getuser()
    except OSError as error:  # a user id without a name, as in some containers
        raise BadInput("This user has no name.", hint="Give one with `--name`.") from error
