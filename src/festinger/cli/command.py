"""How does an async function become a command?

`command` gives it the options that every command has, hands it a `Desk`, runs it, and turns its errors into
messages and exit codes. This is the command line's edge: the one place here that catches everything.
"""

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import structlog
import typer

from festinger.cli.desk import Desk
from festinger.errors import FestingerError

log = structlog.get_logger()

Deed = Callable[..., Awaitable[int | None]]


def _option(kind: Any, *names: str, help: str) -> Any:  # noqa: A002
    return Annotated[kind, typer.Option(*names, help=help, rich_help_panel="Common options")]


COMMON: dict[str, tuple[Any, Any]] = {
    "space": (_option(str, "--space", help="Space to work in."), "main"),
    "agent": (_option(str, "--agent", help="Agent to work as."), "default"),
    "database": (_option(str | None, "--database", help="Any Postgres by URL, not the embedded one."), None),
    "config": (_option(Path | None, "--config", help="YAML file with settings."), None),
    "as_json": (_option(bool, "--json", help="One JSON document on stdout, nothing else."), False),
    "quiet": (_option(bool, "--quiet", "-q", help="No messages."), False),
    "no_color": (_option(bool, "--no-color", help="No colours."), False),
    "yes": (_option(bool, "--yes", help="Do not ask before destroying."), False),
}
"""Options that every command has, with their defaults."""


def command(group: typer.Typer, name: str | None = None) -> Callable[[Deed], Deed]:
    """Make the deed a command of the group. Its first parameter is the desk; the others are its own options."""

    def register(deed: Deed) -> Deed:
        def call(**given: Any) -> None:
            common = {key: given.pop(key) for key in COMMON if key in given}
            color = not common.pop("no_color")
            run(deed, Desk(**common, color=color), given)

        own = list(inspect.signature(deed).parameters.values())[1:]
        taken = {parameter.name for parameter in own}
        shared = [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
            for key, (annotation, default) in COMMON.items()
            if key not in taken
        ]
        kept = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        call.__signature__ = inspect.Signature([*kept, *shared])  # type: ignore[attr-defined]
        call.__doc__ = deed.__doc__
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in [*kept, *shared]}
        group.command(name or deed.__name__.replace("_", "-"))(call)
        return deed

    return register


def run(deed: Deed, desk: Desk, given: dict[str, Any]) -> None:
    """Run a command to its end and leave with its exit code."""
    try:
        code = asyncio.run(_awaited(deed, desk, given))
    except FestingerError as error:
        _tell(f"{error.message}\n{error.hint}")
        raise typer.Exit(error.exit) from error
    except KeyboardInterrupt as error:
        _tell("Stopped.")
        raise typer.Exit(130) from error
    except BrokenPipeError as error:
        # The reader (`head`, a pager) has seen enough; that is a normal end.
        sys.stderr.close()
        raise typer.Exit(0) from error
    except Exception as error:  # the command line's edge: a fault ends with a message, not a traceback
        log.error("fault", room="cli", command=deed.__name__, exc_info=error)
        _tell("Something went wrong inside Festinger; the log line above has the details.")
        raise typer.Exit(1) from error
    raise typer.Exit(code or 0)


async def _awaited(deed: Deed, desk: Desk, given: dict[str, Any]) -> int | None:
    return await deed(desk, **given)


def _tell(message: str) -> None:
    typer.echo(message, err=True)
