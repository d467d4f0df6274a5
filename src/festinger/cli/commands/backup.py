"""`festinger backup` and `festinger restore`."""

from pathlib import Path
from typing import Annotated

import typer

from festinger.cli.command import command
from festinger.cli.context import Desk
from festinger.ids import MAIN_SPACE
from festinger.memory.erasure.erase import forget_again
from festinger.runtime.app import every_migration, open_database
from festinger.runtime.environment import home_of
from festinger.runtime.jobs import tell_of_backup
from festinger.store.backup.backup import backup as make_backup
from festinger.store.backup.backup import beside, counted, read
from festinger.store.backup.restore import restore as bring_back
from festinger.store.erasure import open_ledger
from festinger.store.erasure import read as read_ledger
from festinger.store.paths import Layout


def register(app: typer.Typer) -> None:
    command(app)(backup)
    command(app)(restore)


async def backup(
    desk: Desk, file: Annotated[Path, typer.Argument(help="Where to write it; must not exist.")]
) -> None:
    """Save everything to a file, while Festinger runs.

    Example: festinger backup monday.dump
    """
    # The programs of Postgres run in another folder.
    file = file.expanduser().absolute()
    async with desk.app() as app:
        desk.say("Saving …")
        manifest = await make_backup(app.url, file, clock=app.tools.clock)
        await tell_of_backup(app, file)
        key_file = app.settings.now.secrets.key_file
    desk.show(
        {"file": str(file), "bytes": manifest.bytes, "sha256": manifest.sha256, "rows": manifest.rows},
        text=f"{file}: {manifest.rows} rows, {manifest.bytes} bytes, manifest {beside(file).name}",
    )
    desk.say(f"The master key is not in it. Keep a copy of {key_file} elsewhere.")


async def restore(
    desk: Desk,
    file: Annotated[Path, typer.Argument(help="A backup; its manifest must lie beside it.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace what is there, after a backup of it.")
    ] = False,
) -> None:
    """Bring a backup back. What people had forgotten since stays forgotten.

    Example: festinger restore monday.dump --replace
    """
    file = file.expanduser().absolute()
    manifest = read(file)
    settings = desk.settings()
    home = Layout(home=home_of(settings))
    async with open_database(settings, progress=desk.say) as url:
        going = sum((await counted(url)).tables.values()) if replace else 0
        if going:
            desk.confirm("replace", f"{going} rows are replaced by the {manifest.rows} of {file}.")
        desk.say("Restoring …")
        done = await bring_back(
            file,
            url,
            replace=replace,
            migrations=every_migration(),
            forgotten=read_ledger(open_ledger(home.forgotten)),
            apply=forget_again,
            backups=home.backups,
        )
    async with desk.app() as app, app.store.transaction() as transaction:
        payload = {"file": file.name, "forgotten_again": done.forgotten_again}
        await app.outbox.emit(transaction, "restored", space=MAIN_SPACE, subject="store", payload=payload)
    if done.before:
        desk.say(f"What was there before is in {done.before}.")
    desk.show(
        {
            "file": str(file),
            "rows": manifest.rows,
            "migrated": done.migrated,
            "forgotten_again": done.forgotten_again,
            "before": str(done.before) if done.before else None,
        },
        text=f"Restored {manifest.rows} rows from {file}.",
    )
