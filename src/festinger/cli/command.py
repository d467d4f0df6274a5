"""Turns an async function into a command.

`command` adds the options that every command has, passes a `CommandContext`, runs the function, and turns its
errors into messages and exit codes. `register_list_command` does the same for what a group does when no command is
named. This is the edge of the command line: the one place here that catches everything.

SIGTERM cancels a command, so that whatever it has open is closed on the way out; for Ctrl-C asyncio does the
same. A long-running process takes the first signal as a request to finish, and cancels every task at the
second. The third meets the system's own handling, and kills.
"""

import asyncio
import inspect
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from festinger.cli.context import CommandContext
from festinger.errors import BadInput, FestingerError
from festinger.settings.deployment import KEY_VARIABLE

STOP = (signal.SIGINT, signal.SIGTERM)
TERMINATED = 128 + signal.SIGTERM
"""The exit code of a command that SIGTERM ended."""

T = TypeVar("T")


async def run_until_sigterm(work: Coroutine[Any, Any, T]) -> T:
    """Run the work; SIGTERM cancels it."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def cancel() -> None:
        loop.remove_signal_handler(signal.SIGTERM)
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, cancel)
    try:
        return await work
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


@contextmanager
def stop_event_on_signals() -> Iterator[asyncio.Event]:
    """An event that the first signal sets; handled until the block ends, when everything is closed."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        if not asked.is_set():
            asked.set()
            return
        for number in STOP:
            loop.remove_signal_handler(number)
        for task in asyncio.all_tasks(loop):
            task.cancel()

    for number in STOP:
        loop.add_signal_handler(number, stop)
    try:
        yield asked
    finally:
        for number in STOP:
            loop.remove_signal_handler(number)


Operation = Callable[..., Coroutine[Any, Any, int | None]]
NewLoop = Callable[[], asyncio.AbstractEventLoop]

INTERRUPTED = 130


def _common_option(kind: Any, *names: str, help: str) -> Any:  # noqa: A002
    return Annotated[kind, typer.Option(*names, help=help, rich_help_panel="Common options")]


COMMON: dict[str, tuple[Any, Any]] = {
    "space": (_common_option(str, "--space", help="Space to work in."), "main"),
    "agent": (_common_option(str, "--agent", help="Agent to work as."), "default"),
    "database": (_common_option(str | None, "--database", help="Any Postgres by URL, not the embedded one."), None),
    "config": (_common_option(Path | None, "--config", help="YAML file with settings."), None),
    "as_json": (_common_option(bool, "--json", help="One JSON document on stdout, nothing else."), False),
    "quiet": (_common_option(bool, "--quiet", "-q", help="No messages."), False),
    "no_color": (_common_option(bool, "--no-color", help="No colours."), False),
    "yes": (_common_option(bool, "--yes", help="Do not ask before destroying."), False),
}
"""Options that every command has, with their defaults."""


REMOTE: dict[str, tuple[Any, Any]] = {
    "server": (_common_option(str | None, "--server", help="Ask this running server, not the store."), None),
    "key": (
        Annotated[
            str | None,
            typer.Option(
                "--key",
                envvar=KEY_VARIABLE,
                show_envvar=True,
                help="Key for that server; in the variable it does not show in the list of processes.",
                rich_help_panel="Common options",
            ),
        ],
        None,
    ),
}
"""Options of commands that can ask a running server."""


def command(
    group: typer.Typer, name: str | None = None, *, may_ask_server: bool = False, loop: NewLoop | None = None
) -> Callable[[Operation], Operation]:
    """Register a function as a command of the group; after its context, its parameters become options.

    It runs on asyncio's own kind of loop if none is given.
    """
    shared = {**COMMON, **(REMOTE if may_ask_server else {})}

    def register(operation: Operation) -> Operation:
        def call(**given: Any) -> None:
            _run_with_context(operation, given, loop=loop)

        _set_signature(call, _parameters(operation, shared), doc=operation.__doc__)
        group.command(name or operation.__name__.replace("_", "-"))(call)
        return operation

    return register


def register_list_command(group: typer.Typer, *, may_ask_server: bool = False) -> Callable[[Operation], Operation]:
    """Register a function as the group's command `list`, and as what the group does when none is named."""
    shared = {**COMMON, **(REMOTE if may_ask_server else {})}

    def register(operation: Operation) -> Operation:
        def call(ctx: typer.Context, **given: Any) -> None:
            if ctx.invoked_subcommand is None:
                _run_with_context(operation, given)
            else:
                _refuse_options_before(ctx, given)

        context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        _set_signature(call, [context, *_parameters(operation, shared)], doc=operation.__doc__)
        group.callback(invoke_without_command=True)(call)
        return command(group, "list", may_ask_server=may_ask_server)(operation)

    return register


def run_command(
    operation: Operation, context: CommandContext, given: dict[str, Any], *, loop: NewLoop | None = None
) -> None:
    """Run a command to its end and exit with its code."""
    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            code = runner.run(run_until_sigterm(operation(context, **given))) or 0
    except FestingerError as error:
        context.tell(error)
        code = error.exit
    except KeyboardInterrupt:
        context.say("Stopped.")
        code = INTERRUPTED
    except asyncio.CancelledError:
        context.say("Stopped.")
        code = TERMINATED
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough; that is a normal end. What Python still buffers is
        # discarded, or the flush at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:  # noqa: BLE001 - the command line's edge: a fault ends with a message, not a traceback
        _log_fault(context, operation, error)
        context.tell(FestingerError("Something went wrong inside Festinger; the log line above has the details."))
        code = 1
    raise typer.Exit(code)


def _run_with_context(operation: Operation, given: dict[str, Any], *, loop: NewLoop | None = None) -> None:
    own = inspect.signature(operation).parameters
    common = {key: given.pop(key) for key in (*COMMON, *REMOTE) if key in given and key not in own}
    color = not common.pop("no_color")
    run_command(operation, CommandContext(**common, color=color), given, loop=loop)


def _parameters(operation: Operation, common: Mapping[str, tuple[Any, Any]]) -> list[inspect.Parameter]:
    """The function's own parameters without the context, and those of `common` that it lacks."""
    own = list(inspect.signature(operation).parameters.values())[1:]
    taken = {parameter.name for parameter in own}
    shared = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        for key, (annotation, default) in common.items()
        if key not in taken
    ]
    return [*(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own), *shared]


def _set_signature(call: Callable[..., None], parameters: list[inspect.Parameter], *, doc: str | None) -> None:
    """Give the call the signature that typer reads."""
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    call.__doc__ = doc


def _refuse_options_before(ctx: typer.Context, given: dict[str, Any]) -> None:
    """Refuse an option of the listing before another command, where it would silently do nothing."""
    sources = {name: ctx.get_parameter_source(name) for name in given}
    if any(source is not None and source.name == "COMMANDLINE" for source in sources.values()):
        error = BadInput(
            "Options stand after the command that they belong to.",
            hint=f"Write `{ctx.command_path} {ctx.invoked_subcommand} …` and the options behind it.",
        )
        CommandContext(as_json=bool(given.get("as_json"))).tell(error)
        raise typer.Exit(error.exit)


def _log_fault(context: CommandContext, operation: Operation, error: Exception) -> None:
    import structlog

    if not structlog.is_configured():
        # Unconfigured, the log would go to stdout.
        context.configure_logs()
    structlog.get_logger(room="cli").error("fault", command=operation.__name__, exc_info=error)
