"""Finds behavior that goes against a value or goal, and follows tensions until they are settled.

A tension is a memory and nothing more: it moves no weight and opens no conflict.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from functools import partial

from pydantic import Field

from festinger.consolidation.context import NightContext, NightUnit
from festinger.consolidation.night import NightOp, PlannedChange, Q, unit_key
from festinger.consolidation.sources import format_sources, load_memories, select_cited
from festinger.ids import MemoryId
from festinger.judge.model import Relation
from festinger.llm.model import AnswerSchema
from festinger.llm.prompts import load_prompt
from festinger.memory.changes import find_memories
from festinger.memory.late_judgements import build_memory_pair
from festinger.memory.model import Kind, Memory, Status
from festinger.retrieval.query import RecallQuery
from festinger.retrieval.recall import recall

HEAVY = 0.7
MOST_VALUES = 20
MOST_BEHAVIORS = 10
WINDOW = timedelta(days=30)
SURE_BY_MODEL = 0.7
SURE_BY_RULES = 0.8
ACKNOWLEDGED_AT = 5
"""Causes in which a tension surfaced, from which it is acknowledged."""
LONGEST_QUOTE = 300


class TensionAnswer(AnswerSchema):
    contradicting: list[int] = Field(max_length=50)
    confidence: float = Field(ge=0, le=1)


async def tension_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield a unit per value with recent behavior, and one per open tension that changed."""
    for row in await context.deps.store.all(Q["open_tensions"], space=context.space, agent=context.agent):
        change = _follow_up(str(row["id"]), causes=row["causes"], state=row["state"], is_value_active=row["is_valued"])
        if change is not None:
            key = f"tension:{row['id']}:{change.op}:{row['causes']}"
            yield NightUnit(key=key, plan=partial(_return_plan, [change]))
    for value in await load_memories(context, "values", above=HEAVY, limit=MOST_VALUES):
        behaviors = await _recall_behaviors(context, value)
        if behaviors:
            plan = partial(_plan_tension, context, value, behaviors)
            yield NightUnit(key=unit_key(f"value:{value.id}", behaviors), plan=plan, makes=True)


async def _return_plan(plan: Sequence[PlannedChange]) -> Sequence[PlannedChange]:
    return plan


def _follow_up(tension: str, *, causes: int, state: str | None, is_value_active: bool) -> PlannedChange | None:
    if not is_value_active:
        return PlannedChange(op=NightOp.ARCHIVE, memory=tension, reason="resolved: the value does not hold anymore")
    if causes >= ACKNOWLEDGED_AT and state != "acknowledged":
        notes = {"metadata": {"state": "acknowledged", "surface_count": causes}}
        return PlannedChange(op=NightOp.ANNOTATE, memory=tension, notes=notes, reason="it surfaced often enough")
    return None


async def _recall_behaviors(context: NightContext, value: Memory) -> list[Memory]:
    since = context.deps.memory.clock() - WINDOW
    query = RecallQuery(
        cue=value.content, limit=MOST_BEHAVIORS, kinds=(Kind.EPISODIC.value,), since=since, ungated=True
    )
    found = await recall(context.deps.retrieval, context.scope, query, counts=False)
    async with context.deps.store.transaction() as transaction:
        memories = await find_memories(transaction, context.space, [item.id for item in found.items])
    ordered = [memories[MemoryId(item.id)] for item in found.items if item.id in memories]
    return [each for each in ordered if each.status is Status.ACTIVE and each.id != value.id]


async def _plan_tension(context: NightContext, value: Memory, behaviors: Sequence[Memory]) -> list[PlannedChange]:
    against = await _find_against(context, value, behaviors)
    if not against:
        return []
    row = await context.deps.store.maybe(Q["tension_of"], space=context.space, value=value.id)
    quotes = "; ".join(f'"{each.content[:LONGEST_QUOTE]}"' for each in against)
    return [
        PlannedChange(
            op=NightOp.LEARN,
            text=f'"{value.content[:LONGEST_QUOTE]}" stands against: {quotes}',
            kind=Kind.TENSION,
            cites=(str(value.id), *(str(each.id) for each in against)),
            same_as=str(row["id"]) if row else None,
            notes={"value": str(value.id)},
            reason="behavior goes against a value",
        )
    ]


async def _find_against(context: NightContext, value: Memory, behaviors: Sequence[Memory]) -> list[Memory]:
    """Return the behaviors that go against a value: by the model, else by the rules of the judge."""
    if context.model is None:
        judged = [(each, context.deps.memory.panel.by_rules(build_memory_pair(value, each))) for each in behaviors]
        return [
            each
            for each, said in judged
            if said.relation is Relation.CONTRADICTS and said.final and said.confidence >= SURE_BY_RULES
        ]
    prompt = load_prompt("festinger.consolidation", "tension").message(
        value=value.content, notes=format_sources(behaviors)
    )
    answer = await context.ask(prompt, TensionAnswer)
    return select_cited(answer.contradicting, behaviors) if answer.confidence >= SURE_BY_MODEL else []
