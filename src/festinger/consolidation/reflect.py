"""Finds insights: asks a model for questions, recalls what answers them, and asks for statements with citations.

Groups of memories about one subject or tag are asked about directly, and long memories get a short form. Derived
memories are never shown as sources.
"""

import json
from collections.abc import AsyncIterator, Sequence
from functools import partial
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from festinger.consolidation.context import NightContext, NightUnit, UnitWaitsError
from festinger.consolidation.night import NightItemKind, NightStep, PlannedChange, Q, unit_key
from festinger.consolidation.sources import find_unsupported, format_sources, reject_text, select_cited
from festinger.embedding.profiles import EmbedderProfile, Threshold
from festinger.ids import MemoryId
from festinger.llm.model import AnswerSchema
from festinger.llm.prompts import load_prompt
from festinger.memory.changes import find_memories
from festinger.memory.model import DERIVED, Kind, Memory, SourceTag, Status
from festinger.retrieval.query import RecallQuery
from festinger.retrieval.recall import recall

PACKAGE = "festinger.consolidation"
RECENT = 100
QUESTIONS = 3
HITS = 20
MOST_INSIGHTS = 5
LEAST_SURE = 0.6
MOST_GROUPS = 10
COVERED = 0.5
"""Share of a group's members that an insight cites, from which the group is not asked about again."""
GROUP_QUESTION = "What is the one general statement that these notes support?"
FEWEST_SOURCES = 3
LONG = 280
"""Characters from which a memory is longer than a note."""
SHORT_WORDS = 20
MOST_SHORTENED = 20

BASE = tuple(kind.value for kind in Kind if kind not in DERIVED)
"""The kinds on which derived memories rest."""
THOUGHTS = (SourceTag.INTERNAL_DMN.value, SourceTag.INTERNAL_GUT.value)


class QuestionsAnswer(AnswerSchema):
    questions: list[str] = Field(max_length=10)


class InsightDraft(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    reasoning: str
    statement: str = Field(max_length=500)
    cites: list[int] = Field(max_length=50)
    confidence: float | None = Field(default=None, ge=0, le=1)


class InsightsAnswer(AnswerSchema):
    insights: list[InsightDraft] = Field(max_length=20)


class ShortFormAnswer(AnswerSchema):
    short: str = Field(max_length=500)


async def reflect_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield the units of questions and groups. Without a model there are none: groups are only shown."""
    if context.model is None:
        return
    async for unit in _question_units(context):
        yield unit
    store = context.deps.store
    for group in await store.all(
        Q["groups"], limit=MOST_GROUPS, covered=COVERED, space=context.space, agent=context.agent
    ):
        members = await _load_sources(context, group["members"])
        plan = partial(_plan_insights, context, GROUP_QUESTION, members, most=1)
        yield NightUnit(key=unit_key("group", members), plan=plan, makes=True)


async def _question_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield a unit per question. The questions are done once all their units are, so that none is lost."""
    recent = await context.load("recent", kinds=list(BASE), thoughts=list(THOUGHTS), limit=RECENT)
    if len(recent) < FEWEST_SOURCES:
        return
    key, before = unit_key("questions", recent), _count_unfinished(context)
    for question in await _ask_questions(context, key, recent):
        hits = await _recall_sources(context, question)
        if len(hits) >= FEWEST_SOURCES:
            plan = partial(_plan_insights, context, question, hits, most=MOST_INSIGHTS)
            yield NightUnit(key=unit_key("insight", hits), plan=plan, makes=True)
    if _count_unfinished(context) == before and not context.night.dry_run:
        async with context.deps.store.transaction() as transaction:
            await context.write_unit(transaction, NightStep.REFLECT.value, key)


def _count_unfinished(context: NightContext) -> int:
    return context.counts["left_over"] + context.counts["failed"]


async def _ask_questions(context: NightContext, key: str, recent: Sequence[Memory]) -> list[str]:
    """Return the questions to answer; a killed night goes on with those that it asked for."""
    row = await context.deps.store.maybe(Q["find_unit"], space=context.space, key=key)
    if row is not None:
        return [] if row["is_done"] else list(row["plan"])
    prompt = load_prompt(PACKAGE, "questions").message(notes=format_sources(recent), most=str(QUESTIONS))
    try:
        questions = (await context.ask(prompt, QuestionsAnswer)).questions[:QUESTIONS]
    except UnitWaitsError:
        context.counts["left_over"] += 1
        return []
    if not context.night.dry_run:
        async with context.deps.store.transaction() as transaction:
            await context.write_unit(transaction, NightStep.REFLECT.value, key, questions)
    return questions


async def _recall_sources(context: NightContext, question: str) -> list[Memory]:
    """Recall what may answer a question; nothing if recall abstains."""
    if not question.strip():
        return []
    query = RecallQuery(cue=question[:500], limit=HITS, kinds=BASE)
    found = await recall(context.deps.retrieval, context.scope, query, counts=False)
    return await _load_sources(context, [item.id for item in found.items])


async def _load_sources(context: NightContext, ids: Sequence[UUID]) -> list[Memory]:
    """Load the memories that may be sources, in this order."""
    async with context.deps.store.transaction() as transaction:
        found = await find_memories(transaction, context.space, ids)
    memories = [found[MemoryId(each)] for each in ids if each in found]
    return [
        each
        for each in memories
        if each.status is Status.ACTIVE and each.kind in BASE and each.source_tag not in THOUGHTS
    ]


async def _plan_insights(
    context: NightContext, question: str, shown: Sequence[Memory], *, most: int
) -> list[PlannedChange]:
    prompt = load_prompt(PACKAGE, "insights").message(
        question=json.dumps(question), notes=format_sources(shown), most=str(most)
    )
    planned = []
    for draft in (await context.ask(prompt, InsightsAnswer)).insights[:most]:
        cited, text = select_cited(draft.cites, shown), " ".join(draft.statement.split())
        if draft.confidence is not None and draft.confidence < LEAST_SURE:
            context.counts["unsure"] += 1
        elif not reject_text(context, text, cited):
            cites = tuple(str(each.id) for each in cited)
            planned.append(
                PlannedChange(
                    kind=NightItemKind.LEARNED,
                    memory=await _find_same(context, text, cites),
                    text=text,
                    text_kind=Kind.INSIGHT.value,
                    cites=cites,
                    notes={"prompt": prompt.prompt_hash},
                    reason=draft.reasoning[:200],
                )
            )
    return planned


async def _find_same(context: NightContext, text: str, cites: Sequence[str]) -> str:
    """Find the insight that says this already; empty if there is none.

    It is so near in meaning, or near enough to compare and rests on the same sources: a model words one thing in
    many ways.
    """
    embedder = context.deps.retrieval.embedder()
    profile = embedder.profile if embedder else EmbedderProfile(name="")
    bar, near = profile.threshold(Threshold.CONFIRMING), profile.threshold(Threshold.CHECK)
    ids = [UUID(each) for each in cites]
    rows = await context.deps.store.all(Q["insights_on"], space=context.space, agent=context.agent, cites=ids)
    alike = {row["id"] for row in rows}
    query = RecallQuery(cue=text, limit=HITS, kinds=(Kind.INSIGHT.value,), ungated=True)
    found = await recall(context.deps.retrieval, context.scope, query, counts=False)
    for item in found.items:
        least = near if item.id in alike else bar
        if least is not None and item.cosine is not None and item.cosine >= least:
            return str(item.id)
    return ""


async def rewrite_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield a unit per long memory without a short form."""
    if context.model is not None:
        for memory in await context.load("without_short_form", longer=LONG, limit=MOST_SHORTENED):
            yield NightUnit(key=unit_key("short", [memory]), plan=partial(_plan_short_form, context, memory))


async def _plan_short_form(context: NightContext, memory: Memory) -> list[PlannedChange]:
    prompt = load_prompt(PACKAGE, "shorten").message(note=memory.content, most=str(SHORT_WORDS))
    short = " ".join((await context.ask(prompt, ShortFormAnswer)).short.split())
    if not 0 < len(short.split()) <= SHORT_WORDS or find_unsupported(short, [memory.content]) is not None:
        context.counts["unsupported"] += 1
        return []
    notes = {"compressed": short}
    kind = NightItemKind.ANNOTATED
    return [PlannedChange(kind=kind, memory=str(memory.id), notes=notes, reason="its short form")]
