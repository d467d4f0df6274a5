"""`festinger events`: what happened."""

from dataclasses import asdict
from typing import Annotated

import typer

from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.clock import iso
from festinger.events.catalogue import Event
from festinger.events.outbox import FeedGap, event_history
from festinger.services.status import follow_events


def register(app: typer.Typer) -> None:
    command(app)(events)


async def events(
    context: CommandContext,
    name: Annotated[list[str] | None, typer.Option("--name", help="Only events of this name; may be repeated.")] = None,
    trace: Annotated[str | None, typer.Option("--trace", help="Only what this request caused.")] = None,
    subject: Annotated[str | None, typer.Option("--subject", help="Only about this subject.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens from now.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many, the newest.")] = 50,
) -> None:
    """What happened, the oldest first. With `--follow`, also what happens next.

    Example: festinger events --follow --name setting_changed
    """
    names = tuple(name or ())
    async with context.app() as app:
        space = context.resolve_space_option(app)
        found = await event_history(app.store, space=space, trace=trace, subject=subject, names=names, limit=limit)
        for event in reversed(found):
            context.line(asdict(event), _line(event))
        if not follow:
            if not found:
                context.say("No such events. `festinger events --follow` waits for the next ones.")
            return
        # Start from the last one shown, so that nothing is lost between the two queries.
        after = found[0].id if found else None
        async for news in follow_events(app, space=space, names=names, after=after):
            if isinstance(news, FeedGap):
                context.say("Too much happened at once; some events are not shown.")
            elif (trace is None or news.trace == trace) and (subject is None or news.subject == subject):
                context.line(asdict(news), _line(news))


def _line(event: Event) -> str:
    payload = " ".join(f"{key}={value}" for key, value in event.payload.items())
    return f"{iso(event.at)}  {event.name}  {event.subject}  {payload}"
