"""`festinger iknowthat`, `concept`, `conflicts` and `resolve`: the shared world."""

import getpass
import sys
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

import typer

from festinger.app.wiring import App
from festinger.app.world import ask_to_resolve
from festinger.cli.command import command, listing
from festinger.cli.desk import Desk
from festinger.errors import BadInput
from festinger.ids import AgentId, Cause, Origin, SessionId, SpaceId, cause, pick, prefix
from festinger.world.conflicts import Conflict, conflicts, item_json
from festinger.world.decisions import Decision, Judge, Verdict, decide, undo
from festinger.world.knowing import Known, iknowthat
from festinger.world.state import Did
from festinger.world.why import why

CONFLICT_EXIT = 3
"""What `iknowthat` leaves with when a fact collides with another one."""

EVERY_STATUS = ("pending", "resolved", "dismissed")
MOST_LISTED = 1000

ConflictId = Annotated[str, typer.Argument(help="Id of the conflict, or its beginning.")]


def register(app: typer.Typer) -> None:
    command(app, "iknowthat")(state_facts)
    command(app, "concept")(show_concept)
    group = typer.Typer(
        help="Facts that cannot both stand: see and decide them.\n\nExample: festinger conflicts"
    )
    app.add_typer(group, name="conflicts")
    listing(group)(list_conflicts)
    command(group, "show")(show_conflict)
    command(group, "dismiss")(dismiss)
    command(group, "resolve")(resolve_one)
    command(group, "undo")(undo_one)
    runs = typer.Typer(help="Resolve conflicts now.\n\nExample: festinger resolve run", no_args_is_help=True)
    app.add_typer(runs, name="resolve")
    command(runs, "run")(run_resolution)


async def state_facts(
    desk: Desk, fact: Annotated[str, typer.Argument(help="The fact, or `-` to read one a line.")]
) -> int:
    """State a fact of the shared world. Exit 3 if it collides.

    Example: festinger iknowthat 'gnommoweb -isa repo in context of tech'
    """
    facts = [line.strip() for line in sys.stdin if line.strip()] if fact == "-" else [fact]
    async with desk.app() as app:
        space = desk.space_in(app)
        await app.world.need(space)
        known = await iknowthat(app.world.desk, space, facts, because=_person(desk, app))
        documents = [_document(each) for each in known]
    desk.show(documents if fact == "-" else documents[0], text="\n".join(_line(each) for each in known))
    return CONFLICT_EXIT if any(each.stated.did is Did.CONFLICT for each in known) else 0


async def show_concept(desk: Desk, token: Annotated[str, typer.Argument(help="The word.")]) -> None:
    """All that is known of a word, and why.

    Example: festinger concept gnommoweb
    """
    async with desk.app() as app:
        found = await why(app.world.desk, desk.space_in(app), token.casefold())
    rows = (
        (
            edge.edge["dimension"],
            edge.edge["parent"],
            edge.edge["confidence"],
            edge.edge["source"],
            len(edge.causes),
        )
        for edge in found.edges
    )
    table = desk.table(("dimension", "parent", "confidence", "source", "causes"), rows)
    desk.show(asdict(found), table=table, text=f"`{token}` was met, but nothing is known of it.")


async def list_conflicts(
    desk: Desk,
    every: Annotated[bool, typer.Option("--all", help="Decided ones too, however old.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=MOST_LISTED, help="At most so many.")] = 50,
) -> None:
    """Conflicts that wait, most urgent first, and those decided in the last week.

    Example: festinger conflicts --all
    """
    async with desk.app() as app:
        space = desk.space_in(app)
        found = await conflicts(app.world.desk, space, statuses=EVERY_STATUS if every else None, limit=limit)
        documents = [await item_json(app.world.desk, space, item) for item in found]
    table = desk.table(("id", "concept", "dimension", "stands", "incoming", "status"), map(_row, found))
    desk.show(documents, table=table, text="No conflicts.")


async def show_conflict(desk: Desk, conflict: ConflictId) -> None:
    """One conflict with both statements.

    Example: festinger conflicts show 018f3a5e
    """
    async with desk.app() as app:
        space = desk.space_in(app)
        item = await _find(app, space, conflict)
        document = await item_json(app.world.desk, space, item)
    rows = (
        (side, document[side]["parent"], document[side]["source"], document[side]["origin"])
        for side in _sides(document)
    )
    desk.show(document, table=desk.table(("", "parent", "source", "origin"), rows))


async def dismiss(
    desk: Desk, conflict: ConflictId, note: Annotated[str, typer.Option("--note", help="Why.")] = ""
) -> None:
    """Let the old fact stand.

    Example: festinger conflicts dismiss 018f3a5e --note "a typo"
    """
    await _decide(desk, conflict, decision=Decision.DISMISS, reasoning=note)


async def resolve_one(
    desk: Desk,
    conflict: ConflictId,
    decision: Annotated[Decision, typer.Argument(help="What is to be done.")],
    existing_dimension: Annotated[
        str | None, typer.Option("--existing-dimension", help="For decompose: where the old fact goes.")
    ] = None,
    new_dimension: Annotated[
        str | None, typer.Option("--new-dimension", help="For decompose: where the new fact goes.")
    ] = None,
    dimension: Annotated[
        str | None, typer.Option("--dimension", help="For reclassify: where the new fact belongs.")
    ] = None,
    note: Annotated[str, typer.Option("--note", help="Why.")] = "",
) -> None:
    """Decide a conflict; `undo` takes it back.

    Example: festinger conflicts resolve 018f3a5e update
    """
    names = {"existing_dimension": existing_dimension, "new_dimension": new_dimension, "dimension": dimension}
    await _decide(desk, conflict, decision=decision, reasoning=note, **names)


async def undo_one(desk: Desk, conflict: ConflictId) -> None:
    """Put back what stood before a decision.

    Example: festinger conflicts undo 018f3a5e
    """
    async with desk.app() as app:
        space = desk.space_in(app)
        item = await _find(app, space, conflict)
        after = await undo(app.world.desk, space, item.id, by=_who())
        document = await item_json(app.world.desk, space, after)
    desk.show(document, text=f"The conflict about `{after.concept}` waits again.")


async def run_resolution(
    desk: Desk, dry_run: Annotated[bool, typer.Option("--dry-run", help="Decide, but apply nothing.")] = False
) -> None:
    """Have the conflicts of the space resolved now; a worker does it.

    Example: festinger resolve run --dry-run
    """
    async with desk.app() as app:
        run, pending = await ask_to_resolve(app, app.world, desk.space_in(app), dry_run=dry_run)
    desk.show({"run_id": str(run), "pending": pending}, text=f"Run {run} begins; {pending} conflicts wait.")


async def _decide(desk: Desk, conflict: str, **verdict: Any) -> None:
    async with desk.app() as app:
        space = desk.space_in(app)
        item = await _find(app, space, conflict)
        said = Verdict(judge=Judge.PERSON, by=_who(), **verdict)
        after = await decide(app.world.desk, space, item.id, said)
        document = await item_json(app.world.desk, space, after)
    desk.show(document, text=f"The conflict about `{after.concept}` is {after.status}.")


async def _find(app: App, space: SpaceId, text: str) -> Conflict:
    wanted = prefix(text)
    found = await conflicts(app.world.desk, space, statuses=EVERY_STATUS, limit=MOST_LISTED)
    by_id: dict[UUID, Conflict] = {item.id: item for item in found}
    return by_id[pick(text, (id_ for id_ in by_id if str(id_).startswith(wanted)))]


def _person(desk: Desk, app: App) -> Cause:
    """Whoever sits at this terminal is the owner of the store."""
    return cause(
        agent=AgentId(desk.agent), session=SessionId(_who()), origin=Origin.PERSON, at=app.tools.clock()
    )


def _who() -> str:
    try:
        return f"cli:{getpass.getuser()}"
    except OSError as error:  # a user id without a name, as in some containers
        raise BadInput("This user has no name.", hint="Set `LOGNAME`.") from error


def _document(known: Known) -> dict[str, Any]:
    said, stated = known.said, known.stated
    return {
        "status": stated.did.value,
        "concept": said.concept,
        "parent": said.parent,
        "dimension": said.dimension,
        "is_isa": said.is_isa,
        "conflict": str(stated.conflict) if stated.conflict else None,
    }


def _line(known: Known) -> str:
    said, stated = known.said, known.stated
    fact = f"{said.concept} {'is a' if said.is_isa else 'is part of'} {said.parent} [{said.dimension}]"
    if stated.conflict is not None:
        return f"{fact}: collides with what stands; conflict {stated.conflict} waits for a decision."
    return f"{fact}: {stated.did.value}."


def _row(item: Conflict) -> tuple[object, ...]:
    return (
        str(item.id)[:13],
        item.concept,
        item.dimension,
        item.existing_parent,
        item.incoming_parent,
        item.status,
    )


def _sides(document: dict[str, Any]) -> Iterable[str]:
    return (side for side in ("existing", "incoming") if document[side])
