"""Finds insights: asks a model for questions, recalls what answers them, and asks for statements with citations.

Groups of memories about one subject or tag are asked about directly. For an insight with enough sources a short
story is told. Derived memories are never shown as sources.
"""

import json
from collections.abc import AsyncIterator, Sequence
from functools import partial
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from festinger.consolidation.context import LimitReachedError, NightContext, NightUnit, UnitWaitsError
from festinger.consolidation.night import NightOp, NightStep, PlannedChange, Q, unit_key
from festinger.consolidation.sources import format_sources, load_memories, reject_text, select_cited
from festinger.embedding.profiles import Threshold
from festinger.ids import MemoryId
from festinger.llm.model import AnswerSchema
from festinger.llm.prompts import load_prompt
from festinger.memory.changes import find_memories
from festinger.memory.model import Kind, Memory, SourceTag, Status
from festinger.retrieval.query import RecallQuery
from festinger.retrieval.recall import recall

RECENT = 100
QUESTIONS = 3
HITS = 20
MOST_INSIGHTS = 5
LEAST_SURE = 0.6
MOST_GROUPS = 10
STORY_SOURCES = 3
STORY_WORDS = 60
COVERED = 0.5
"""Share of a group's members that an insight cites, from which the group is not asked about again."""
GROUP_QUESTION = "What is the one general statement that these notes support?"

BASE = (Kind.FACT, Kind.EPISODIC, Kind.PROCEDURAL, Kind.PREFERENCE, Kind.CORRECTION, Kind.REFLECTION)
"""The kinds on which derived memories rest."""
THOUGHTS = (SourceTag.INTERNAL_DMN, SourceTag.INTERNAL_GUT)


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


class NarrativeAnswer(AnswerSchema):
    story: str = Field(max_length=1000)


async def reflect_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield the units of questions, groups and stories. Without a model there are none: groups are only shown."""
    if context.model is None:
        return
    async for unit in _question_units(context):
        yield unit
    for group in await context.deps.store.all(
        Q["uncovered_groups"], space=context.space, agent=context.agent, limit=MOST_GROUPS, covered=COVERED
    ):
        members = await _load_sources(context, group["members"])
        yield NightUnit(
            key=unit_key("group", members),
            plan=partial(_plan_insights, context, GROUP_QUESTION, members, most=1),
            makes=True,
        )
    for insight in await load_memories(context, "insights_without_story", sources=STORY_SOURCES):
        rows = await context.deps.store.all(Q["sources_of"], space=context.space, memory=insight.id)
        sources = await _load_sources(context, [row["id"] for row in rows])
        yield NightUnit(
            key=unit_key("story", [insight, *sources]), plan=partial(_plan_story, context, insight, sources), makes=True
        )


async def _question_units(context: NightContext) -> AsyncIterator[NightUnit]:
    recent = await load_memories(context, "recent", kinds=list(BASE), thoughts=list(THOUGHTS), limit=RECENT)
    if len(recent) < STORY_SOURCES:
        return
    key = unit_key("questions", recent)
    before = _count_unfinished(context)
    for question in await _ask_questions(context, key, recent):
        hits = await _recall_sources(context, question)
        if len(hits) >= STORY_SOURCES:
            plan = partial(_plan_insights, context, question, hits, most=MOST_INSIGHTS)
            yield NightUnit(key=unit_key("insight", hits), plan=plan, makes=True)
    if _count_unfinished(context) == before and not context.night.dry_run:
        async with context.deps.store.transaction() as transaction:
            await context.finish_unit(transaction, NightStep.REFLECT.value, key)


def _count_unfinished(context: NightContext) -> int:
    return sum(context.counts[name] for name in ("left_over", "waiting", "failed"))


async def _ask_questions(context: NightContext, key: str, recent: Sequence[Memory]) -> list[str]:
    """Return the questions to answer; a killed night goes on with those that it asked for."""
    row = await context.deps.store.maybe(Q["find_unit"], space=context.space, key=key)
    if row is not None:
        return [] if row["is_done"] else list(row["plan"])
    prompt = load_prompt("festinger.consolidation", "questions").message(
        notes=format_sources(recent), most=str(QUESTIONS)
    )
    try:
        questions = (await context.ask(prompt, QuestionsAnswer)).questions[:QUESTIONS]
    except (LimitReachedError, UnitWaitsError):
        context.counts["waiting"] += 1
        return []
    if not context.night.dry_run:
        await context.save_plan(NightStep.REFLECT.value, key, questions)
    return questions


async def _recall_sources(context: NightContext, question: str) -> list[Memory]:
    """Recall what may answer a question; none if recall abstains."""
    if not question.strip():
        return []
    query = RecallQuery(cue=question[:500], limit=HITS, kinds=tuple(kind.value for kind in BASE))
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
    prompt = load_prompt("festinger.consolidation", "insights").message(
        question=json.dumps(question), notes=format_sources(shown), most=str(most)
    )
    answer = await context.ask(prompt, InsightsAnswer)
    planned = []
    for draft in answer.insights[:most]:
        cited, text = select_cited(draft.cites, shown), " ".join(draft.statement.split())
        if draft.confidence is not None and draft.confidence < LEAST_SURE:
            context.counts["unsure"] += 1
        elif text and not reject_text(context, text, cited):
            planned.append(
                PlannedChange(
                    op=NightOp.LEARN,
                    text=text,
                    kind=Kind.INSIGHT,
                    cites=tuple(str(each.id) for each in cited),
                    same_as=await _find_same(context, text),
                    notes={"prompt": prompt.prompt_hash},
                    reason=draft.reasoning[:200],
                )
            )
    return planned


async def _find_same(context: NightContext, text: str) -> str | None:
    """Find the insight that says this already, by the similarity of their words."""
    embedder = context.deps.retrieval.embedder()
    bar = embedder.profile.threshold(Threshold.CONFIRMING) if embedder else None
    if bar is None:
        return None
    query = RecallQuery(cue=text, limit=3, kinds=(Kind.INSIGHT.value,), ungated=True)
    found = await recall(context.deps.retrieval, context.scope, query, counts=False)
    return next((str(item.id) for item in found.items if item.cosine is not None and item.cosine >= bar), None)


async def _plan_story(context: NightContext, insight: Memory, sources: Sequence[Memory]) -> list[PlannedChange]:
    prompt = load_prompt("festinger.consolidation", "story").message(
        insight=insight.content, notes=format_sources(sources), most=str(STORY_WORDS)
    )
    story = " ".join((await context.ask(prompt, NarrativeAnswer)).story.split())
    if len(story.split()) > STORY_WORDS:
        context.counts["too_long"] += 1
        return []
    if not story or reject_text(context, story, sources):
        return []
    return [
        PlannedChange(
            op=NightOp.LEARN,
            text=story,
            kind=Kind.NARRATIVE,
            cites=tuple(str(each.id) for each in sources),
            notes={"insight": str(insight.id), "prompt": prompt.prompt_hash},
            reason="the story of an insight",
        )
    ]
