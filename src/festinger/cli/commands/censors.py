"""`festinger censor`: rules about what must not be said."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from festinger.cli.command import command, register_list_command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import format_time
from festinger.ids import AgentId, Scope, read_id
from festinger.memory.censors import edit
from festinger.memory.censors.check import preview_censors
from festinger.memory.censors.check import run_censors as check_text
from festinger.memory.censors.edit import CensorChangeResult, CensorRequest, add_censor, load_page_of_censors
from festinger.memory.censors.escalation import find_latest_trigger_id, mark_false_positive
from festinger.runtime.app import App, StartOptions

BY = "person:cli"
PROVIDERS = StartOptions(providers=True)
"""Censors by meaning need the embedder."""

Id = Annotated[str, typer.Argument(help="Id of the censor.")]
Why = Annotated[str, typer.Option("--reason", help="Why, for the records.")]
On = Annotated[
    list[str] | None, typer.Option("--on", help="`input`, `output`, `tool` or `learn`; several times for several.")
]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Rules that warn of what must not be said, or stop it.\n\nExample: festinger censor")
    register_list_command(group)(show_censors)
    for name, operation in (
        ("add", add),
        ("check", check),
        ("escalate", escalate),
        ("demote", demote),
        ("off", disable_censor),
        ("false-positive", report_false_positive),
    ):
        command(group, name)(operation)
    for name in ("censor", "censors"):
        app.add_typer(group, name=name, hidden=name == "censors")


async def show_censors(context: CommandContext) -> None:
    """Every censor, the newest first.

    Example: festinger censor list
    """
    async with context.app() as app:
        found = await load_page_of_censors(app.memory.deps, context.resolve_space_option(app), limit=200)
    rows = (
        (
            each.id,
            each.standing,
            each.activation_count,
            each.false_positive_count,
            format_time(each.last_triggered),
            each.pattern or each.meaning,
            each.reason,
        )
        for each in found
    )
    context.show(
        [each.as_json() for each in found],
        table=context.table(("id", "action", "strikes", "wrong", "last", "rule", "reason"), rows),
        text="There are no censors. `festinger censor add 'drop table' --reason '…'` makes one.",
    )


async def add(
    context: CommandContext,
    rule: Annotated[str, typer.Argument(help="A pattern, or plain prose for what is meant.")],
    meaning: Annotated[str | None, typer.Option("--meaning", help="What is meant, beside a pattern.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="What whoever sets it off is told.")] = "",
    domain: Annotated[str | None, typer.Option("--domain", help="Only in this domain.")] = None,
    on: On = None,
    action: Annotated[str, typer.Option("--action", help="`warn` or `block`.")] = "warn",
    literal: Annotated[bool, typer.Option("--literal", help="Take the rule word for word.")] = False,
    threshold: Annotated[int | None, typer.Option("--threshold", help="Strikes that should make it stop.")] = None,
) -> None:
    """Make a censor, and see which of the last turns it would have struck.

    Example: festinger censor add 'drop\\s+table' --reason 'Ask before you destroy.'
    """
    wanted = CensorRequest(
        rule=rule,
        meaning=meaning,
        reason=reason,
        domain=domain,
        on=tuple(on or ("output", "tool")),
        action=action,
        literal=literal,
        threshold=threshold,
    )
    async with context.app(start=PROVIDERS) as app:
        made = await add_censor(app.memory.watch, _place(context, app), wanted, by=BY)
    hits = f"It would have struck {made.would_have_hit} of the last {made.looked_at} turns."
    context.show(made.as_json(), text="\n".join(filter(None, (f"Censor {made.id} is there.", made.said, hits))))


async def check(
    context: CommandContext,
    text: Annotated[str, typer.Argument(help="The text.")],
    on: Annotated[str, typer.Option("--on", help="`input`, `output`, `tool` or `learn`.")] = "output",
    domain: Annotated[str | None, typer.Option("--domain", help="What it is about.")] = None,
    count: Annotated[bool, typer.Option("--count", help="Count it as a strike.")] = False,
) -> None:
    """What the censors say of a text.

    Example: festinger censor check 'I will drop table users'
    """
    async with context.app(start=PROVIDERS) as app:
        asked = check_text if count else preview_censors
        said = await asked(app.memory.watch, _place(context, app), text, on=on, domain=domain)
    rows = ((hit.censor.id, hit.action.value, hit.matched_by.value, hit.censor.guidance) for hit in said.triggered)
    context.show(
        said.as_json(), table=context.table(("censor", "action", "by", "guidance"), rows), text="No censor strikes."
    )


async def escalate(context: CommandContext, censor: Id, reason: Why = "") -> None:
    """Let a censor stop what it only warned of.

    Example: festinger censor escalate 018f3a5e-7b21-7000-8000-000000000001
    """
    await _change(context, edit.escalate, censor, reason)


async def demote(context: CommandContext, censor: Id, reason: Why = "") -> None:
    """Let a censor warn of what it stopped.

    Example: festinger censor demote 018f3a5e-7b21-7000-8000-000000000001
    """
    await _change(context, edit.demote, censor, reason)


async def disable_censor(context: CommandContext, censor: Id, reason: Why = "") -> None:
    """Let a censor rest.

    Example: festinger censor off 018f3a5e-7b21-7000-8000-000000000001
    """
    await _change(context, edit.deactivate, censor, reason)


async def report_false_positive(
    context: CommandContext,
    censor: Id,
    trigger: Annotated[str | None, typer.Option("--trigger", help="Which strike; the last if none.")] = None,
) -> None:
    """Call a strike of a censor wrong.

    Example: festinger censor false-positive 018f3a5e-7b21-7000-8000-000000000001
    """
    async with context.app() as app:
        room, space = app.memory.deps, context.resolve_space_option(app)
        strike = read_id(trigger) if trigger else await find_latest_trigger_id(room, space, read_id(censor))
        done = await mark_false_positive(room, space, strike, by=BY)
    counts = f"{done.censor.false_positive_count} of {done.censor.activation_count} strikes were wrong"
    context.show(done.as_json(), text=f"Noted: {counts}; the censor is at `{done.censor.standing}`.")


async def _change(
    context: CommandContext, operation: Callable[..., Awaitable[CensorChangeResult]], censor: str, reason: str
) -> None:
    async with context.app() as app:
        done = await operation(
            app.memory.deps, context.resolve_space_option(app), read_id(censor), by=BY, reason=reason
        )
    said = f"The censor is at `{done.censor.standing}` now."
    context.show(done.as_json(), text=said if done.change else "There was nothing to do.")


def _place(context: CommandContext, app: App) -> Scope:
    return Scope(space=context.resolve_space_option(app), agent=AgentId(context.agent))
