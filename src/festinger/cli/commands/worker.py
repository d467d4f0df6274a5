"""`festinger worker`: background work beside a server."""

import typer

from festinger.cli.command import command
from festinger.cli.context import Desk
from festinger.cli.signals import asked_to_stop
from festinger.runtime.app import Start
from festinger.runtime.settings import tell_of_file_edits
from festinger.settings.watch import watch


def register(app: typer.Typer) -> None:
    command(app)(worker)


async def worker(desk: Desk) -> None:
    """Do background work beside a running server, until stopped.

    Example: festinger worker --database postgresql://…
    """
    desk = desk.with_flags({}, door="worker")
    settings = desk.settings()
    with asked_to_stop() as stop:
        async with desk.app(start=Start(providers=True, workers=True), settings=settings) as app:
            tell_of_file_edits(app)
            app.background.start(watch(settings, stop=stop))
            desk.say("Working; stop with Ctrl-C.")
            await stop.wait()
