"""`festinger forget`, `repair`, `refusals` and `reembed`: erase, withdraw, review refusals, re-embed."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated

import typer

from festinger.cli.command import command, register_list_command
from festinger.cli.context import CommandContext
from festinger.clock import aware, iso
from festinger.ids import AgentId, Origin, SessionId, read_id
from festinger.memory.erasure.repair import RepairMode
from festinger.memory.erasure.selector import ErasureSelector

BY = "person:cli"

Ids = Annotated[list[str] | None, typer.Argument(help="Ids of memories, or their beginnings.")]
Subject = Annotated[str | None, typer.Option("--subject", help="All that is about this.")]
Query = Annotated[str | None, typer.Option("--query", help="All that has these words; only shows a plan.")]
Source = Annotated[str | None, typer.Option("--source", help="All that came from this page or file.")]
Session = Annotated[str | None, typer.Option("--session", help="All that was said in this session.")]
FromAgent = Annotated[str | None, typer.Option("--from-agent", help="All that this agent said.")]
FromOrigin = Annotated[Origin | None, typer.Option("--origin", help="All that came from such speakers.")]
Since = Annotated[str | None, typer.Option("--since", help="Not before this moment (ISO 8601, with zone).")]
Until = Annotated[str | None, typer.Option("--until", help="Before this moment.")]
Reason = Annotated[str, typer.Option("--reason", help="Why, for the records.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what it would do.")]


def register(app: typer.Typer) -> None:
    command(app, "forget")(forget)
    command(app, "repair")(repair)
    command(app, "reembed")(reembed)
    group = typer.Typer(help="What was not learnt, and why.\n\nExample: festinger refusals")
    app.add_typer(group, name="refusals")
    register_list_command(group)(show_refusals)
    command(group, "learn")(learn)


async def forget(
    context: CommandContext,
    ids: Ids = None,
    subject: Subject = None,
    query: Query = None,
    source: Source = None,
    session: Session = None,
    from_agent: FromAgent = None,
    origin: FromOrigin = None,
    since: Since = None,
    until: Until = None,
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Erase memories, what derives from them, and their words.

    Example: festinger forget --source https://example.org/page --dry-run
    """
    from festinger.memory.changes import resolve_memory_id
    from festinger.runtime.erasure import build_erasure_service

    where = _build_source_selector(source, session, from_agent, origin, since, until)
    async with context.app() as app:
        space = context.resolve_space_option(app)
        named = tuple([await resolve_memory_id(app.memory.deps, space, each) for each in ids or ()])
        selector = replace(where, ids=named, subject=subject, query=query).checked()
        forgetting = build_erasure_service(app)
        plan = await forgetting.forget(space, selector, reason=reason, by=BY, dry_run=True)
        if not (dry_run or query):
            context.confirm("forget", f"{len(plan.erased)} memories are erased and cannot be brought back.")
            plan = await forgetting.forget(space, selector, reason=reason, by=BY)
    verb = "would be" if plan.dry_run else "are"
    table = context.table(("rows", "table"), [(count, name) for name, count in plan.rows.items()])
    context.show(plan.as_json(), table=table, text="There is nothing to forget.")
    context.say(f"{len(plan.erased)} memories {verb} forgotten, {len(plan.remade)} made again from other sources.")
    if plan.predecessors:
        context.say(f"{len(plan.predecessors)} that they had replaced stay history; `restore` brings one back.")


async def repair(
    context: CommandContext,
    source: Source = None,
    session: Session = None,
    from_agent: FromAgent = None,
    origin: FromOrigin = None,
    since: Since = None,
    until: Until = None,
    mode: Annotated[RepairMode, typer.Option("--mode", help="Lock away, or forget for good.")] = RepairMode.QUARANTINE,
    dry_run: DryRun = False,
) -> None:
    """Take back all that came from one source, and what it did.

    Example: festinger repair --source https://example.org/page
    """
    from festinger.runtime.erasure import build_erasure_service

    selector = _build_source_selector(source, session, from_agent, origin, since, until)
    async with context.app() as app:
        if mode is RepairMode.FORGET and not dry_run:
            context.confirm("forget", "What came from there is erased and cannot be brought back.")
        done = await build_erasure_service(app).repair(
            context.resolve_space_option(app), selector, by=BY, mode=mode, dry_run=dry_run
        )
    rows = [(count, name) for name, count in done.counts.items()]
    context.show(done.as_json(), table=context.table(("count", "what"), rows))
    if done.change:
        context.say(f"It can be undone: change {done.change}.")


async def show_refusals(
    context: CommandContext,
    reason: Annotated[str | None, typer.Option("--reason", help="Only those of this reason.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000)] = 50,
) -> None:
    """What was not learnt, and why, newest first.

    Example: festinger refusals list --reason heartbeat
    """
    from festinger.memory.learn.refusals import load_page_of_refusals

    async with context.app() as app:
        found = await load_page_of_refusals(
            app.memory.deps, context.resolve_space_option(app), reason=reason, limit=limit
        )
    rows = [(str(each.id), iso(each.at), each.reason, each.text) for each in found]
    table = context.table(("id", "at", "reason", "text"), rows)
    context.show([each.as_json() for each in found], table=table, text="Nothing was refused.")


async def learn(context: CommandContext, refusal: Annotated[str, typer.Argument(help="Id of the refusal.")]) -> None:
    """Learn what was refused, as your own word.

    Example: festinger refusals learn 019b8e07-4600-7000-a46d-d6122265b1f5
    """
    from festinger.memory.learn.refusals import learn_anyway

    async with context.app() as app:
        learned = await learn_anyway(app.memory.deps, context.resolve_space_option(app), read_id(refusal), by=BY)
    context.show(learned.as_json(), text=learned.said)


async def reembed(
    context: CommandContext,
    drop: Annotated[str | None, typer.Option("--drop", help="Erase the vectors of this former model.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Count all words anew, and embed nothing.")] = False,
) -> None:
    """Have every memory embedded again by the present model.

    Example: festinger reembed
    """
    from festinger.memory.reembed import count_memories_by_model, drop_vectors, measure_progress
    from festinger.retrieval.index.terms import recount_words
    from festinger.runtime.app import StartOptions
    from festinger.runtime.providers import request_reembedding

    if words:
        async with context.app() as app:
            counted = await recount_words(app.recall.deps, context.resolve_space_option(app))
        context.show({"counted": counted}, text=f"The words of {counted:,} texts were counted.")
        return
    async with context.app(start=StartOptions(providers=True)) as app:
        space = context.resolve_space_option(app)
        dropped = await drop_vectors(app.memory.deps, space, drop) if drop else 0
        waiting = await request_reembedding(app, space)
        now = await measure_progress(app.memory.deps, space)
        models = await count_memories_by_model(app.memory.deps, space)
    document = {"done": now.done, "total": now.total, "asked": waiting, "dropped": dropped, "models": models}
    context.show(document, text=f"{now}.")
    if waiting:
        context.say("A job does the rest while a worker runs.")


def _build_source_selector(
    source: str | None,
    session: str | None,
    agent: str | None,
    origin: Origin | None,
    since: str | None,
    until: str | None,
) -> ErasureSelector:
    return ErasureSelector(
        source=source,
        session=SessionId(session) if session else None,
        agent=AgentId(agent) if agent else None,
        origin=origin,
        since=aware(datetime.fromisoformat(since)) if since else None,
        until=aware(datetime.fromisoformat(until)) if until else None,
    )
