"""`festinger connect` and `festinger disconnect`: coding agents with this memory."""

import json
import os
import sys
from difflib import unified_diff
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.errors import BadInput
from festinger.ids import MAIN_SPACE
from festinger.integrations.connect import (
    HOOK,
    NAME,
    REMARKS,
    TOOLS,
    FileChange,
    InstalledCommands,
    ToolConfigLocation,
    build_edits,
    plan_changes,
    summarize_hooks,
    write_config_changes,
    write_private_file,
)
from festinger.runtime.app import App
from festinger.runtime.environment import home_of, local_base_url
from festinger.services.access import issue_key, withdraw_key
from festinger.store.paths import HomeLayout, make_folder
from festinger.store.repositories.auth import AccessRole, ApiKey, load_api_keys

KEY = "hooks"
CONNECTION = "connection.json"


class ToolChoice(StrEnum):
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    CURSOR = "cursor"
    OPENCODE = "opencode"
    ALL = "all"
    STATUS = "status"


Project = Annotated[
    Path | None, typer.Option("--project", resolve_path=True, help="Only in this project, not for all of yours.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]


def register(app: typer.Typer) -> None:
    command(app, "connect")(connect)
    command(app, "disconnect")(disconnect)


async def connect(
    context: CommandContext,
    tool: Annotated[ToolChoice, typer.Argument(help="A tool, `all` that are installed, or `status`.")],
    project: Project = None,
    dry_run: DryRun = False,
) -> int:
    """Connect a coding agent: hooks, the MCP server and a skill.

    `status` counts what the hooks did.

    Example: festinger connect claude-code
    """
    if tool is ToolChoice.STATUS:
        rows = summarize_hooks(HomeLayout(home=home_of(context.settings())).hooks)
        cells = [[len(value) if name == "files" else value for name, value in row.items()] for row in rows]
        context.show(rows, table=context.table(tuple(rows[0]), cells))
        return 0
    return await _change(context, tool, project, connect=True, dry_run=dry_run)


async def disconnect(
    context: CommandContext,
    tool: Annotated[ToolChoice, typer.Argument(help="A tool, or `all`.")],
    project: Project = None,
    dry_run: DryRun = False,
) -> int:
    """Take Festinger out of a coding agent's configuration.

    A file that nobody changed since is as it was before.

    Example: festinger disconnect claude-code
    """
    if tool is ToolChoice.STATUS:
        raise BadInput("`status` cannot be disconnected.", hint="Name a tool, or `all`.")
    return await _change(context, tool, project, connect=False, dry_run=dry_run)


async def _change(
    context: CommandContext, choice: ToolChoice, project: Path | None, *, connect: bool, dry_run: bool
) -> int:
    """Change the files of each tool; with `all`, a tool that cannot be changed does not keep others from it."""
    folder = HomeLayout(home=home_of(context.settings())).hooks
    commands = InstalledCommands(festinger=_find_command(NAME), hook=_find_command(HOOK), folder=folder)
    planned, code = {}, 0
    for tool in TOOLS if choice is ToolChoice.ALL else (choice.value,):
        place = ToolConfigLocation(tool=tool, person=Path.home(), project=project, environment=os.environ)
        if choice is ToolChoice.ALL and not project and not place.folder.is_dir():
            context.say(f"{tool}: not installed here.")
            continue
        try:
            planned[tool] = plan_changes(build_edits(place, commands), folder, connect=connect)
        except BadInput as error:
            if choice is not ToolChoice.ALL:
                raise
            context.tell(error)
            code = error.exit
    if planned and connect and not dry_run:
        await _ensure_hook_key(context, folder)
    for tool, changes in planned.items():
        if dry_run:
            context.say("".join(map(_format_difference, changes)))
        else:
            write_config_changes(tool, changes, folder, connect=connect)
        if connect and tool in REMARKS:
            context.say(f"{tool}: {REMARKS[tool]}")
    if not connect and not dry_run and not any(row["files"] for row in summarize_hooks(folder)):
        await _revoke_hook_keys(context, folder)
    rows = [(tool, each.action, str(each.path)) for tool, changes in planned.items() for each in changes]
    names = ("tool", "change", "file")
    context.show([dict(zip(names, row, strict=True)) for row in rows], table=context.table(names, rows))
    return code


async def _ensure_hook_key(context: CommandContext, folder: Path) -> None:
    """Write the address and the key for the hooks, with a new key unless the one there is still valid."""
    path, server = folder / CONNECTION, context.settings().now.server
    known = json.loads(path.read_bytes()) if path.exists() else {}
    async with context.app() as app:
        live = await _list_hook_keys(app)
        if known.get("id") not in {str(key.id) for key in live}:
            for key in live:
                await withdraw_key(app, key, by="cli")
            made, secret = await issue_key(app, KEY, role=AccessRole.HOOK, space=MAIN_SPACE, agent=None, by="cli")
            known = {"id": str(made.id), "key": secret}
    make_folder(folder)
    write_private_file(path, json.dumps({**known, "url": local_base_url(server.host, server.port)}))


async def _revoke_hook_keys(context: CommandContext, folder: Path) -> None:
    """No tool is connected any more."""
    if (folder / CONNECTION).exists():
        async with context.app() as app:
            for key in await _list_hook_keys(app):
                await withdraw_key(app, key, by="cli")
        (folder / CONNECTION).unlink()


async def _list_hook_keys(app: App) -> list[ApiKey]:
    found = await load_api_keys(app.store, space=MAIN_SPACE)
    return [key for key in found if key.role is AccessRole.HOOK and key.name == KEY and key.revoked_at is None]


def _find_command(name: str) -> Path:
    """The command of this installation, not of another one on the path."""
    found = Path(sys.executable).with_name(name)
    if not found.exists():
        raise BadInput(f"`{found}` is missing.", hint="Install Festinger again, for example with `pipx install`.")
    return found


def _format_difference(change: FileChange) -> str:
    before, after = ((text or "").splitlines(keepends=True) for text in (change.current, change.after))
    return "".join(unified_diff(before, after, fromfile=str(change.path), tofile=str(change.path)))
