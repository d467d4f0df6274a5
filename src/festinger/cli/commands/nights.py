"""`festinger consolidate` and `festinger nights`: run the nightly work now, read what it did, and take it back."""

from typing import Annotated
from uuid import UUID

import typer

from festinger.cli.client import current_user
from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import SHORT_ID, format_time, show_progress
from festinger.consolidation.night import Night
from festinger.ids import SpaceId, pick, prefix, read_id
from festinger.runtime.app import App, StartOptions
from festinger.services.nights import get_night, list_nights, run_night, undo_night

MOST_LISTED = 50


def register(app: typer.Typer) -> None:
    command(app, "consolidate")(consolidate)
    command(app, "nights")(show_nights)


async def consolidate(
    context: CommandContext,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be made and changed; change nothing.")
    ] = False,
    of: Annotated[str | None, typer.Option("--of", help="Memories of this agent; without it, the shared ones.")] = None,
    step: Annotated[str, typer.Option("--step", help="This step alone.")] = "",
) -> None:
    """Run a night now: insights, promotions, and what lost its ground.

    Example: festinger consolidate --dry-run
    """
    async with context.app(start=StartOptions(providers=True)) as app:
        space = context.space_in(app)
        with show_progress(context, "Consolidating") as shown:

            async def report(done: int, total: int, note: str) -> None:
                shown(done, total, note)

            night = await run_night(app, space=space, agent=of, dry_run=dry_run, step=step, report=report)
        told = await get_night(app, space=space, id=night)
    _show(context, told)


async def show_nights(
    context: CommandContext,
    night: Annotated[str | None, typer.Argument(help="Id of a night, or its beginning; none lists them.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take the night back.")] = False,
    item: Annotated[str | None, typer.Option("--item", help="Take back only this item of it.")] = None,
) -> None:
    """Nights and what they did, the newest first; with an id one night, which `--undo` takes back.

    Example: festinger nights 018f3a5e --undo
    """
    async with context.app() as app:
        space = context.space_in(app)
        if night is None:
            found = await list_nights(app, space=space, limit=MOST_LISTED)
            rows = ((each.id, each.agent or "(shared)", each.state, format_time(each.started_at)) for each in found)
            table = context.table(("id", "agent", "state", "started"), rows)
            context.show([each.as_json() for each in found], table=table, text="No night has been yet.")
            return
        id_ = await _find(app, space, night)
        if undo or item:
            chosen = read_id(item) if item else None
            done = await undo_night(app, space=space, id=id_, item=chosen, by=f"person:{current_user()}")
            context.say(f"Took back {done} items.")
        told = await get_night(app, space=space, id=id_)
    _show(context, told)


async def _find(app: App, space: SpaceId, text: str) -> UUID:
    wanted = prefix(text)
    known = [each.id for each in await list_nights(app, space=space, limit=1000)]
    return pick(text, [each for each in known if str(each).startswith(wanted)])


def _show(context: CommandContext, night: Night) -> None:
    head = f"Night {str(night.id)[:SHORT_ID]} ({night.agent or 'shared'}): {night.state}"
    items = [
        f"  {each.change} {each.kind.value} {str(each.memory)[:SHORT_ID]}{' (undone)' if each.is_undone else ''}"
        for each in night.items
    ]
    context.show(night.as_json(), text="\n".join([head, *night.lines, *items]))
