"""`festinger iknowthat`, `concept`, `graph`, `conflicts` and `resolve`: the shared world."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from festinger.cli.client import MOST_LISTED, Document, build_api_path, drop_empty, open_client
from festinger.cli.command import command, register_list_command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import SHORT_ID
from festinger.errors import BadInput, ServerAway
from festinger.ids import pick, prefix

if TYPE_CHECKING:
    from festinger.proxy.remote_client import AdminClient

CONFLICT_EXIT = 3
"""The exit code of `iknowthat` when a fact collides with another."""
UNREACHABLE_EXIT = 1
"""The exit code of `iknowthat` when the named server does not answer."""

CONFLICTS = "/conflicts"
ALL = {"status": "all"}

ConflictId = Annotated[str, typer.Argument(help="Id of the conflict, or its beginning.")]
Fact = Annotated[str, typer.Argument(help="The fact, or `-` to read one a line.")]


def register(app: typer.Typer) -> None:
    command(app, "iknowthat", may_ask_server=True)(state_facts)
    command(app, "concept", may_ask_server=True)(show_concept)
    command(app, "graph", may_ask_server=True)(show_graph)
    group = typer.Typer(help="Facts that cannot both stand: see and decide them.\n\nExample: festinger conflicts")
    app.add_typer(group, name="conflicts")
    register_list_command(group, may_ask_server=True)(list_conflicts)
    command(group, "show", may_ask_server=True)(show_conflict)
    command(group, "dismiss", may_ask_server=True)(dismiss)
    command(group, "resolve", may_ask_server=True)(resolve_conflict)
    command(group, "undo", may_ask_server=True)(undo_conflict_resolution)
    runs = typer.Typer(help="Resolve conflicts now.\n\nExample: festinger resolve run", no_args_is_help=True)
    app.add_typer(runs, name="resolve")
    command(runs, "run", may_ask_server=True)(run_conflict_resolution)


async def state_facts(context: CommandContext, fact: Fact) -> int:
    """State a fact of the shared world. Exit 3 if it collides.

    Example: festinger iknowthat 'gnommoweb -isa repo in context of tech'
    """
    facts = facts_from_argument_or_stdin(fact)
    try:
        said = await post_facts(context, facts)
    except ServerAway as error:
        context.tell(error)
        return UNREACHABLE_EXIT
    return report_facts(context, said, many=fact == "-")


async def post_facts(context: CommandContext, facts: Sequence[str]) -> list[Document]:
    """State facts at the server that the command names, else in the store."""
    async with open_client(context) as client:
        said = await client.ask("POST", "/iknowthat", body={"facts": list(facts)}, **client.as_agent)
    return list(said["items"])


def facts_from_argument_or_stdin(given: str) -> list[str]:
    """The given fact, or those on standard input, one per line."""
    return [line.strip() for line in sys.stdin if line.strip()] if given == "-" else [given]


def report_facts(context: CommandContext, said: Sequence[Document], *, many: bool) -> int:
    """Print what became of the facts, and return the exit code."""
    context.show(list(said) if many else said[0], text="\n".join(map(_line, said)))
    return CONFLICT_EXIT if any(each["status"] == "conflict" for each in said) else 0


async def show_concept(context: CommandContext, token: Annotated[str, typer.Argument(help="The word.")]) -> None:
    """All that is known of a word, and why.

    Example: festinger concept gnommoweb
    """
    async with open_client(context) as client:
        found = await client.ask("GET", build_api_path("concepts", token.casefold()))
    rows = (
        (
            each["edge"]["dimension"],
            each["edge"]["parent"],
            each["edge"]["confidence"],
            each["edge"]["source"],
            len(each["causes"]),
        )
        for each in found["edges"]
    )
    table = context.table(("dimension", "parent", "confidence", "source", "causes"), rows)
    context.show(found, table=table, text=f"`{token}` was met, but nothing is known of it.")


async def show_graph(
    context: CommandContext,
    token: Annotated[str, typer.Argument(help="The word.")],
    depth: Annotated[int, typer.Option("--depth", min=1, max=3, help="Steps up and down.")] = 1,
    svg: Annotated[Path | None, typer.Option("--svg", help="Also write the picture to this file.")] = None,
) -> None:
    """What stands around a word, as a table or a picture.

    Example: festinger graph gnommoweb --depth 2 --svg gnommoweb.svg
    """
    wanted = drop_empty(centre=token, depth=str(depth), svg="yes" if svg else "")
    async with open_client(context) as client:
        found = await client.ask("GET", build_api_path("graph"), **wanted)
    if svg:
        try:
            svg.write_text(found.pop("svg"), encoding="utf-8")
        except OSError as error:
            raise BadInput(f"`{svg}` cannot be written: {error.strerror}.") from error
        context.say(f"The picture is in {svg}.")
    rows = (
        (each["concept"], "is a" if each["is_isa"] else "is part of", each["parent"], each["dimension"])
        for each in found["edges"]
    )
    table = context.table(("concept", "relation", "parent", "dimension"), rows)
    context.show(found, table=table, text=f"`{token}` was met, but nothing is known of it.")


async def list_conflicts(
    context: CommandContext,
    every: Annotated[bool, typer.Option("--all", help="Decided ones too, however old.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=MOST_LISTED, help="At most so many.")] = 50,
) -> None:
    """Conflicts that wait, most urgent first, and those decided in the last week.

    Example: festinger conflicts --all
    """
    async with open_client(context) as client:
        found = await client.fetch_all_pages(CONFLICTS, limit=limit, **(ALL if every else {}))
    table = context.table(("id", "concept", "dimension", "stands", "incoming", "status"), map(_row, found))
    context.show(found, table=table, text="No conflicts.")


async def show_conflict(context: CommandContext, conflict: ConflictId) -> None:
    """One conflict with both statements.

    Example: festinger conflicts show 018f3a5e
    """
    async with open_client(context) as client:
        found = await client.ask("GET", f"{CONFLICTS}/{await _find(client, conflict)}")
    said = "content" if found["about"] == "memory" else "parent"
    rows = (
        (side, found[side][said], found[side]["source"], found[side]["origin"])
        for side in ("existing", "incoming")
        if found[side]
    )
    context.show(found, table=context.table(("", said, "source", "origin"), rows))


async def dismiss(
    context: CommandContext, conflict: ConflictId, note: Annotated[str, typer.Option("--note", help="Why.")] = ""
) -> None:
    """Let the old fact stand.

    Example: festinger conflicts dismiss 018f3a5e --note "a typo"
    """
    await _decide(context, conflict, "dismiss", {"note": note})


async def resolve_conflict(
    context: CommandContext,
    conflict: ConflictId,
    decision: Annotated[
        str,
        typer.Argument(
            help="update, same or dismiss; for edges also decompose and reclassify, for memories both, neither "
            "and split."
        ),
    ],
    existing_dimension: Annotated[
        str | None, typer.Option("--existing-dimension", help="For decompose: where the old fact goes.")
    ] = None,
    new_dimension: Annotated[
        str | None, typer.Option("--new-dimension", help="For decompose: where the new fact goes.")
    ] = None,
    dimension: Annotated[
        str | None, typer.Option("--dimension", help="For reclassify: where the new fact belongs.")
    ] = None,
    texts: Annotated[
        list[str] | None, typer.Option("--text", help="For split: what stands in their place; once each.")
    ] = None,
    note: Annotated[str, typer.Option("--note", help="Why.")] = "",
) -> None:
    """Decide a conflict; `undo` takes it back.

    Example: festinger conflicts resolve 018f3a5e update
    """
    names = {"existing_dimension": existing_dimension, "new_dimension": new_dimension, "dimension": dimension}
    await _decide(context, conflict, "resolve", drop_empty(decision=decision, texts=texts, note=note, **names))


async def undo_conflict_resolution(context: CommandContext, conflict: ConflictId) -> None:
    """Put back what stood before a decision.

    Example: festinger conflicts undo 018f3a5e
    """
    async with open_client(context) as client:
        after = await client.ask("POST", f"{CONFLICTS}/{await _find(client, conflict)}/undo")
    context.show(after, text=f"The conflict about `{after['concept']}` waits again.")


async def run_conflict_resolution(
    context: CommandContext,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Decide, but apply nothing.")] = False,
) -> None:
    """Have the conflicts of the space resolved now; a worker does it.

    Example: festinger resolve run --dry-run
    """
    async with open_client(context) as client:
        begun = await client.ask("POST", "/resolve/run", **({"dry_run": "true"} if dry_run else {}))
    context.show(begun, text=f"Run {begun['run_id']} begins; {begun['pending']} conflicts wait.")


async def _decide(context: CommandContext, conflict: str, operation: str, body: Document) -> None:
    async with open_client(context) as client:
        after = await client.ask("POST", f"{CONFLICTS}/{await _find(client, conflict)}/{operation}", body=body)
    context.show(after, text=f"The conflict about `{after['concept']}` is {after['status']}.")


async def _find(client: "AdminClient", text: str) -> str:
    """The id of the conflict that starts with this text."""
    wanted = prefix(text)
    found = (item["id"] for item in await client.fetch_all_pages(CONFLICTS, limit=MOST_LISTED, **ALL))
    return str(pick(text, (UUID(id_) for id_ in found if id_.startswith(wanted))))


def _line(said: Document) -> str:
    if said["status"] != "conflict":
        return f"{_fact(said['edge'], said['edge'])}: {said['status']}."
    conflict = said["conflict"]
    fact = _fact(conflict, conflict["incoming"])
    return f"{fact}: collides with what stands; conflict {conflict['id']} waits for a decision."


def _fact(slot: Document, side: Document) -> str:
    relation = "is a" if side["is_isa"] else "is part of"
    return f"{slot['concept']} {relation} {side['parent']} [{slot['dimension']}]"


def _row(item: Document) -> tuple[object, ...]:
    said = "content" if item["about"] == "memory" else "parent"
    stands, incoming = (item[side][said] if item[side] else None for side in ("existing", "incoming"))
    return (item["id"][:SHORT_ID], item["concept"], item["dimension"], stands, incoming, item["status"])
