"""`festinger keys`: who may use this server."""

from dataclasses import asdict
from typing import Annotated

import typer

from festinger.cli.command import command, register_list_command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import SHORT_ID, format_time
from festinger.ids import EVERY_SPACE, pick, prefix
from festinger.services.access import issue_key, withdraw_key
from festinger.store.repositories.auth import AccessRole, load_api_keys

ROLE_HELP = (
    "What it may do: `proxy` only talks to models, `hook` only serves the hooks of coding agents, `agent` also reads and states facts, `reviewer` also decides"
    " conflicts, `admin` runs the house but decides nothing."
)


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Who may use this server: make, list and revoke keys.\n\nExample: festinger keys")
    app.add_typer(group, name="keys")
    register_list_command(group)(list_keys)
    command(group, "make")(make)
    command(group, "revoke")(revoke)


async def make(
    context: CommandContext,
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    role: Annotated[AccessRole, typer.Option("--role", help=ROLE_HELP)] = AccessRole.PROXY,
    for_agent: Annotated[str | None, typer.Option("--for-agent", help="Bind it to one agent.")] = None,
    everywhere: Annotated[bool, typer.Option("--all-spaces", help="For every space, not for `--space`.")] = False,
) -> None:
    """Make a key. It is shown once and stored only as a hash.

    Example: festinger keys make laptop --role admin
    """
    async with context.app() as app:
        space = EVERY_SPACE if everywhere else context.resolve_space_option(app)
        key, secret = await issue_key(app, name, role=role, space=space, agent=for_agent, by="cli")
    context.show({**asdict(key), "key": secret}, text=secret)
    context.say(f"Its role is `{role}`; `--role` gives another one.")
    context.say("Keep it: it is not shown again. Send it as `X-Festinger-Key` or as a bearer token.")


async def list_keys(context: CommandContext) -> None:
    """Every key, never the secret itself.

    Example: festinger keys list
    """
    async with context.app() as app:
        found = await load_api_keys(app.store)
    rows = (
        (
            str(key.id)[:SHORT_ID],
            key.name,
            key.role,
            key.space,
            key.agent,
            format_time(key.last_used_at),
            format_time(key.revoked_at),
        )
        for key in found
    )
    table = context.table(("id", "name", "role", "space", "agent", "last used", "revoked"), rows)
    context.show([asdict(key) for key in found], table=table, text="No keys yet: `festinger keys make NAME`.")


async def revoke(
    context: CommandContext, key: Annotated[str, typer.Argument(help="Id of the key, or its beginning.")]
) -> None:
    """End a key, at once in every process.

    Example: festinger keys revoke 018f3a5e-7b21
    """
    wanted = prefix(key)
    async with context.app() as app:
        known = {found.id: found for found in await load_api_keys(app.store)}
        chosen = known[pick(key, (id_ for id_ in known if str(id_).startswith(wanted)))]
        await withdraw_key(app, chosen, by="cli")
    context.show({"revoked": str(chosen.id)}, text=f"Key `{chosen.name}` is revoked.")
