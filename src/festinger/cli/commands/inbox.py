"""`festinger inbox`: what waits for a person, each proposal in full, and the gate that admits them."""

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from festinger.cli.client import Document, build_api_path, open_client
from festinger.cli.command import command, register_list_command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import SHORT_ID
from festinger.errors import BadInput
from festinger.ids import read_id

MOST_LISTED = 200
OPEN = {"standing": "open"}
HELD = {"state": "waiting", "held": "true"}

Id = Annotated[str, typer.Argument(help="Id of the proposal, or its beginning.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=MOST_LISTED, help="At most so many.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="What waits for a person: proposals, pairs and tasks.\n\nExample: festinger inbox")
    app.add_typer(group, name="inbox")
    register_list_command(group, may_ask_server=True)(list_proposals)
    for name, operation in (
        ("show", show),
        ("promote", promote),
        ("propose", propose),
        ("pairs", list_pairs),
        ("held", list_or_release_held),
        ("tasks", list_tasks),
        ("undo", undo),
        ("rebuild", rebuild),
        ("reopen", reopen),
    ):
        command(group, name, may_ask_server=True)(operation)


async def list_proposals(
    context: CommandContext,
    state: Annotated[str | None, typer.Option("--state", help="Those in this state, decided or not.")] = None,
    standing: Annotated[
        str | None, typer.Option("--standing", help="`open`, `put off` or `quiet`; `open` if nothing is said.")
    ] = None,
    scope: Annotated[str | None, typer.Option("--scope", help="Of this scope alone.")] = None,
    category: Annotated[str | None, typer.Option("--category", help="Of this category alone.")] = None,
    limit: Limit = 50,
) -> None:
    """What waits for a person, here and in other rooms.

    Example: festinger inbox
    """
    given = {"state": state, "standing": standing, "scope": scope, "category": category}
    query = {name: value for name, value in given.items() if value is not None}
    if state is None and standing is None:
        query |= OPEN
    async with open_client(context) as client:
        items = (await client.ask("GET", build_api_path("proposals"), limit=str(limit), **query))["items"]
        around = await client.ask("GET", build_api_path("inbox"))
    context.show({**around, "items": items}, table=_table(context, items), text="No proposal waits for a person.")
    for line in _format_overview_lines(around):
        context.say(line)


async def show(context: CommandContext, proposal: Id) -> None:
    """One proposal in full: who saw it, what a yes would do, and what was decided.

    Example: festinger inbox show 018f3a5e-7b21
    """
    async with open_client(context) as client:
        card = await client.ask("GET", build_api_path("proposals", proposal))
    context.show(card, text="\n".join(format_card_lines(card)))


async def promote(
    context: CommandContext,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="See what would happen; change nothing.")] = False,
) -> None:
    """Run the gate now: what has recurred and lasted is put before a person.

    Example: festinger inbox promote --dry-run
    """
    async with open_client(context) as client:
        run = await client.ask("POST", build_api_path("proposals", "promote"), body={"dry_run": dry_run})
    rows = (
        (each["proposal"][:SHORT_ID], each["fate"], each["missing"], each["seen_count"], each["age_days"], each["what"])
        for each in run["readings"]
    )
    table = context.table(("id", "fate", "missing", "seen", "days", "what"), rows)
    context.show(run, table=table, text="Nothing waits at the gate.")
    for said in filter(None, (run["paused_because"], run["warning"])):
        context.say(f"paused: {said}" if said == run["paused_because"] else said)


async def propose(
    context: CommandContext,
    what: Annotated[str, typer.Argument(help="What should change, in a few words.")],
    category: Annotated[str, typer.Option("--category", help="Of which kind it is, such as `reliability`.")],
    scope: Annotated[str, typer.Option("--scope", help="A tool, a room or a subject.")],
    type_: Annotated[str, typer.Option("--type", help="What a yes would do.")] = "advice",
    why: Annotated[str, typer.Option("--why", help="Why.")] = "",
    how: Annotated[str, typer.Option("--how", help="How.")] = "",
    payload: Annotated[str | None, typer.Option("--payload", help="What the type needs, as JSON.")] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Say yes with the same call.")] = False,
) -> None:
    """Propose something yourself. It is before a person at once.

    Example: festinger inbox propose 'Cache the answers' --category performance --scope tools
    """
    draft: Document = {"what": what, "category": category, "scope": scope, "type": type_, "why": why, "how": how}
    draft |= {"payload": parse_json_object(payload or "{}"), "approve": approve}
    async with open_client(context) as client:
        done = await client.ask("POST", build_api_path("proposals"), body=draft, **client.as_agent)
    card = done["proposal"]
    context.show(done, text=f"Proposal {card['id']} is {card['state']}.")


async def list_pairs(
    context: CommandContext,
    accept: Annotated[str | None, typer.Option("--accept", help="Say that these two are one.")] = None,
    decline: Annotated[str | None, typer.Option("--decline", help="Say that they are not.")] = None,
) -> None:
    """Proposals that may be one, or that oppose each other.

    Example: festinger inbox pairs
    """
    async with open_client(context) as client:
        found = (await client.ask("GET", build_api_path("proposals", "pairs")))["items"]
        if chosen := accept or decline:
            path = build_api_path("proposals", "pairs", _resolve_listed_id(chosen, found))
            done = await client.ask("POST", path, body={"accept": bool(accept)})
            context.show(done, text=f"The pair is {done['state']}.")
            return
    rows = ((each["id"], each["relation"], each["similarity"], each["a_what"], each["b_what"]) for each in found)
    table = context.table(("id", "relation", "similarity", "one", "other"), rows)
    context.show(found, table=table, text="No two proposals look alike.")


async def list_or_release_held(
    context: CommandContext,
    release: Annotated[str | None, typer.Option("--release", help="Let this one go its way.")] = None,
    limit: Limit = 50,
) -> None:
    """What is kept from coming before a person, and why.

    Example: festinger inbox held
    """
    async with open_client(context) as client:
        if release:
            card = await client.ask("POST", build_api_path("proposals", release, "release"))
            context.show(card, text=f"Proposal {card['id']} is not held any more.")
            return
        found = (await client.ask("GET", build_api_path("proposals"), limit=str(limit), **HELD))["items"]
    rows = ((each["id"], each["held"], each["suppressed_until"], each["what"]) for each in found)
    context.show(found, table=context.table(("id", "held", "until", "what"), rows), text="Nothing is held back.")


async def list_tasks(
    context: CommandContext,
    done: Annotated[str | None, typer.Option("--done", help="Say that this one is done.")] = None,
    drop: Annotated[str | None, typer.Option("--drop", help="Say that nobody will do this one.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Closed ones too.")] = False,
) -> None:
    """What is to be done about advice that was approved.

    Example: festinger inbox tasks
    """
    async with open_client(context) as client:
        found = (await client.ask("GET", build_api_path("proposals", "tasks"), state="all" if every else "open"))[
            "items"
        ]
        if chosen := done or drop:
            path = build_api_path("proposals", "tasks", _resolve_listed_id(chosen, found))
            closed = await client.ask("POST", path, body={"state": "done" if done else "dropped"})
            context.show(closed, text=f"The task is {closed['state']}.")
            return
    rows = ((each["id"], each["state"], each["at"], each["title"]) for each in found)
    context.show(found, table=context.table(("id", "state", "since", "task"), rows), text="There is no open task.")


async def undo(context: CommandContext, proposal: Id) -> None:
    """Take back what an approval did.

    Example: festinger inbox undo 018f3a5e-7b21
    """
    await _post_proposal_action(context, proposal, "undo")


async def rebuild(context: CommandContext, proposal: Id) -> None:
    """Make a proposal anew from what stands now, and look at it again.

    Example: festinger inbox rebuild 018f3a5e-7b21
    """
    await _post_proposal_action(context, proposal, "rebuild")


async def reopen(context: CommandContext, proposal: Id) -> None:
    """Take up once more what was rejected, undone or called a duplicate.

    Example: festinger inbox reopen 018f3a5e-7b21
    """
    async with open_client(context) as client:
        done = await client.ask("POST", build_api_path("proposals", proposal, "verdict"), body={"verdict": "reopen"})
    context.show(done, text=f"Proposal {done['proposal']} is {done['state']}.")


def parse_json_object(text: str) -> Document:
    """Parse the JSON object that a person wrote."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise BadInput(f"This is no JSON: {error}.", hint='Write an object, such as `{"what": "…"}`.') from error
    if not isinstance(found, dict):
        raise BadInput("This is no JSON object.", hint='Write an object, such as `{"what": "…"}`.')
    return found


def format_card_lines(card: Document) -> Iterator[str]:
    """A card as lines for a terminal."""
    yield f"{card['what']}"
    yield f"  {card['id']}  {card['state']}, {card['priority']}, {card['category']}:{card['scope']}, {card['type']}"
    yield f"  {_format_cause_counts(card)}, by {card['producer']}; gate: {_format_gate(card)}"
    yield from (f"  ! {note}" for note in card["notes"])
    yield from (f"  {name}: {card[name]}" for name in ("why", "how") if card[name])
    effect = card["effect"]
    yield f"  a yes: {effect['says']}"
    if effect["gone"] or effect["changed"]:
        yield f"  ! moved since: {', '.join((*effect['gone'], *effect['changed']))}; `festinger inbox rebuild`"
    yield from (f"  {_format_relation(each)}: {each['what']} ({each['other']})" for each in card["pairs"])
    yield from (f"  said {each['times']}x: {each['text']}" for each in card["wordings"])
    yield from (f"  seen {_format_sighting(each)}" for each in card["seen"])
    yield from (f"  verdict {_verdict(each)}" for each in card["verdicts"])


async def _post_proposal_action(context: CommandContext, proposal: str, name: str) -> None:
    async with open_client(context) as client:
        done = await client.ask("POST", build_api_path("proposals", proposal, name))
    context.show(done, text=f"Proposal {done.get('proposal', done.get('id'))} is {done['state']}.")


def _table(context: CommandContext, items: Sequence[Document]) -> Any:
    rows = (
        (
            each["id"],
            each["priority"],
            _format_cause_counts(each),
            each["gate"]["age_days"],
            each["state"] if each["standing"] in ("open", "elsewhere") else each["standing"],
            each["type"],
            each["what"],
        )
        for each in items
    )
    return context.table(("id", "priority", "seen", "days", "state", "type", "what"), rows)


def _format_overview_lines(around: Document) -> Iterator[str]:
    """Lines after the list: what waits elsewhere, a full inbox, the rate, and who is muted."""
    yield f"waiting for a person: {around['in_all']}"
    yield from (f"  {each['kind']}: {each['count']}" for each in around["elsewhere"])
    yield from filter(None, (f"paused: {around['paused']}" if around["paused"] else around["warning"],))
    rate = around["rate"]
    share = "-" if rate["rate"] is None else f"{rate['rate']:.0%}"
    knob = f"; {rate['knob']}" if rate["knob"] else ""
    yield f"promotion rate {share} of {rate['considered']} in {rate['window_days']} days: {rate['reading']}{knob}"
    yield from (f"muted: {each['producer']} ({each['category']})" for each in around["muted"])


def _format_cause_counts(card: Document) -> str:
    """Distinct causes next to the raw count: many repeats of one cause are no pattern."""
    return f"{_number(card['seen_count'], 'cause')}, {_number(card['sightings'], 'sighting')}"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _format_gate(card: Document) -> str:
    missing = card["gate"]["missing"]
    return f"{card['gate']['ripeness']}{f' ({missing})' if missing else ''}, {card['gate']['age_days']} days old"


def _format_relation(pair: Document) -> str:
    return "may be one with" if pair["relation"] == "same" else "opposes"


def _format_sighting(each: Document) -> str:
    said = (
        f"{each['day']} by {each['agent_id']} in {each['session_id'] or '-'}, from {each['origin']}, {each['times']}x"
    )
    return said if each["counted"] else f"{said}, not counted: {each['uncounted_because']}"


def _verdict(each: Document) -> str:
    verified = "" if each["verified"] else " (not verified)"
    note = f": {each['note']}" if each["note"] else ""
    return f"{each['kind']} by {each['author']}{verified} over {each['channel']}, {each['result'] or 'waits'}{note}"


def _resolve_listed_id(text: str, found: Sequence[Document]) -> str:
    """The id of the one that matches the prefix; a whole id is taken as it is."""
    from festinger.services.reviews import pick_document_id

    try:
        return str(read_id(text))
    except BadInput:
        return str(pick_document_id(text, found))
