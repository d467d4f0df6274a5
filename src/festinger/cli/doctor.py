"""`festinger doctor`: what is wrong, and what to do."""

from collections.abc import Iterator, Sequence

import typer

from festinger.app.doctor import examine, without_store
from festinger.app.home import home_of
from festinger.app.wiring import Start
from festinger.cli.command import command
from festinger.cli.desk import Desk
from festinger.errors import CannotStart, Unavailable
from festinger.proxy.health import check_upstreams
from festinger.proxy.upstream import open_upstream
from festinger.seeing.checks import Check, Severity, worst
from festinger.settings.live import LiveSettings

MARKS = {Severity.OK: "ok", Severity.WARN: "WARN", Severity.FAIL: "FAIL"}


def register(app: typer.Typer) -> None:
    command(app)(doctor)


async def doctor(desk: Desk) -> int:
    """Check every part and say what to do. Exit 5 if anything fails.

    Example: festinger doctor --json
    """
    settings = desk.settings()
    checks = await _own_checks(desk, settings)
    async with open_upstream() as upstream:
        checks += await check_upstreams(upstream, settings.now.proxy)
    desk.show(
        {"worst": worst(checks), "checks": [check.as_json() for check in checks]},
        table=desk.table(("", "check", "what it says"), _rows(checks)),
    )
    return 5 if worst(checks) is Severity.FAIL else 0


async def _own_checks(desk: Desk, settings: LiveSettings) -> list[Check]:
    """Those of the open store; one that cannot be had is itself a finding."""
    try:
        async with desk.app(start=Start(providers=True), settings=settings) as app:
            return await examine(app, ask_models=True)
    except (CannotStart, Unavailable) as error:
        return without_store(settings, home_of(settings), error)


def _rows(checks: Sequence[Check]) -> Iterator[tuple[str, str, str]]:
    for check in checks:
        yield MARKS[check.severity], check.name, check.message
        if check.remedy and check.severity is not Severity.OK:
            yield "", "", f"-> {check.remedy}"
