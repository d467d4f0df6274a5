"""`festinger models`: language models with their keys, and the bundled models for reading by meaning."""

from dataclasses import asdict
from typing import Annotated

import typer
from pydantic import SecretStr

from festinger.cli.command import command, register_list_command
from festinger.cli.context import CommandContext
from festinger.embedding.weights import install_missing_bundles
from festinger.ids import read_id
from festinger.services.models import drop_model, ping_model, register_model
from festinger.store.repositories.models import load_stored_models

ModelId = Annotated[str, typer.Argument(help="Id of the model.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Language models with their keys: add, list, try out, remove.\n\nExample: festinger models"
    )
    app.add_typer(group, name="models")
    register_list_command(group)(list_models)
    command(group, "add")(add)
    command(group, "test")(test)
    command(group, "remove")(remove)
    command(group, "fetch")(fetch)


async def add(
    context: CommandContext,
    provider: Annotated[str, typer.Argument(help="claude, openai, ollama or gemini.")],
    model: Annotated[str, typer.Argument(help="The provider's name of the model.")],
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Where it answers, if not at the usual place.")
    ] = None,
    key: Annotated[bool, typer.Option("--key", help="Ask for an API key, or read it from standard input.")] = False,
) -> None:
    """Keep a model. Name its id in a setting such as `llm.judge` to use it.

    Example: festinger models add openai gpt-5 --key < key.txt
    """
    secret = SecretStr(context.secret("API key")) if key else None
    async with context.app() as app:
        space = context.resolve_space_option(app)
        made = await register_model(app, model, provider=provider, space=space, base_url=base_url, api_key=secret)
    context.show({"id": str(made)}, text=str(made))
    context.say(f"Use it with `festinger settings set llm.judge {made}`.")


async def list_models(context: CommandContext) -> None:
    """Every model of the space; of a key only whether it is set.

    Example: festinger models list
    """
    async with context.app() as app:
        found = await load_stored_models(app.store, space=context.resolve_space_option(app), vault=app.vault)
    rows = ((model.id, model.provider, model.model_name, model.base_url, model.api_key) for model in found)
    table = context.table(("id", "provider", "model", "address", "key"), rows)
    context.show(
        [asdict(model) for model in found],
        table=table,
        text="No models; everything works without one. `festinger models add PROVIDER MODEL` keeps one.",
    )


async def test(context: CommandContext, model: ModelId) -> int:
    """Make one tiny call to a model.

    Example: festinger models test 018f3a5e-…
    """
    async with context.app() as app:
        seen = await ping_model(app, read_id(model), space=context.resolve_space_option(app))
    error = seen.error.message if seen.error else None
    said = f"{seen.model} does not answer: {error}" if error else f"{seen.model} answers in {seen.latency_ms} ms."
    context.show({"model": seen.model, "latency_ms": seen.latency_ms, "error": error}, text=said)
    return seen.error.exit if seen.error else 0


async def remove(context: CommandContext, model: ModelId) -> None:
    """Take a model away, unless a purpose uses it.

    Example: festinger models remove 018f3a5e-…
    """
    async with context.app() as app:
        await drop_model(app, read_id(model), space=context.resolve_space_option(app))
    context.show({"removed": model}, text="Removed.")


async def fetch(context: CommandContext) -> None:
    """Install the bundled models, if they are missing.

    They find memories by meaning; pip, pipx and uv install Festinger without them.

    Example: festinger models fetch
    """
    fetched = await install_missing_bundles(offline=context.settings().now.offline, say=context.say)
    there = "The bundled models are installed." if fetched else "The bundled models were installed before."
    context.show({"fetched": fetched}, text=there)
    if fetched:
        context.say("Start `festinger serve` (again): it embeds what was learned without them.")
