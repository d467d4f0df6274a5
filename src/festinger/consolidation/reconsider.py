"""Reconsiders derived memories that lost ground: a source was replaced, edited, put away or is disputed."""

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from pydantic import Field

from festinger.consolidation.context import NightContext, NightUnit
from festinger.consolidation.night import NightItemKind, PlannedChange, Q, plan_change, plan_text, unit_key
from festinger.consolidation.sources import FEWEST_CITED, format_sources, reject_text, select_cited
from festinger.llm.model import AnswerSchema
from festinger.llm.prompts import load_prompt
from festinger.memory.model import Kind, Memory, Status, memory_from_row

MOST_STALE = 50


class ReconsiderAnswer(AnswerSchema):
    verdict: Literal["holds", "change", "falls"]
    statement: str = Field(default="", max_length=500)
    cites: list[int] = Field(default_factory=list, max_length=50)


async def reconsider_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield a unit per derived memory that lost ground since it was last looked at, or what it is about."""
    for memory in await context.load("stale_derived", limit=MOST_STALE):
        rows = await context.deps.store.all(Q["ground_of"], space=context.space, memory=memory.id)
        states = sorted(f"{row['id']}:{row['status']}:{row['is_disputed']}" for row in rows)
        key = unit_key("stale", [memory, *map(memory_from_row, rows)], *states)
        yield NightUnit(key=key, plan=partial(_plan_reconsideration, context, memory, rows))
    async for unit in ended_units(context):
        yield unit


async def ended_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield a unit per tension and narrative about what does not stand any more."""
    for memory in await context.load("derived_about_gone"):
        plan = [plan_change(NightItemKind.ARCHIVED, memory, "what it is about does not stand any more")]
        yield NightUnit(key=unit_key("ended", [memory]), known=plan)


async def _plan_reconsideration(
    context: NightContext, memory: Memory, rows: Sequence[Mapping[str, Any]]
) -> Sequence[PlannedChange]:
    present = [memory_from_row(row) for row in rows if row["status"] == Status.ACTIVE]
    # A tension tells of a contradiction, and a narrative goes with its insight.
    is_disputed = memory.kind is Kind.INSIGHT and any(row["is_disputed"] for row in rows)
    archive = partial(plan_change, NightItemKind.ARCHIVED, memory)
    cites = tuple(str(each.id) for each in present)
    keep = plan_change(NightItemKind.ANNOTATED, memory, "it still holds", cites=cites)
    if len(present) < FEWEST_CITED:
        return [archive("too few of its sources stand")]
    if context.model is None or memory.kind is not Kind.INSIGHT:
        return [archive("a source of it is disputed") if is_disputed else keep]
    prompt = load_prompt("festinger.consolidation", "reconsider").message(
        statement=memory.content, notes=format_sources(present)
    )
    answer = await context.ask(prompt, ReconsiderAnswer)
    if answer.verdict == "falls":
        return [archive(answer.reasoning[:200])]
    if answer.verdict == "holds":
        return [keep]
    cited = select_cited(answer.cites, present)
    if reject_text(context, answer.statement, cited):
        return [archive("it must change, and nothing that holds takes its place")]
    notes, reason = {"prompt": prompt.prompt_hash}, answer.reasoning[:200]
    return [plan_text(Kind.INSIGHT, answer.statement, cited, replaces=str(memory.id), notes=notes, reason=reason)]
