"""`festinger settings`: see, change and reset settings."""

from typing import Annotated, Any

import typer

from festinger.cli.command import command, register_list_command
from festinger.cli.context import CommandContext
from festinger.ids import EVERY_SPACE
from festinger.runtime.settings import change_setting, list_pinning_runs, reset_setting
from festinger.settings.sources import Setting

Key = Annotated[str, typer.Argument(help="Name of the setting; a bare name where it is unique.")]
ForSpace = Annotated[bool, typer.Option("--only-this-space", help="For the space of `--space` alone.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="See, change and reset settings.\n\nExample: festinger settings")
    app.add_typer(group, name="settings")
    register_list_command(group)(list_settings)
    command(group, "get")(show_setting)
    command(group, "set")(set_setting)
    command(group, "reset")(unset_setting)


async def list_settings(context: CommandContext) -> None:
    """Every setting with its value, source and meaning.

    Example: festinger settings list
    """
    async with context.app() as app:
        found = app.settings.loaded(context.resolve_space_option(app)).settings()
        problem = app.settings.problem
    table = context.table(("key", "value", "source", "meaning"), (_row(setting) for setting in found))
    context.show([_record(setting) for setting in found], table=table)
    if problem:
        context.say(f"Not in force: {problem.message}")


async def show_setting(context: CommandContext, key: Key) -> None:
    """One setting.

    Example: festinger settings get proxy.upstream
    """
    async with context.app() as app:
        setting = app.settings.loaded(context.resolve_space_option(app)).setting(key)
    context.show(_record(setting), text=setting.value or "(empty)")


async def set_setting(
    context: CommandContext, key: Key, value: Annotated[str, typer.Argument(help="New value.")], only: ForSpace = False
) -> None:
    """Change a setting, in force at once in every process.

    Example: festinger settings set proxy.upstream http://127.0.0.1:8080
    """
    async with context.app() as app:
        before, after = await change_setting(
            app, key, value, by="cli", space=context.resolve_space_option(app) if only else EVERY_SPACE
        )
        pinning = await list_pinning_runs(app, after)
    context.show(
        {"before": _record(before), "after": _record(after)},
        text=f"{after.key.name}: {before.value or '(empty)'} -> {after.value or '(empty)'}{_restart_note(after)}",
    )
    for run in pinning:
        context.say(
            f"Not in force in `festinger {run.door}` (process {run.pid} on {run.host}): its environment or command "
            f"line pins `{after.key.name}`."
        )


async def unset_setting(context: CommandContext, key: Key, only: ForSpace = False) -> None:
    """Take a changed setting back to what file, environment or default say.

    Example: festinger settings reset proxy.upstream
    """
    async with context.app() as app:
        after = await reset_setting(
            app, key, by="cli", space=context.resolve_space_option(app) if only else EVERY_SPACE
        )
    context.show(_record(after), text=f"{after.key.name}: {after.value or '(empty)'} ({after.source})")


def _restart_note(setting: Setting) -> str:
    return " (in force after a restart)" if setting.key.restart else ""


def _row(setting: Setting) -> tuple[str, str, str, str]:
    return setting.key.name, setting.value, str(setting.source), setting.key.meaning


def _record(setting: Setting) -> dict[str, Any]:
    return {
        "key": setting.key.name,
        "value": setting.value,
        "default": setting.default,
        "source": str(setting.source),
        "pinned": setting.pinned,
        "restart": setting.key.restart,
        "meaning": setting.key.meaning,
    }
