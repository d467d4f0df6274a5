"""`festinger reviewer`: whose verdict counts, and one-time codes for deciding in files."""

from typing import Annotated

import typer

from festinger.cli.client import drop_empty, open_client, path_to
from festinger.cli.command import command, list_command
from festinger.cli.context import CommandContext

Name = Annotated[str, typer.Argument(help="Name of the reviewer.")]
Known = Annotated[list[str] | None, typer.Option(help="By what a channel knows them; several times for several.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="People whose verdict counts.\n\nExample: festinger reviewer")
    app.add_typer(group, name="reviewer")
    list_command(group, may_ask_server=True)(list_reviewers)
    for name, operation in (("add", add), ("codes", make_codes), ("off", remove_reviewer)):
        command(group, name, may_ask_server=True)(operation)


async def list_reviewers(context: CommandContext) -> None:
    """Everybody whose verdict counts or counted.

    Example: festinger reviewer list
    """
    async with open_client(context) as client:
        found = (await client.ask("GET", path_to("reviewers")))["items"]
    rows = (
        (
            each["name"],
            "yes" if each["active"] else "no",
            ", ".join(f"{proof} {', '.join(known)}" for proof, known in each["identities"].items()),
            each["codes"],
        )
        for each in found
    )
    context.show(
        found,
        table=context.table(("name", "decides", "known by", "codes"), rows),
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
        added = await client.ask("POST", path_to("reviewers"), body=body)
    context.show(added, text=f"{added['name']} is a reviewer.")


async def make_codes(context: CommandContext, name: Name) -> None:
    """Ten one-time codes for deciding in files. They are shown this once; those that were left are void.

    Example: festinger reviewer codes Ada
    """
    async with open_client(context) as client:
        made = await client.ask("POST", path_to("reviewers", name, "codes"))
    context.show(made, text="\n".join(made["codes"]))


async def remove_reviewer(context: CommandContext, name: Name) -> None:
    """Let somebody's verdict count no more; what they decided stands.

    Example: festinger reviewer off Ada
    """
    async with open_client(context) as client:
        gone = await client.ask("DELETE", path_to("reviewers", name))
    context.show(gone, text=f"{gone['name']} does not decide any more.")
