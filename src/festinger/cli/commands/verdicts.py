"""`festinger approve`, `reject`, `defer`, `deepen`, `duplicate` and `reviewer`: verdicts, and whose verdict counts."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from festinger.cli.client import Document, assume_utc, build_api_path, drop_empty, open_client
from festinger.cli.command import command, register_list_command
from festinger.cli.commands.inbox import format_card_lines, parse_json_object
from festinger.cli.context import CommandContext
from festinger.clock import system_clock
from festinger.errors import BadInput

if TYPE_CHECKING:
    from festinger.proxy.remote_client import AdminClient


APPROVE = "approve"
"""The word that a person types to approve although another proposal asks for the opposite."""

NOT_ALL_EXIT = 4
"""The exit code of a command that decided fewer than it was asked to."""

Id = Annotated[str, typer.Argument(help="Id of the proposal, or its beginning.")]
Ids = Annotated[list[str], typer.Argument(help="Ids of proposals, or their beginnings.")]
Note = Annotated[str, typer.Option("--note", help="Why, for the records.")]


def register(app: typer.Typer) -> None:
    for operation in (approve, reject, defer, deepen, duplicate):
        command(app, may_ask_server=True)(operation)
    group = typer.Typer(help="People whose verdict counts.\n\nExample: festinger reviewer")
    app.add_typer(group, name="reviewer")
    register_list_command(group, may_ask_server=True)(list_reviewers)
    command(group, "add", may_ask_server=True)(add)
    command(group, "off", may_ask_server=True)(remove_reviewer)


async def approve(
    context: CommandContext,
    proposals: Ids,
    edit: Annotated[
        Path | None,
        typer.Option("--edit", help="JSON file with another `what`, `why`, `how` or `payload`; of one proposal."),
    ] = None,
    note: Note = "",
    seen: Annotated[
        list[str] | None,
        typer.Option("--seen", help="Id of a proposal of the opposite that you have looked at; may be repeated."),
    ] = None,
) -> int:
    """Say yes. What the proposal asks for happens now, and can be undone.

    Where another proposal asks for the opposite, both are shown and you are asked.

    Example: festinger approve 018f3a5e-7b21
    """
    said: Document = {"verdict": "approve", "note": note, "seen": seen or []}
    if edit is not None:
        if len(proposals) > 1:
            raise BadInput("One proposal is edited at a time.")
        said["edits"] = parse_json_object(_read_text_file(edit))
    async with open_client(context) as client:
        if len(proposals) == 1:
            card = await client.ask("GET", build_api_path("proposals", proposals[0]))
            said["word"] = _looked_at(context, card)
            said["seen"] += await _confirm_opposing_proposals(context, client, card, seen or [])
        return await _decide(context, client, proposals, said)


async def reject(context: CommandContext, proposals: Ids, note: Note = "") -> int:
    """Say no. The same idea is silent for a month; a second no silences it longer.

    Example: festinger reject 018f3a5e-7b21 --note 'We tried it.'
    """
    async with open_client(context) as client:
        return await _decide(context, client, proposals, {"verdict": "reject", "note": note})


async def defer(
    context: CommandContext,
    proposals: Ids,
    days: Annotated[int | None, typer.Option("--days", min=1, max=3650, help="For so many days.")] = None,
    until: Annotated[datetime | None, typer.Option("--until", help="Until this moment.")] = None,
    note: Note = "",
) -> int:
    """Put off; it comes back by itself.

    Example: festinger defer 018f3a5e-7b21 --days 7
    """
    said: Document = {"verdict": "defer", "note": note}
    if (end := _end(days, until)) is not None:
        said["until"] = end.isoformat()
    async with open_client(context) as client:
        return await _decide(context, client, proposals, said)


async def deepen(
    context: CommandContext,
    proposals: Ids,
    vague: Annotated[bool, typer.Option("--vague", help="Ask for sharper words, not for a stronger case.")] = False,
    note: Note = "",
) -> int:
    """Ask for more thought, twice at most.

    Example: festinger deepen 018f3a5e-7b21
    """
    async with open_client(context) as client:
        verdict = "too_vague" if vague else "deepen"
        return await _decide(context, client, proposals, {"verdict": verdict, "note": note})


async def duplicate(
    context: CommandContext,
    proposal: Id,
    of: Annotated[str, typer.Option("--of", help="Id of the proposal that says the same.")],
    note: Note = "",
) -> int:
    """Say that a proposal is another one in other words.

    Example: festinger duplicate 018f3a5e-7b21 --of 018f3a5e-7b22
    """
    async with open_client(context) as client:
        return await _decide(context, client, [proposal], {"verdict": "duplicate", "of": of, "note": note})


async def _decide(context: CommandContext, client: "AdminClient", proposals: list[str], said: Document) -> int:
    if len(proposals) == 1:
        done = await client.ask("POST", build_api_path("proposals", proposals[0], "verdict"), body=said)
        context.show(done, text=f"Proposal {done['proposal']} is {done['state']}.")
        return 0
    many = await client.ask("POST", build_api_path("proposals", "verdicts"), body={**said, "ids": proposals})
    rows = ((each["id"], each["result"], each["detail"]) for each in many["items"])
    context.show(many, table=context.table(("id", "result", "detail"), rows))
    context.say(f"{said['verdict']}: {many['done']} of {many['of']}.")
    return 0 if many["done"] == many["of"] else NOT_ALL_EXIT


def _looked_at(context: CommandContext, card: Document) -> str:
    """Show what is about to be approved; where it cannot be undone, ask for the confirming word."""
    if not context.as_json:
        context.say("\n".join(format_card_lines(card)))
    word: str = card["effect"]["word"]
    if word:
        context.confirm(word, card["effect"]["says"])
    return word


async def _confirm_opposing_proposals(
    context: CommandContext, client: "AdminClient", card: Document, seen: list[str]
) -> list[str]:
    """Show opposing proposals and ask; returns their ids. A script has seen what it says it has."""
    shown: list[str] = []
    for other in (each["other"] for each in card["pairs"] if _opposes(each)):
        if not context.can_ask_person or any(other.startswith(each) for each in seen):
            continue
        card = await client.ask("GET", build_api_path("proposals", other))
        context.say("The opposite:\n" + "\n".join(format_card_lines(card)))
        context.confirm(APPROVE, "Another proposal asks for the opposite; it is shown above.")
        shown.append(other)
    return shown


def _opposes(pair: Document) -> bool:
    return bool(pair["relation"] == "opposite" and pair["state"] == "open" and pair["what"])


def _end(days: int | None, until: datetime | None) -> datetime | None:
    if days is not None and until is not None:
        raise BadInput("Say `--days` or `--until`, not both.")
    moment: datetime | None = assume_utc(until) if until else None
    return system_clock() + timedelta(days=days) if days is not None else moment


def _read_text_file(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"`{file}` cannot be read.", hint="Name a text file that is there.") from error


Name = Annotated[str, typer.Argument(help="Name of the reviewer.")]
Known = Annotated[list[str] | None, typer.Option(help="By what a channel knows them; several times for several.")]


async def list_reviewers(context: CommandContext) -> None:
    """Everybody whose verdict counts or counted.

    Example: festinger reviewer list
    """
    async with open_client(context) as client:
        found = (await client.ask("GET", build_api_path("reviewers")))["items"]
    rows = (
        (
            each["name"],
            "yes" if each["active"] else "no",
            ", ".join(f"{proof} {', '.join(known)}" for proof, known in each["identities"].items()),
        )
        for each in found
    )
    context.show(
        found,
        table=context.table(("name", "decides", "known by"), rows),
        text="Nobody decided yet. Whoever logs in or shows a reviewer's key becomes one; `festinger reviewer add NAME`.",
    )


async def add(
    context: CommandContext, name: Name, login: Known = None, webhook: Known = None, uid: Known = None
) -> None:
    """Make a reviewer, or let one who was sent away decide again.

    Example: festinger reviewer add Ada --webhook ada
    """
    body = {"name": name, "identities": drop_empty(login=login, webhook=webhook, uid=uid)}
    async with open_client(context) as client:
        added = await client.ask("POST", build_api_path("reviewers"), body=body)
    context.show(added, text=f"{added['name']} is a reviewer.")


async def remove_reviewer(context: CommandContext, name: Name) -> None:
    """Let somebody's verdict count no more; what they decided stands.

    Example: festinger reviewer off Ada
    """
    async with open_client(context) as client:
        gone = await client.ask("DELETE", build_api_path("reviewers", name))
    context.show(gone, text=f"{gone['name']} does not decide any more.")
