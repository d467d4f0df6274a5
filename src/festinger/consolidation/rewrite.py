"""Writes short forms of long memories, beside their words."""

from collections.abc import AsyncIterator, Sequence
from functools import partial

from pydantic import Field

from festinger.consolidation.context import NightContext, NightUnit
from festinger.consolidation.night import NightOp, PlannedChange, unit_key
from festinger.consolidation.sources import find_unsupported, load_memories
from festinger.llm.model import AnswerSchema
from festinger.llm.prompts import load_prompt
from festinger.memory.model import Memory

LONG = 280
"""Characters from which a memory is longer than a note."""
MOST_WORDS = 20
MOST_REWRITTEN = 20


class ShortFormAnswer(AnswerSchema):
    short: str = Field(max_length=500)


async def rewrite_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield a unit per long memory without a short form."""
    if context.model is None:
        return
    for memory in await load_memories(context, "without_short_form", longer=LONG, limit=MOST_REWRITTEN):
        yield NightUnit(key=unit_key("short", [memory]), plan=partial(_plan_short_form, context, memory))


async def _plan_short_form(context: NightContext, memory: Memory) -> Sequence[PlannedChange]:
    prompt = load_prompt("festinger.consolidation", "shorten").message(note=memory.content, most=str(MOST_WORDS))
    short = " ".join((await context.ask(prompt, ShortFormAnswer)).short.split())
    if not short or len(short.split()) > MOST_WORDS:
        context.counts["too_long"] += 1
        return []
    if find_unsupported(short, [memory.content]) is not None:
        context.counts["unsupported"] += 1
        return []
    notes = {"compressed": short}
    return [PlannedChange(op=NightOp.ANNOTATE, memory=str(memory.id), notes=notes, reason="its short form")]
