"""`festinger worker`: background work beside a server."""

import typer

from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.cli.signals import handle_stop_signals
from festinger.runtime.app import StartOptions
from festinger.runtime.settings import record_file_edits
from festinger.settings.watch import watch_settings_file


def register(app: typer.Typer) -> None:
    command(app)(worker)


async def worker(context: CommandContext) -> None:
    """Do background work beside a running server, until stopped.

    Example: festinger worker --database postgresql://…
    """
    context = context.with_flags({}, door="worker")
    settings = context.settings()
    with handle_stop_signals() as stop:
        async with context.app(start=StartOptions(providers=True, workers=True), settings=settings) as app:
            record_file_edits(app)
            app.background.start(watch_settings_file(settings, stop=stop))
            context.say("Working; stop with Ctrl-C.")
            await stop.wait()
