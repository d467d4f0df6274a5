"""`festinger outcomes`: what became of recalled memories."""

from typing import Annotated

import typer

from festinger.cli.command import command, register_list_command
from festinger.cli.context import CommandContext
from festinger.ids import read_id
from festinger.outcomes.model import ReportSource
from festinger.outcomes.replay import compare_memories_with_logs
from festinger.outcomes.stats import list_recorded_outcomes, outcome_stats, top_memories

MOST_LISTED = 1000
WRONG_EXIT = 1
"""The exit code of `compare_memories_with_logs` when the logs and the store differ."""


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="What became of memories that were brought to mind.\n\nExample: festinger outcomes")
    app.add_typer(group, name="outcomes")
    register_list_command(group)(list_outcomes)
    command(group, "metrics")(show_metrics)
    command(group, "verify")(verify_memories_against_logs)


async def list_outcomes(
    context: CommandContext,
    memory: Annotated[str | None, typer.Option("--memory", help="Only of this memory.")] = None,
    how: Annotated[ReportSource | None, typer.Option("--how", help="Only those known in this way.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=MOST_LISTED, help="At most so many.")] = 50,
) -> None:
    """What was done with memories, newest first.

    Example: festinger outcomes --how explicit
    """
    async with context.app() as app:
        found = await list_recorded_outcomes(
            app.outcomes.deps,
            context.resolve_space_option(app),
            memory=read_id(memory) if memory else None,
            how=how,
            limit=limit,
        )
    rows = (
        (each["at"], each["memory"], each["outcome"], each["how"], "{:.3f} → {:.3f}".format(*each["confidence"]))
        for each in found
    )
    context.show(
        found, table=context.table(("at", "memory", "outcome", "how", "confidence"), rows), text="No outcomes."
    )


async def show_metrics(context: CommandContext) -> None:
    """How much of what is brought to mind comes to an outcome.

    Example: festinger outcomes metrics
    """
    async with context.app() as app:
        space = context.resolve_space_option(app)
        found = await outcome_stats(app.outcomes.deps, space)
        found["lists"] = await top_memories(app.outcomes.deps, space)
    rows = (
        (span, found[span]["resolved"], _percent(found[span]["rate"]), sum(found[span]["outcomes"].values()))
        for span in ("24h", "7d", "all")
    )
    context.show(found, table=context.table(("span", "resolved", "rate", "outcomes"), rows))


async def verify_memories_against_logs(context: CommandContext) -> int:
    """Compute every memory anew from its logs and compare. Exit 1 if any differs.

    Example: festinger outcomes verify
    """
    async with context.app() as app:
        seen, wrong = await compare_memories_with_logs(app.outcomes.deps, context.resolve_space_option(app))
    rows = ((each.memory, each.column, each.stored, each.replayed) for each in wrong)
    context.show(
        {"memories": seen, "wrong": [each.as_json() for each in wrong]},
        table=context.table(("memory", "column", "stored", "replayed"), rows) if wrong else None,
        text=f"{seen} memories are as their logs say.",
    )
    return WRONG_EXIT if wrong else 0


def _percent(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.0%}"
