"""`festinger censor`: rules about what must not be said."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from festinger.cli.command import command, listing
from festinger.cli.context import Desk
from festinger.cli.terminal import moment
from festinger.ids import AgentId, read_id
from festinger.memory.censors import edit
from festinger.memory.censors.check import check as check_text
from festinger.memory.censors.check import search
from festinger.memory.censors.edit import Changed, Rule, page
from festinger.memory.censors.edit import add as add_censor
from festinger.memory.censors.escalation import false_positive, latest_strike
from festinger.memory.model import Place
from festinger.runtime.app import App, Start

BY = "person:cli"
PROVIDERS = Start(providers=True)
"""Meanings are held against texts by the embedder."""

Id = Annotated[str, typer.Argument(help="Id of the censor.")]
Why = Annotated[str, typer.Option("--reason", help="Why, for the records.")]
On = Annotated[
    list[str] | None,
    typer.Option("--on", help="`input`, `output`, `tool` or `learn`; several times for several."),
]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Rules that warn of what must not be said, or stop it.\n\nExample: festinger censor"
    )
    listing(group)(list_censors)
    for name, deed in (
        ("add", add),
        ("check", check),
        ("escalate", escalate),
        ("demote", demote),
        ("off", off),
        ("false-positive", wrong),
    ):
        command(group, name)(deed)
    for name in ("censor", "censors"):
        app.add_typer(group, name=name, hidden=name == "censors")


async def list_censors(desk: Desk) -> None:
    """Every censor, the newest first.

    Example: festinger censor list
    """
    async with desk.app() as app:
        found = await page(app.memory.desk, desk.space_in(app), limit=200)
    rows = (
        (
            each.id,
            each.standing,
            each.activation_count,
            each.false_positive_count,
            moment(each.last_triggered),
            each.pattern or each.meaning,
            each.reason,
        )
        for each in found
    )
    desk.show(
        [each.as_json() for each in found],
        table=desk.table(("id", "action", "strikes", "wrong", "last", "rule", "reason"), rows),
        text="There are no censors. `festinger censor add 'drop table' --reason '…'` makes one.",
    )


async def add(
    desk: Desk,
    rule: Annotated[str, typer.Argument(help="A pattern, or plain prose for what is meant.")],
    meaning: Annotated[str | None, typer.Option("--meaning", help="What is meant, beside a pattern.")] = None,
    reason: Annotated[str, typer.Option("--reason", help="What whoever sets it off is told.")] = "",
    domain: Annotated[str | None, typer.Option("--domain", help="Only in this domain.")] = None,
    on: On = None,
    action: Annotated[str, typer.Option("--action", help="`warn` or `block`.")] = "warn",
    literal: Annotated[bool, typer.Option("--literal", help="Take the rule word for word.")] = False,
    threshold: Annotated[
        int | None, typer.Option("--threshold", help="Strikes that should make it stop.")
    ] = None,
) -> None:
    """Make a censor, and see which of the last turns it would have struck.

    Example: festinger censor add 'drop\\s+table' --reason 'Ask before you destroy.'
    """
    wanted = Rule(
        rule=rule,
        meaning=meaning,
        reason=reason,
        domain=domain,
        on=tuple(on or ("output", "tool")),
        action=action,
        literal=literal,
        threshold=threshold,
    )
    async with desk.app(start=PROVIDERS) as app:
        made = await add_censor(app.memory.watch, _place(desk, app), wanted, by=BY)
    hits = f"It would have struck {made.would_have_hit} of the last {made.looked_at} turns."
    desk.show(made.as_json(), text="\n".join(filter(None, (f"Censor {made.id} is there.", made.said, hits))))


async def check(
    desk: Desk,
    text: Annotated[str, typer.Argument(help="The text.")],
    on: Annotated[str, typer.Option("--on", help="`input`, `output`, `tool` or `learn`.")] = "output",
    domain: Annotated[str | None, typer.Option("--domain", help="What it is about.")] = None,
    count: Annotated[bool, typer.Option("--count", help="Count it as a strike.")] = False,
) -> None:
    """What the censors say of a text.

    Example: festinger censor check 'I will drop table users'
    """
    async with desk.app(start=PROVIDERS) as app:
        asked = check_text if count else search
        said = await asked(app.memory.watch, _place(desk, app), text, on=on, domain=domain)
    rows = (
        (hit.censor.id, hit.action.value, hit.matched_by.value, hit.censor.guidance) for hit in said.triggered
    )
    desk.show(
        said.as_json(),
        table=desk.table(("censor", "action", "by", "guidance"), rows),
        text="No censor strikes.",
    )


async def escalate(desk: Desk, censor: Id, reason: Why = "") -> None:
    """Let a censor stop what it only warned of.

    Example: festinger censor escalate 018f3a5e-7b21-7000-8000-000000000001
    """
    await _change(desk, edit.escalate, censor, reason)


async def demote(desk: Desk, censor: Id, reason: Why = "") -> None:
    """Let a censor warn of what it stopped.

    Example: festinger censor demote 018f3a5e-7b21-7000-8000-000000000001
    """
    await _change(desk, edit.demote, censor, reason)


async def off(desk: Desk, censor: Id, reason: Why = "") -> None:
    """Let a censor rest.

    Example: festinger censor off 018f3a5e-7b21-7000-8000-000000000001
    """
    await _change(desk, edit.deactivate, censor, reason)


async def wrong(
    desk: Desk,
    censor: Id,
    trigger: Annotated[str | None, typer.Option("--trigger", help="Which strike; the last if none.")] = None,
) -> None:
    """Call a strike of a censor wrong.

    Example: festinger censor false-positive 018f3a5e-7b21-7000-8000-000000000001
    """
    async with desk.app() as app:
        room, space = app.memory.desk, desk.space_in(app)
        strike = read_id(trigger) if trigger else await latest_strike(room, space, read_id(censor))
        done = await false_positive(room, space, strike, by=BY)
    counts = f"{done.censor.false_positive_count} of {done.censor.activation_count} strikes were wrong"
    desk.show(done.as_json(), text=f"Noted: {counts}; the censor is at `{done.censor.standing}`.")


async def _change(desk: Desk, deed: Callable[..., Awaitable[Changed]], censor: str, reason: str) -> None:
    async with desk.app() as app:
        done = await deed(app.memory.desk, desk.space_in(app), read_id(censor), by=BY, reason=reason)
    said = f"The censor is at `{done.censor.standing}` now."
    desk.show(done.as_json(), text=said if done.change else "There was nothing to do.")


def _place(desk: Desk, app: App) -> Place:
    return Place(space=desk.space_in(app), agent=AgentId(desk.agent))
