"""`festinger secrets`: the master key."""

import typer

from festinger.cli.command import command
from festinger.cli.context import CommandContext
from festinger.ids import MAIN_SPACE
from festinger.store.secrets import rotate_master_key


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="The master key that seals stored secrets.", no_args_is_help=True)
    app.add_typer(group, name="secrets")
    command(group, "rotate")(rotate_key)


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
