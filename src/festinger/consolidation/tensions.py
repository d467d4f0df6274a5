"""Finds tensions: what was done against what somebody values or aims at.

A model, or without one the rules of the judge, only says which memories go against a value. The tension quotes them,
so that nothing in it is worded anew. It is acknowledged once it was shown often enough, and ends when its value is
replaced, somebody puts it away, or what was done since agrees with the value.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from pydantic import Field

from festinger.consolidation.context import NightContext, NightUnit, format_sources, select_cited
from festinger.consolidation.night import NightItemKind, PlannedChange, plan_change, plan_learned_text, unit_key
from festinger.consolidation.reflect import PACKAGE, recall_sources
from festinger.judge.model import Relation
from festinger.llm.model import AnswerSchema
from festinger.llm.prompts import load_prompt
from festinger.memory.late_judgements import build_memory_pair
from festinger.memory.model import Kind, Memory, memory_from_row

HELD_DEAR = 0.7
"""Center of a weight above which a memory is taken for a value."""
MOST_VALUES, MOST_DEEDS = 20, 10
SPAN = timedelta(days=30)
SURE, RULES_SURE = 0.7, 0.8
SHOWN_OFTEN, AGREEING = 5, 3
QUOTED = 200


class TensionAnswer(AnswerSchema):
    contradicting: list[int] = Field(max_length=50)
    confidence: float = Field(ge=0, le=1)


async def tension_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield a unit per tension that ends or is acknowledged, and per value with deeds that no tension cites."""
    for row in await context.rows("open_tensions"):
        if (change := _plan_tension_followup(row)) is not None:
            key = f"{change.kind.value}:{change.memory}:{row['acted']}"
            yield NightUnit(key=key, known=[change])
    judge = "rules" if context.model is None else "model"
    for row in await context.rows("values", above=HELD_DEAR, judge=judge, limit=MOST_VALUES):
        value, since = memory_from_row(row), context.deps.memory.clock() - SPAN
        terms = {"limit": MOST_DEEDS, "since": since, "exclude": (value.id, *row["cited"]), "ungated": True}
        deeds = await recall_sources(context, value.content, **terms)
        # Each deed is judged once: a window that moves on is no reason to ask about the others again.
        if new := [each for each in deeds if row["judged_at"] is None or each.created_at > row["judged_at"]]:
            plan = partial(_plan_tension, context, value, new, known=str(row["tension"] or ""))
            yield NightUnit(key=unit_key(row["key"], [value, *new]), plan=plan, makes=row["tension"] is None)


def _plan_tension_followup(row: Mapping[str, Any]) -> PlannedChange | None:
    """Return what becomes of a tension by how often it was shown and what was done since."""
    tension, shown, acted = memory_from_row(row), row["shown"], row["acted"]
    if acted >= AGREEING and not row["against"]:
        return plan_change(NightItemKind.ARCHIVED, tension, f"resolved: {acted} later deeds agree with its value")
    if shown >= SHOWN_OFTEN and tension.metadata.get("status") != "acknowledged":
        notes = {"metadata": {"status": "acknowledged", "surface_count": shown}}
        return plan_change(NightItemKind.ANNOTATED, tension, f"acknowledged: {shown} causes brought it up", notes=notes)
    return None


async def _plan_tension(
    context: NightContext, value: Memory, deeds: Sequence[Memory], *, known: str
) -> list[PlannedChange]:
    against = await _find_contradicting(context, value, deeds)
    if not against:
        return []
    quotes = "; ".join(f'"{each.content[:QUOTED]}"' for each in against)
    text, reason = f'"{value.content[:QUOTED]}" is held, and yet: {quotes}', f"{len(against)} memories go against it"
    cites = (value, *against)
    return [plan_learned_text(Kind.TENSION, text, cites, memory=known, about=str(value.id), reason=reason)]


async def _find_contradicting(context: NightContext, value: Memory, deeds: Sequence[Memory]) -> list[Memory]:
    """Return the memories that go against a value, as the model says, or the rules without one."""
    if context.model is None:
        judged = [(each, context.deps.memory.panel.by_rules(build_memory_pair(value, each))) for each in deeds]
        return [each for each, by in judged if by.relation is Relation.CONTRADICTS and by.confidence >= RULES_SURE]
    prompt = load_prompt(PACKAGE, "tension").message(value=value.content, notes=format_sources(deeds))
    answer = await context.ask(prompt, TensionAnswer)
    if answer.confidence < SURE:
        context.counts["unsure"] += bool(answer.contradicting)
        return []
    return select_cited(answer.contradicting, deeds)
