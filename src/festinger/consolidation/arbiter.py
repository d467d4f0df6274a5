"""Decides conflicts by rules, or asks a model about them.

The rules are pure and tried in order; the first that fits decides. They look only at the graph and at who
said what, never at the meaning of words. The model sees both statements with speaker and time, as quoted
data, and may be undecided. Its answer is applied only if it is allowed for this collision, confident enough,
and does not let a statement by anyone else replace a person's. The world applies the verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from festinger.clock import iso
from festinger.llm.model import AnswerSchema, Model, PromptMessage
from festinger.llm.prompts import load_prompt
from festinger.world.conflicts import ConflictCase
from festinger.world.decisions import ALLOWED, ConflictDecision, ConflictJudge, ConflictVerdict
from festinger.world.model import Collision, EdgeSource

UNDECIDED = "undecided"
SURE_ENOUGH_TO_UPDATE = 0.8
SURE_ENOUGH = 0.6
UNSAID = 0.8
"""Confidence assumed when none is given."""

MEANINGS = {
    ConflictDecision.DECOMPOSE: "both are true in different senses; give each a dimension of its own.",
    ConflictDecision.UPDATE: "the incoming one takes the place of the one that stands.",
    ConflictDecision.SAME: "both parents are two names of one thing.",
    ConflictDecision.DISMISS: "the incoming one is wrong or says nothing new; what stands stays.",
    ConflictDecision.RECLASSIFY: "both are true, but one belongs to another dimension: name it as `dimension` for the incoming "
    "one, or as `existing_dimension` for the one that stands.",
}
TAKE_OUT = "the one that stands (in a circle: the older one that closes it) is taken out."


class ArbiterAnswer(AnswerSchema):
    """What the model decides."""

    decision: Literal["decompose", "update", "same", "dismiss", "reclassify", "undecided"]
    existing_dimension: str | None = Field(default=None, max_length=64)
    new_dimension: str | None = Field(default=None, max_length=64)
    dimension: str | None = Field(default=None, max_length=64)
    confidence: float | None = Field(default=None, ge=0, le=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArbiterOpinion:
    """A verdict to carry out, or the reason why there is none."""

    verdict: ConflictVerdict | None
    reason: str
    cost_usd: Decimal | None = Decimal(0)


async def ask_model(model: Model, case: ConflictCase, *, run: UUID | None) -> ArbiterOpinion:
    """Ask a model about a conflict."""
    answer = await model.answer([build_prompt(case)], ArbiterAnswer)
    verdict = ConflictVerdict(
        **answer.value.model_dump(),
        judge=ConflictJudge.MODEL,
        by=answer.model,
        model=answer.model,
        prompt_hash=answer.prompt_hash,
        run=run,
        against=case.existing.parent_id if case.existing else None,
    )
    objection = find_objection(case, verdict)
    return ArbiterOpinion(
        verdict=None if objection else verdict, reason=objection or "decided", cost_usd=answer.cost_usd
    )


def find_objection(case: ConflictCase, verdict: ConflictVerdict) -> str | None:
    """Why a verdict must not be carried out; None if it may."""
    item = case.conflict
    if verdict.decision == UNDECIDED:
        return "the model is undecided"
    if verdict.decision not in ALLOWED[Collision(item.collision_type)]:
        return f"`{verdict.decision}` is not allowed for `{item.collision_type}`"
    confidence = UNSAID if verdict.confidence is None else verdict.confidence
    needed = SURE_ENOUGH_TO_UPDATE if verdict.decision == ConflictDecision.UPDATE else SURE_ENOUGH
    if confidence < needed:
        return f"the model is not sure enough ({confidence:g} of {needed:g})"
    is_against_person = case.existing is not None and case.existing.person_stated and not item.is_persons
    if verdict.decision == ConflictDecision.UPDATE and is_against_person:
        return "a person stated what stands, and no person the other"
    return None


def build_prompt(case: ConflictCase) -> PromptMessage:
    """Build the prompt for the model."""
    item = case.conflict
    return load_prompt("festinger.consolidation", "resolve").message(
        collision=item.collision_type,
        concept=item.concept or "",
        dimension=item.dimension or "",
        existing=_statement(item.existing_parent, item.existing_is_isa, case.existing_causes),
        incoming=_statement(item.incoming_parent, item.incoming_is_isa, case.incoming_causes),
        sentences=_sentences(case.sentences),
        dimensions=", ".join(case.dimensions),
        allowed="\n".join(_allowed(Collision(item.collision_type))),
    )


def _allowed(kind: Collision) -> Sequence[str]:
    takes_out = kind in (Collision.CYCLE, Collision.RETRACTION)
    return [
        f"- {decision}: {TAKE_OUT if takes_out and decision is ConflictDecision.UPDATE else MEANINGS[decision]}"
        for decision in ALLOWED[kind]
    ]


def _statement(parent: str | None, is_isa: bool | None, causes: Sequence[Mapping[str, Any]]) -> str:
    if parent is None:
        return "none"
    said = [
        f"said by {cause['origin']} (agent {cause['agent']}, session {cause['session_id']}) on {iso(cause['at'])}"
        for cause in causes
    ]
    return "\n".join([f"{'KIND' if is_isa else 'PART'}: {parent}", *said])


def _sentences(found: Sequence[Mapping[str, Any]]) -> str:
    quoted = [f"[{each['origin']}, {each['at'].date().isoformat()}] {each['text']}" for each in found]
    return "\n".join(quoted) or "none kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The decision of a rule, and why."""

    decision: ConflictDecision
    why: str
    dimension: str | None = None
    existing_dimension: str | None = None


def apply_rules(case: ConflictCase) -> Ruling | None:
    """Return the ruling of the first rule that fits; None if none does."""
    item = case.conflict
    if not case.incoming_causes:
        return Ruling(decision=ConflictDecision.DISMISS, why="nobody is left who said it")
    if item.collision_type == Collision.CYCLE or case.existing is None:
        return None
    if item.incoming_parent_id in case.above_existing:
        return Ruling(decision=ConflictDecision.DISMISS, why="what stands already implies it")
    if case.existing.parent_id in case.above_incoming:
        return Ruling(decision=ConflictDecision.UPDATE, why="it says the same more precisely")
    if item.collision_type == Collision.MISCLASSIFICATION and case.free_dimension is not None:
        which, what = ("existing_dimension", "what stands") if case.is_existing_misplaced else ("dimension", "it")
        why = f"{what} belongs to another dimension"
        return Ruling(decision=ConflictDecision.RECLASSIFY, why=why, **{which: case.free_dimension})
    is_stated = item.is_persons and item.incoming_source == EdgeSource.GUTASK
    if item.collision_type != Collision.RETRACTION and is_stated and not case.existing.person_stated:
        return Ruling(decision=ConflictDecision.UPDATE, why="a person stated it, and nobody stated the other")
    return None
