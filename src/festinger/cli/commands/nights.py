"""`festinger consolidate` and `festinger nights`: run the nightly work now, read what it did, and take it back."""

from typing import Annotated
from uuid import UUID

import typer

from festinger.cli.client import current_user
from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import SHORT_ID, format_time, show_progress
from festinger.consolidation.night import Night, NightItemKind, NightStep
from festinger.ids import SpaceId, pick, prefix, read_id
from festinger.runtime.app import App, StartOptions
from festinger.services.agent import use_local_model
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
    step: Annotated[str, typer.Option("--step", help=f"Only one of {', '.join(NightStep)}.")] = "",
) -> None:
    """Run a night now: insights and promotions.

    Example: festinger consolidate --dry-run
    """
    async with context.app(start=StartOptions(providers=True)) as app:
        space = context.resolve_space_option(app)
        await use_local_model(app)
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
    """What nights did; read one, or take it back.

    Example: festinger nights 018f3a5e --undo
    """
    async with context.app() as app:
        space = context.resolve_space_option(app)
        if night is None:
            found = await list_nights(app, space=space, limit=MOST_LISTED)
            table = context.table(("id", "agent", "state", "changes", "started"), map(_row, found))
            hint = "No nights yet. `festinger consolidate --dry-run` shows what one would do."
            context.show([each.as_json() for each in found], table=table, text=hint)
            return
        id_ = await _find(app, space, night)
        if undo or item:
            chosen = read_id(item) if item else None
            done = await undo_night(app, space=space, id=id_, item=chosen, by=f"person:{current_user()}")
            context.say(f"Changes taken back: {done}.")
        told = await get_night(app, space=space, id=id_)
    _show(context, told)


async def _find(app: App, space: SpaceId, text: str) -> UUID:
    wanted = prefix(text)
    known = [each.id for each in await list_nights(app, space=space, limit=1000)]
    return pick(text, [each for each in known if str(each).startswith(wanted)])


def _row(night: Night) -> tuple[object, ...]:
    changes = sum(night.counts.get(each, 0) for each in NightItemKind)
    state = "preview" if night.dry_run else night.state
    return str(night.id)[:SHORT_ID], night.agent or "(shared)", state, changes, format_time(night.started_at)


def _show(context: CommandContext, night: Night) -> None:
    short, whose = str(night.id)[:SHORT_ID], f"agent {night.agent}" if night.agent else "the shared memories"
    items = [
        f"  {each.change} {each.kind.value} {str(each.memory)[:SHORT_ID]}{' (undone)' if each.is_undone else ''}"
        for each in night.items
    ]
    if night.dry_run and night.preview:
        items = ["`festinger consolidate` does this."]
    elif any(not each.is_undone for each in night.items):
        items.insert(0, f"`festinger nights {short} --undo` takes it back; `--item ID` only one of these:")
    context.show(night.as_json(), text="\n".join([f"Night {short} of {whose}: {night.state}", *night.lines, *items]))
