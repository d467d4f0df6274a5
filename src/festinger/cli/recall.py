"""`festinger recall`: what comes to mind for a cue."""

from datetime import datetime
from typing import Annotated, Any

import typer

from festinger.cli.command import command
from festinger.cli.desk import Desk
from festinger.cli.outlook import outlook

SHOWN_CHARS = 100


def register(app: typer.Typer) -> None:
    command(app, "recall", may_ask_server=True)(recall)


async def recall(
    desk: Desk,
    cue: Annotated[str, typer.Argument(help="What should come to mind.")],
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="At most so many.")] = 5,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="Only this kind; may be repeated.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only what bears this tag; may be repeated.")
    ] = None,
    since: Annotated[datetime | None, typer.Option("--since", help="Only what happened since (UTC).")] = None,
    until: Annotated[datetime | None, typer.Option("--until", help="Only what happened until (UTC).")] = None,
    as_of: Annotated[datetime | None, typer.Option("--as-of", help="As it was believed then (UTC).")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each came.")] = False,
) -> None:
    """What comes to mind for a cue, the best first; or nothing.

    Example: festinger recall 'what is the build server called?'
    """
    asked: dict[str, Any] = {"limit": limit, "kinds": kind or None, "explain": explain}
    asked |= {"tags": tag or (), "since": since, "until": until, "as_of": as_of}
    async with outlook(desk) as world:
        found = await world.recall(cue, **asked)
    rows = (
        (
            item["id"][:8],
            item["kind"],
            item["origin"],
            f"{item['score']:.2f}",
            item["why"]["sentence"] if item["why"] else item["text"][:SHOWN_CHARS],
        )
        for item in found["items"]
    )
    table = desk.table(("id", "kind", "origin", "score", "why" if explain else "text"), rows)
    nothing = f"nothing relevant remembered ({found['below_threshold']} below the threshold)"
    desk.show(found, table=table if found["items"] else None, text=nothing)
