"""Asks an LLM how two statements relate.

The model sees both as quoted data, with subject, dates and which came first, and nothing else: no history, no
identity, no other memory. It gives its reasons first. An invalid answer is `unsure_judgement`, never a
default; `cascade` decides whether an answer is enough.
"""

import json
from typing import Literal

from pydantic import Field

from festinger.clock import iso
from festinger.errors import ProviderRefused
from festinger.judge.model import Current, Judgement, JudgeStatement, Relation, is_newer_statement, unsure_judgement
from festinger.judge.records import LLM
from festinger.judge.rules.guards import ReadingComparison
from festinger.llm.model import AnswerSchema, Model, PromptMessage
from festinger.llm.prompts import load_prompt
from festinger.observability.metrics import JUDGE_FAILURES

LONGEST = 8000
"""Characters of a statement shown to a model; no memory is longer."""


class RelationAnswer(AnswerSchema):
    """How the second statement relates to the first."""

    relation: Literal["same", "update", "contradicts", "refines", "unrelated", "unsure"]
    current: Literal["new", "old", "both"]
    confidence: float = Field(ge=0, le=1)


async def judge_by_llm(
    model: Model, old: JudgeStatement, new: JudgeStatement, *, compared: ReadingComparison
) -> Judgement:
    """Ask a model how two statements relate; an answer that does not fit the schema is `unsure_judgement`."""
    name = f"{LLM}{model.name}"
    try:
        answer = await model.answer([build_question(old, new)], RelationAnswer)
    except ProviderRefused as error:
        why = str(error.details.get("flaw", "refused"))
        JUDGE_FAILURES.labels(judge="llm", why=why).inc()
        return unsure_judgement(name, f"The model gave no usable answer: {why}.", guards=compared.guards)
    said = answer.value
    relation = Relation(said.relation)
    if relation is Relation.SAME and compared.fired:
        why = compared.fired[0].why
        return unsure_judgement(name, f"The model takes them for the same, but: {why}", guards=compared.guards)
    return Judgement(
        relation=relation,
        current=Current(said.current) if relation is Relation.UPDATE else Current.BOTH,
        confidence=said.confidence,
        judge=name,
        reasoning=said.reasoning,
        guards=compared.guards,
        prompt_hash=answer.prompt_hash,
        final=relation is not Relation.UNSURE,
    )


def build_question(old: JudgeStatement, new: JudgeStatement) -> PromptMessage:
    """Build the prompt for the model."""
    return load_prompt("festinger.judge", "relate").message(
        old=_quoted(old.text),
        new=_quoted(new.text),
        old_about=_about(old),
        new_about=_about(new),
        order=_order(old, new),
    )


def _quoted(text: str) -> str:
    """Quote the text as JSON, so that no quotation mark, line break or hidden character ends it."""
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]} […]"
    return json.dumps(cut, ensure_ascii=True).replace("<", "\\u003c").replace("`", "\\u0060")


def _about(statement: JudgeStatement) -> str:
    parts = [
        f"about {_quoted(statement.subject)}" if statement.subject else "",
        f"happened {iso(statement.event_time)}" if statement.event_time else "",
        f"said {iso(statement.said_at)}" if statement.said_at else "",
        f"by a {statement.origin.value}",
    ]
    return ", ".join(part for part in parts if part)


def _order(old: JudgeStatement, new: JudgeStatement) -> str:
    is_later = is_newer_statement(old, new)
    if is_later is None:
        return "It is not known which is the later one."
    return "The SECOND is the later one." if is_later else "The FIRST is the later one, although it was stored before."
