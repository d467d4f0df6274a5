"""`festinger migrate`, `backup`, `restore` and `secrets`: the database and what seals its secrets."""

from pathlib import Path
from typing import Annotated

import typer

from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.ids import MAIN_SPACE
from festinger.memory.erasure.erase import reapply_ledger
from festinger.runtime.app import StartOptions, all_migrations, open_database_url
from festinger.runtime.environment import home_of
from festinger.runtime.jobs import emit_backup_made
from festinger.store.backup.backup import create_backup as make_backup
from festinger.store.backup.backup import load_database_summary, manifest_path, read_manifest
from festinger.store.backup.restore import restore as bring_back
from festinger.store.erasure import open_erasure_ledger
from festinger.store.erasure import read_entries as read_ledger
from festinger.store.paths import HomeLayout
from festinger.store.secrets import rotate_master_key


def register(app: typer.Typer) -> None:
    command(app)(backup)
    command(app)(restore)
    command(app)(migrate)
    group = typer.Typer(help="The master key that seals stored secrets.", no_args_is_help=True)
    app.add_typer(group, name="secrets")
    command(group, "rotate")(rotate_key)


async def backup(
    context: CommandContext, file: Annotated[Path, typer.Argument(help="Where to write it; must not exist.")]
) -> None:
    """Save everything to a file, while Festinger runs.

    Example: festinger backup monday.dump
    """
    # The programs of Postgres run in another folder.
    file = file.expanduser().absolute()
    async with context.app() as app:
        context.say("Saving …")
        manifest = await make_backup(app.url, file, clock=app.tools.clock)
        await emit_backup_made(app, file)
        key_file = app.settings.now.secrets.key_file
    context.show(
        {"file": str(file), "bytes": manifest.bytes, "sha256": manifest.sha256, "rows": manifest.rows},
        text=f"{file}: {manifest.rows} rows, {manifest.bytes} bytes, manifest {manifest_path(file).name}",
    )
    context.say(f"The master key is not in it. Keep a copy of {key_file} elsewhere.")


async def restore(
    context: CommandContext,
    file: Annotated[Path, typer.Argument(help="A backup; its manifest must lie beside it.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace what is there, after a backup of it.")] = False,
) -> None:
    """Bring a backup back. What people had forgotten since stays forgotten.

    Example: festinger restore monday.dump --replace
    """
    file = file.expanduser().absolute()
    manifest = read_manifest(file)
    settings = context.settings()
    home = HomeLayout(home=home_of(settings))
    async with open_database_url(settings, progress=context.say) as url:
        going = sum((await load_database_summary(url)).tables.values()) if replace else 0
        if going:
            context.confirm("replace", f"{going} rows are replaced by the {manifest.rows} of {file}.")
        context.say("Restoring …")
        done = await bring_back(
            file,
            url,
            replace=replace,
            migrations=all_migrations(),
            forgotten=read_ledger(open_erasure_ledger(home.forgotten)),
            apply=reapply_ledger,
            backups=home.backups,
        )
    async with context.app() as app, app.store.transaction() as transaction:
        payload = {"file": file.name, "forgotten_again": done.forgotten_again}
        await app.outbox.emit(transaction, "restored", space=MAIN_SPACE, subject="store", payload=payload)
    if done.before:
        context.say(f"What was there before is in {done.before}.")
    context.show(
        {
            "file": str(file),
            "rows": manifest.rows,
            "migrated": done.migrated,
            "forgotten_again": done.forgotten_again,
            "before": str(done.before) if done.before else None,
        },
        text=f"Restored {manifest.rows} rows from {file}.",
    )


async def migrate(context: CommandContext) -> None:
    """Apply what the database still needs. With `store.migrate: manual` nothing else does.

    Example: festinger migrate --database postgresql://…
    """
    async with context.app(start=StartOptions(migrate=True)) as app:
        applied = list(app.applied)
    context.show({"applied": applied}, text="\n".join(applied) or "Nothing to do: the database has its present shape.")


async def rotate_key(context: CommandContext) -> None:
    """Seal every stored secret with a new master key. Running servers must be restarted.

    Example: festinger secrets rotate
    """
    async with context.app() as app:
        done = await rotate_master_key(app.store, app.master, entropy=app.tools.entropy)
        async with app.store.transaction() as transaction:
            await app.outbox.emit(transaction, "master_key_rotated", space=MAIN_SPACE, subject="master_key", payload={})
    context.show(
        {"moved": done.moved, "unreadable": done.unreadable, "file": str(done.key.file)},
        text=f"{done.moved} secrets are sealed with the new key in {done.key.file}.",
    )
    context.say("Restart every running server and worker now: they still hold the old key.")
    if done.unreadable:
        context.say(f"{done.unreadable} secrets could not be read with the old key either; set them again.")
