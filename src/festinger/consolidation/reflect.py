"""Finds insights: asks a model for questions, recalls what answers them, and asks for statements with citations.

Groups of memories about one subject or tag are asked about directly. An insight on enough sources gets a narrative,
and long memories a short form. Derived memories are never shown as sources.

Reconsiders derived memories that lost ground: a source was replaced, edited, put away or is disputed.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from festinger.consolidation.context import (
    FEWEST_CITED,
    NightContext,
    NightUnit,
    UnitPostponedError,
    find_unsupported,
    format_sources,
    select_cited,
    should_reject_text,
)
from festinger.consolidation.night import (
    NightItemKind,
    NightStep,
    PlannedChange,
    Q,
    plan_change,
    plan_learned_text,
    unit_key,
)
from festinger.embedding.profiles import EmbedderProfile, ThresholdName
from festinger.ids import MemoryId
from festinger.llm.model import AnswerSchema
from festinger.llm.prompts import load_prompt
from festinger.memory.changes import load_existing_memories
from festinger.memory.model import DERIVED, Kind, Memory, SourceTag, Status, memory_from_row
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
MOST_CONNECTIONS = 3
CONNECTION_QUESTION = "An idle thought connected these two notes. What do they show together that neither says alone?"
GROUP_QUESTION = "What is the one general statement that these notes support?"
FEWEST_SOURCES = 3
LONG = 280
"""Characters from which a memory is longer than a note."""
SHORT_WORDS = 20
MOST_SHORTENED = 20
NARRATIVE_WORDS, MOST_NARRATIVES = 60, 10

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


class NarrativeAnswer(AnswerSchema):
    narrative: str = Field(max_length=1000)


class ShortFormAnswer(AnswerSchema):
    short: str = Field(max_length=500)


async def reflection_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield the units of questions, groups and narratives. Without a model there are none: groups are only shown."""
    if context.model is None:
        return
    async for unit in _question_units(context):
        yield unit
    asked: list[str] = []
    # One at a time: an insight about one group may cover another.
    while len(asked) < MOST_GROUPS and (groups := await context.rows("groups", covered=COVERED, asked=asked, limit=1)):
        asked.append(groups[0]["key"])
        members = await _load_sources(context, groups[0]["members"])
        plan = partial(_plan_insights, context, GROUP_QUESTION, members, most=1)
        yield NightUnit(key=asked[-1], plan=plan, makes=True)
    for row in await context.rows("connections", limit=MOST_CONNECTIONS):
        pair = await _load_sources(context, row["members"])
        if len(pair) == len(row["members"]):
            plan = partial(_plan_insights, context, CONNECTION_QUESTION, pair, most=1)
            yield NightUnit(key=row["key"], plan=plan, makes=True)
    async for unit in obsolete_derived_units(context):
        yield unit
    for row in await context.rows("untold_insights", fewest=FEWEST_SOURCES, limit=MOST_NARRATIVES):
        insight, sources = memory_from_row(row), await _load_sources(context, row["sources"])
        plan = partial(_plan_narrative, context, insight, sources, told=str(row["told"] or ""))
        yield NightUnit(key=row["key"], plan=plan, makes=True)


async def _question_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield a unit per question. The questions are done once all their units are, so that none is lost."""
    recent = await context.load("recent", kinds=list(BASE), thoughts=list(THOUGHTS), limit=RECENT)
    if len(recent) < FEWEST_SOURCES:
        return
    key, before = unit_key("questions", recent), context.unfinished
    for question, ids in await _ask_questions(context, key, recent):
        hits = await _load_sources(context, [UUID(each) for each in ids])
        if len(hits) >= FEWEST_SOURCES:
            plan = partial(_plan_insights, context, question, hits, most=MOST_INSIGHTS)
            yield NightUnit(key=unit_key("insight", hits, question), plan=plan, makes=True)
    if context.unfinished == before and not context.night.dry_run:
        async with context.deps.store.transaction() as transaction:
            await context.write_unit(transaction, NightStep.REFLECT.value, key)


async def _ask_questions(context: NightContext, key: str, recent: Sequence[Memory]) -> list[tuple[str, list[str]]]:
    """Return the questions to answer and what they recall; a killed night goes on with those that it asked for."""
    row = await context.deps.store.maybe(Q["find_unit"], space=context.space, key=key)
    if row is not None:
        return [] if row["is_done"] else list(row["plan"])
    prompt = load_prompt(PACKAGE, "questions").message(notes=format_sources(recent), most=str(QUESTIONS))
    try:
        asked = (await context.ask(prompt, QuestionsAnswer)).questions[:QUESTIONS]
    except UnitPostponedError:
        context.counts["left_over"] += 1
        return []
    found = [await recall_sources(context, each, limit=HITS) for each in asked]
    questions = [(each, [str(hit.id) for hit in hits]) for each, hits in zip(asked, found, strict=True)]
    if not context.night.dry_run:
        async with context.deps.store.transaction() as transaction:
            await context.write_unit(transaction, NightStep.REFLECT.value, key, questions)
    return questions


async def recall_sources(context: NightContext, cue: str, **more: Any) -> list[Memory]:
    """Recall what may answer a question, or what is near to a statement; nothing if recall abstains."""
    if not cue.strip():
        return []
    query = RecallQuery(cue=cue[:500], kinds=BASE, **more)
    found = await recall(context.deps.retrieval, context.scope, query, counts=False)
    return await _load_sources(context, [item.id for item in found.items])


async def _load_sources(context: NightContext, ids: Sequence[UUID]) -> list[Memory]:
    """Load the memories that may be sources, in this order."""
    async with context.deps.store.transaction() as transaction:
        found = await load_existing_memories(transaction, context.space, ids)
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
        elif await context.rows("taken_back", text=text, cites=[each.id for each in cited]):
            context.counts["taken_back"] += 1
        elif not should_reject_text(context, text, cited):
            same = await _find_same_insight(context, text, cited)
            notes = {"prompt": prompt.prompt_hash}
            planned.append(
                plan_learned_text(Kind.INSIGHT, text, cited, memory=same, notes=notes, reason=draft.reasoning[:200])
            )
    return planned


async def _find_same_insight(context: NightContext, text: str, cited: Sequence[Memory]) -> str:
    """Find the insight that says this already; empty if there is none.

    It is so near in meaning, or near enough to compare and rests on the same sources: a model words one thing in
    many ways.
    """
    embedder = context.deps.retrieval.embedder()
    profile = embedder.profile if embedder else EmbedderProfile(name="")
    bar, near = profile.threshold(ThresholdName.CONFIRMING), profile.threshold(ThresholdName.CHECK)
    ids = [each.id for each in cited]
    alike = {row["id"] for row in await context.rows("insights_on", cites=ids)}
    query = RecallQuery(cue=text, limit=HITS, kinds=(Kind.INSIGHT.value,), ungated=True)
    found = await recall(context.deps.retrieval, context.scope, query, counts=False)
    for item in found.items:
        least = near if item.id in alike else bar
        if least is not None and item.cosine is not None and item.cosine >= least:
            return str(item.id)
    return ""


async def _plan_narrative(
    context: NightContext, insight: Memory, sources: Sequence[Memory], *, told: str
) -> list[PlannedChange]:
    """Tell how the sources of an insight led to one another, in place of what was told before."""
    prompt = load_prompt(PACKAGE, "narrative").message(
        statement=insight.content, notes=format_sources(sources), most=str(NARRATIVE_WORDS)
    )
    words = (await context.ask(prompt, NarrativeAnswer)).narrative.split()
    text = " ".join(words) if len(words) <= NARRATIVE_WORDS else ""
    if should_reject_text(context, text, sources):
        return []
    notes, reason = {"prompt": prompt.prompt_hash}, "the story of an insight"
    return [
        plan_learned_text(
            Kind.NARRATIVE, text, sources, about=str(insight.id), replaces=told, notes=notes, reason=reason
        )
    ]


async def short_form_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield a unit per long memory without a short form."""
    if context.model is not None:
        for row in await context.rows("without_short_form", longer=LONG, limit=MOST_SHORTENED):
            yield NightUnit(key=row["key"], plan=partial(_plan_short_form, context, memory_from_row(row)))


async def _plan_short_form(context: NightContext, memory: Memory) -> list[PlannedChange]:
    prompt = load_prompt(PACKAGE, "shorten").message(note=memory.content, most=str(SHORT_WORDS))
    short = " ".join((await context.ask(prompt, ShortFormAnswer)).short.split())
    if not 0 < len(short.split()) <= SHORT_WORDS or find_unsupported(short, [memory.content]) is not None:
        context.counts["unsupported"] += 1
        return []
    return [plan_change(NightItemKind.ANNOTATED, memory, "its short form", notes={"compressed": short})]


MOST_STALE = 50


class ReconsiderAnswer(AnswerSchema):
    verdict: Literal["holds", "change", "falls"]
    statement: str = Field(default="", max_length=500)
    cites: list[int] = Field(default_factory=list, max_length=50)


async def reconsideration_units(context: NightContext) -> AsyncIterator[NightUnit]:
    """Yield a unit per derived memory that lost ground since it was last looked at, or what it is about."""
    for memory in await context.load("stale_derived", limit=MOST_STALE):
        # What it is about may have been put away just now. A night that stopped in between finds it among those below.
        if memory.id in {each.id for each in await context.load("derived_about_gone")}:
            continue
        rows = await context.deps.store.all(Q["ground_of"], space=context.space, memory=memory.id)
        states = sorted(f"{row['id']}:{row['status']}:{row['is_disputed']}" for row in rows)
        key = unit_key("stale", [memory, *map(memory_from_row, rows)], *states)
        yield NightUnit(key=key, plan=partial(_plan_reconsideration, context, memory, rows))
    async for unit in obsolete_derived_units(context):
        yield unit


async def obsolete_derived_units(context: NightContext) -> AsyncIterator[NightUnit]:
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
    if should_reject_text(context, answer.statement, cited):
        return [archive("it must change, and nothing that holds takes its place")]
    notes, reason = {"prompt": prompt.prompt_hash}, answer.reasoning[:200]
    return [
        plan_learned_text(Kind.INSIGHT, answer.statement, cited, replaces=str(memory.id), notes=notes, reason=reason)
    ]
