"""`festinger demo`: what it does and why, in a minute, with nothing installed and nothing left behind."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.errors import BadInput

Play = Callable[[Any], AsyncIterator[Any]]

GONE = "That was all. The store is gone, and yours was not touched."


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        name="demo",
        no_args_is_help=True,
        help="Show what happens and why, on a store that is thrown away.\n\nExample: festinger demo collision",
    )
    command(group)(collision)
    command(group)(loop)
    command(group)(supersede)
    command(group)(poison)
    command(group)(hysteresis)
    app.add_typer(group)


async def collision(context: CommandContext) -> None:
    """Two facts that cannot both stand: before, during and after.

    Example: festinger demo collision
    """
    from examples import collision as demo

    await _play(context, demo.play_collision, prepare=demo.write_script)


async def loop(context: CommandContext) -> None:
    """An agent that does the same again and again, and is stopped.

    Example: festinger demo loop
    """
    from examples import loop as demo

    await _play(context, demo.play_loop)


async def supersede(context: CommandContext) -> None:
    """A fact that changes, and a person who takes it back.

    Example: festinger demo supersede
    """
    from examples import supersede as demo

    await _play(context, demo.play_supersede)


async def poison(context: CommandContext) -> None:
    """A page that wants to be believed, against what a person said.

    Example: festinger demo poison
    """
    from examples import poison as demo

    await _play(context, demo.play_poison)


async def hysteresis(
    context: CommandContext,
    min_seen: Annotated[int, typer.Option(min=1, max=100, help="Distinct causes that are needed.")] = 2,
    flap: Annotated[
        bool, typer.Option("--flap", help="Play sixty days of single readings instead, and count the turns.")
    ] = False,
) -> None:
    """What recurs and lasts is put before a person; what was read once is not.

    Example: festinger demo hysteresis --min-seen 1
    """
    from examples import hysteresis as demo
    from examples.ground import open_temporary_environment
    from festinger.ids import MAIN_SPACE
    from festinger.services.access import add_space

    _begin(context)
    async with open_temporary_environment(say=lambda _: None) as ground:
        office = ground.app.inbox.deps
        if flap:
            spaces = await add_space(ground.app, "flap-one"), await add_space(ground.app, "flap-two")
            told = await demo.play_flapping(office, (spaces[0].id, spaces[1].id))
        else:
            told = await demo.play_hysteresis(office, MAIN_SPACE, min_seen=min_seen)
    context.show(told.document, text=told.text)
    context.say(GONE)


def _begin(context: CommandContext) -> None:
    if context.database is not None:
        raise BadInput(
            "A demo opens a throw-away store of its own.", hint="Leave `--database` out; nothing was touched."
        )
    context.configure_logs()
    context.say("Starting a store that is thrown away afterwards (a few seconds).")


async def _play(context: CommandContext, play: Play, *, prepare: Callable[[Path], None] | None = None) -> None:
    """Tell a demo scene by scene, as it happens."""
    from examples.ground import open_temporary_environment
    from examples.scene import format_scene, scene_document

    _begin(context)
    scenes = []
    async with open_temporary_environment(say=lambda _: None, prepare=prepare) as ground:
        async for scene in play(ground):
            scenes.append(scene)
            if not context.as_json:
                context.show({}, text=format_scene(scene, number=len(scenes)))
    if context.as_json:
        context.show([scene_document(scene) for scene in scenes])
    context.say(GONE)
