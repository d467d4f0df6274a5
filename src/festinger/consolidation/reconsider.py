"""Reconsiders derived memories that lost ground: a source was replaced, edited, put away or is disputed."""

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from pydantic import Field

from festinger.consolidation.context import NightContext, NightUnit
from festinger.consolidation.night import NightItemKind, PlannedChange, Q, unit_key
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
    """Yield a unit per derived memory that lost ground since it was last looked at."""
    for memory in await context.load("stale_derived", limit=MOST_STALE):
        rows = await context.deps.store.all(Q["ground_of"], space=context.space, memory=memory.id)
        states = sorted(f"{row['id']}:{row['status']}:{row['is_disputed']}" for row in rows)
        key = unit_key("stale", [memory, *map(memory_from_row, rows)], *states)
        yield NightUnit(key=key, plan=partial(_plan_reconsideration, context, memory, rows))


async def _plan_reconsideration(
    context: NightContext, memory: Memory, rows: Sequence[Mapping[str, Any]]
) -> Sequence[PlannedChange]:
    present = [memory_from_row(row) for row in rows if row["status"] == Status.ACTIVE]
    is_disputed = any(row["is_disputed"] for row in rows)
    if len(present) < FEWEST_CITED:
        return [_archive(memory, "too few of its sources stand")]
    if context.model is None or memory.kind is not Kind.INSIGHT:
        return [_archive(memory, "a source of it is disputed")] if is_disputed else [_relink(memory, present)]
    prompt = load_prompt("festinger.consolidation", "reconsider").message(
        statement=memory.content, notes=format_sources(present)
    )
    answer = await context.ask(prompt, ReconsiderAnswer)
    if answer.verdict == "falls":
        return [_archive(memory, answer.reasoning[:200])]
    if answer.verdict == "holds":
        return [_relink(memory, present)]
    cited = select_cited(answer.cites, present)
    if reject_text(context, answer.statement, cited):
        return [_archive(memory, "it must change, and nothing that holds takes its place")]
    return [
        PlannedChange(
            kind=NightItemKind.LEARNED,
            text=answer.statement,
            text_kind=Kind.INSIGHT.value,
            cites=tuple(str(each.id) for each in cited),
            replaces=str(memory.id),
            notes={"prompt": prompt.prompt_hash},
            reason=answer.reasoning[:200],
        )
    ]


def _archive(memory: Memory, reason: str) -> PlannedChange:
    return PlannedChange(kind=NightItemKind.ARCHIVED, memory=str(memory.id), reason=reason)


def _relink(memory: Memory, present: Sequence[Memory]) -> PlannedChange:
    """Keep a memory, on the sources that stand."""
    cites = tuple(str(each.id) for each in present)
    kind = NightItemKind.ANNOTATED
    return PlannedChange(kind=kind, memory=str(memory.id), cites=cites, reason="it still holds")
