"""`festinger demo`: what it does and why, in a minute, with nothing installed and nothing left behind."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from festinger.cli.command import command
from festinger.cli.context import Desk
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


async def collision(desk: Desk) -> None:
    """Two facts that cannot both stand: before, during and after.

    Example: festinger demo collision
    """
    from festinger.cli.demos import collision as demo

    await _play(desk, demo.collision, prepare=demo.written)


async def loop(desk: Desk) -> None:
    """An agent that does the same again and again, and is stopped.

    Example: festinger demo loop
    """
    from festinger.cli.demos import loop as demo

    await _play(desk, demo.loop)


async def supersede(desk: Desk) -> None:
    """A fact that changes, and a person who takes it back.

    Example: festinger demo supersede
    """
    from festinger.cli.demos import supersede as demo

    await _play(desk, demo.supersede)


async def poison(desk: Desk) -> None:
    """A page that wants to be believed, against what a person said.

    Example: festinger demo poison
    """
    from festinger.cli.demos import poison as demo

    await _play(desk, demo.poison)


async def hysteresis(
    desk: Desk,
    min_seen: Annotated[int, typer.Option(min=1, max=100, help="Distinct causes that are needed.")] = 2,
    flap: Annotated[
        bool, typer.Option("--flap", help="Play sixty days of single readings instead, and count the turns.")
    ] = False,
) -> None:
    """What recurs and lasts is put before a person; what was read once is not.

    Example: festinger demo hysteresis --min-seen 1
    """
    from festinger.cli.demos import hysteresis as demo
    from festinger.cli.demos.ground import on_throw_away_ground
    from festinger.ids import MAIN_SPACE
    from festinger.services.spaces import open_space

    _begin(desk)
    async with on_throw_away_ground(say=lambda _: None) as ground:
        office = ground.app.inbox.desk
        if flap:
            spaces = await open_space(ground.app, "flap-one"), await open_space(ground.app, "flap-two")
            told = await demo.flap(office, (spaces[0].id, spaces[1].id))
        else:
            told = await demo.hysteresis(office, MAIN_SPACE, min_seen=min_seen)
    desk.show(told.document, text=told.text)
    desk.say(GONE)


def _begin(desk: Desk) -> None:
    if desk.database is not None:
        raise BadInput(
            "A demo opens a throw-away store of its own.", hint="Leave `--database` out; nothing was touched."
        )
    desk.configure_logs()
    desk.say("Starting a store that is thrown away afterwards (a few seconds).")


async def _play(desk: Desk, play: Play, *, prepare: Callable[[Path], None] | None = None) -> None:
    """Tell a demo scene by scene, as it happens."""
    from festinger.cli.demos.ground import on_throw_away_ground
    from festinger.cli.demos.scene import as_document, as_text

    _begin(desk)
    scenes = []
    async with on_throw_away_ground(say=lambda _: None, prepare=prepare) as ground:
        async for scene in play(ground):
            scenes.append(scene)
            if not desk.as_json:
                desk.show({}, text=as_text(scene, number=len(scenes)))
    if desk.as_json:
        desk.show([as_document(scene) for scene in scenes])
    desk.say(GONE)
