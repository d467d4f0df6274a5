"""`festinger doctor`: what is wrong, and what to do."""

import typer

from festinger.app.doctor import examine, without_store
from festinger.app.wiring import Start, home_of
from festinger.cli.command import command
from festinger.cli.desk import Desk
from festinger.errors import CannotStart, Unavailable
from festinger.proxy.health import check_upstreams
from festinger.proxy.upstream import open_upstream
from festinger.seeing.checks import Check, Severity, worst

MARKS = {Severity.OK: "ok", Severity.WARN: "WARN", Severity.FAIL: "FAIL"}


def register(app: typer.Typer) -> None:
    command(app)(doctor)


async def doctor(desk: Desk) -> int:
    """Check every part and say what to do. Exit 5 if anything fails.

    Example: festinger doctor --json
    """
    settings = desk.settings()
    try:
        async with desk.app(start=Start(providers=True)) as app:
            checks = await examine(app, ask_models=True)
    except (CannotStart, Unavailable) as error:
        checks = without_store(settings, home_of(settings), error)
    async with open_upstream() as upstream:
        checks += await check_upstreams(upstream, settings.now.proxy)
    desk.show(
        {"worst": worst(checks), "checks": [check.as_json() for check in checks]},
        table=desk.table(("", "check", "what it says"), (_row(check) for check in checks)),
    )
    return 5 if worst(checks) is Severity.FAIL else 0


def _row(check: Check) -> tuple[str, str, str]:
    advice = f"\n-> {check.remedy}" if check.remedy and check.severity is not Severity.OK else ""
    return MARKS[check.severity], check.name, check.message + advice
