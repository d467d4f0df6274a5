"""`festinger recall`, `observe` and `brief`: what is recalled, what became of it, and what is known of a topic."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

import typer

from festinger.cli.client import Document, assume_utc, build_api_path, drop_empty, open_client
from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import SHORT_ID

SHOWN_CHARS = 100


def register(app: typer.Typer) -> None:
    command(app, "recall", may_ask_server=True)(recall)
    command(app, "observe", may_ask_server=True)(observe)
    command(app, "brief", may_ask_server=True)(brief)


async def recall(
    context: CommandContext,
    cue: Annotated[str, typer.Argument(help="What should come to mind.")],
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="At most so many.")] = 5,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="Only this kind; may be repeated.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Only what bears this tag; may be repeated.")] = None,
    since: Annotated[datetime | None, typer.Option("--since", help="Only what happened since (UTC).")] = None,
    until: Annotated[datetime | None, typer.Option("--until", help="Only what happened until (UTC).")] = None,
    as_of: Annotated[datetime | None, typer.Option("--as-of", help="As it was believed then (UTC).")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each came.")] = False,
) -> None:
    """What comes to mind for a cue, the best first; or nothing.

    Example: festinger recall 'what is the build server called?'
    """
    asked: Document = {"cue": cue, "limit": limit, "kinds": kind or None, "explain": explain, "tags": tag or []}
    times = {"since": since, "until": until, "as_of": as_of}
    asked |= {name: assume_utc(at).isoformat() for name, at in times.items() if at}
    # Without the embedder, only what shares a word with the cue would be recalled.
    async with open_client(context, find=True, embeds=True) as client:
        found = await client.ask("POST", build_api_path("recall"), body=asked, **client.as_agent)
    rows = (row for item in found["items"] for row in _rows(item))
    table = context.table(("id", "kind", "origin", "score", "text"), rows)
    nothing = f"nothing relevant remembered ({found['below_threshold']} below the threshold)"
    context.show(found, table=table if found["items"] else None, text=nothing)
    if found["degraded"]:
        context.say(f"Searched without {', '.join(found['degraded'])}.")
    if explain and found["items"]:
        context.say(f"What became of it: festinger observe {found['id']} --used ID")


Ids = list[str] | None


async def observe(
    context: CommandContext,
    recall: Annotated[str, typer.Argument(help="The id of the recall, from `recall --explain` or `--json`.")],
    acted: Annotated[Ids, typer.Option("--acted", help="A memory that was acted upon; may be repeated.")] = None,
    used: Annotated[Ids, typer.Option("--used", help="One that helped with the answer.")] = None,
    dismissed: Annotated[Ids, typer.Option("--dismissed", help="One that did not help.")] = None,
    contradicted: Annotated[Ids, typer.Option("--contradicted", help="One that turned out wrong.")] = None,
) -> None:
    """Say what became of recalled memories.

    What the recall showed and nobody names is deferred.

    Example: festinger observe 018f3a5e-7b21-7c3d-8e4f-5a6b7c8d9e0f --used 018f3a5e-7b21
    """
    given = {"acted": acted, "used": used, "dismissed": dismissed, "contradicted": contradicted}
    async with open_client(context, find=True) as client:
        outcomes = {
            (await client.ask("GET", build_api_path("memories", each), **client.as_agent))["id"]: name
            for name, ids in given.items()
            for each in ids or ()
        }
        body = {"recall": recall, "outcomes": outcomes}
        done = await client.ask("POST", build_api_path("outcomes"), body=body, **client.as_agent)
    rows = (
        (each[:SHORT_ID], effect["outcome"], "{:.2f} → {:.2f}".format(*effect["confidence"]))
        for each, effect in done["effects"].items()
    )
    table = context.table(("id", "outcome", "confidence"), rows) if done["effects"] else None
    context.show(done, table=table, text="Nothing moved.")


async def brief(
    context: CommandContext,
    topic: Annotated[str, typer.Argument(help="A person, a project or a thing; without one, everything.")] = "",
    tokens: Annotated[int, typer.Option("--tokens", min=1, max=4000, help="At most so many tokens.")] = 600,
) -> None:
    """What is known of a topic, from rows alone.

    Boundaries, disputes, goals, decisions, preferences, the last episodes, and what weighs most.

    Example: festinger brief 'build server'
    """
    asked = drop_empty(topic=topic, tokens=str(tokens))
    async with open_client(context, find=True) as client:
        found = await client.ask("GET", build_api_path("brief"), **asked, **client.as_agent)
    rows = (
        (each["section"], each["id"][:SHORT_ID], each["day"], each["origin"], each["text"]) for each in found["notes"]
    )
    table = context.table(("section", "id", "day", "who", "text"), rows)
    context.show(found, table=table, text="Nothing is known of this yet.")
    if found["omitted"]:
        context.say(f"{found['omitted']} more did not fit; `--tokens` sets how much may.")


def _rows(item: Document) -> Iterator[tuple[str, ...]]:
    """A row for an item; the reason for it is below its full text."""
    why = item["why"]
    text = item["text"] if why else item["text"][:SHOWN_CHARS]
    yield item["id"][:SHORT_ID], item["kind"], item["origin"], f"{item['score']:.2f}", text
    if why:
        yield "", "", "", "", f"-> {why['sentence']}"
