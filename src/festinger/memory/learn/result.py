"""Builds the result of `learn` and the events about it.

The result holds the memory, what was done and why, as fields for programs and as one sentence for people.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from festinger.errors import FestingerError, Refused
from festinger.events.catalogue import NewEvent
from festinger.ids import MemoryId
from festinger.judge.model import CurrentSide, GuardKind, Judgement, Relation
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.candidates import CandidateComparison, PendingMemory
from festinger.memory.model import LearnAction, Memory
from festinger.memory.vectors import EMBEDDER
from festinger.records import record_json
from festinger.store.pool import Transaction

HTTP = {
    LearnAction.STORED: 201,
    LearnAction.CONFIRMED: 200,
    LearnAction.ECHOED: 200,
    LearnAction.REFINED: 201,
    LearnAction.SUPERSEDED: 201,
    LearnAction.CONFLICTED: 202,
    LearnAction.PENDING: 202,
    LearnAction.QUARANTINED: 201,
    LearnAction.REFUSED: 422,
}
"""HTTP status of each action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnMatch:
    """A memory that the statement was compared with, and the judgement."""

    id: MemoryId
    similarity: float | None
    relation: Relation
    confidence: float


async def _null_settle(_timeout: float) -> "Learned | None":
    return None


Settle = Callable[[float], Awaitable["Learned | None"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """The result of learning: the memory, the action, and why."""

    memory: Memory | None
    action: LearnAction
    matched: tuple[LearnMatch, ...] = ()
    superseded: tuple[MemoryId, ...] = ()
    judgement: Judgement | None = None
    """The deciding judgement."""
    conflict: UUID | None = None
    pending: bool = False
    reasons: tuple[str, ...] = ()
    redactions: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    said: str = ""
    change: UUID | None = None
    """The change that `undo` reverts."""
    refusal: UUID | None = None
    counted: bool = False
    """Whether it brought a new cause."""
    created: bool = field(default=False, compare=False)
    """Whether this call made a memory of its own; unknown of the stored result of an earlier one."""
    error: FestingerError | None = None
    """The error of this item of a batch."""
    _settle: Settle = field(default=_null_settle, repr=False, compare=False)

    @property
    def http(self) -> int:
        return HTTP[self.action]

    async def settled(self, timeout: float = 30.0) -> "Learned":
        """Return the result once no judgement is pending, or as it is after `timeout` seconds."""
        return await self._settle(timeout) or self

    def as_json(self) -> dict[str, Any]:
        shown = record_json(self, hide=("judgement", "counted", "created", "error", "_settle"))
        error = {"error": self.error.as_json()["error"]} if self.error else {}
        return shown | {"judgement": _judgement(self.judgement), **error}


def _judgement(judgement: Judgement | None) -> dict[str, Any] | None:
    if judgement is None:
        return None
    return {
        "relation": judgement.relation.value,
        "current": judgement.current.value,
        "confidence": judgement.confidence,
        "judge": judgement.judge,
        "reasoning": judgement.reasoning,
        "guards": [guard.value for guard in judgement.guards],
    }


def result_from_json(kept: Mapping[str, Any], memory: Memory | None) -> Learned:
    """Rebuild the result of an earlier call, with the memory as it is now."""
    stored = kept["judgement"]
    judgement = stored and Judgement(
        relation=Relation(stored["relation"]),
        current=CurrentSide(stored["current"]),
        confidence=stored["confidence"],
        judge=stored["judge"],
        reasoning=stored["reasoning"],
        guards=tuple(map(GuardKind, stored["guards"])),
    )
    matched = [
        LearnMatch(**each | {"id": UUID(each["id"]), "relation": Relation(each["relation"])})
        for each in kept["matched"]
    ]
    return Learned(
        memory=memory,
        action=LearnAction(kept["action"]),
        matched=tuple(matched),
        superseded=tuple(MemoryId(UUID(each)) for each in kept["superseded"]),
        judgement=judgement or None,
        pending=kept["pending"],
        reasons=tuple(kept["reasons"]),
        redactions=tuple(kept["redactions"]),
        degraded=tuple(kept["degraded"]),
        said=kept["said"],
        conflict=_parse_optional_uuid(kept["conflict"]),
        change=_parse_optional_uuid(kept["change"]),
        refusal=_parse_optional_uuid(kept["refusal"]),
    )


def _parse_optional_uuid(text: str | None) -> UUID | None:
    return UUID(text) if text else None


SENTENCES = {
    LearnAction.STORED: "I keep this.",
    LearnAction.CONFIRMED: "I knew that already; I note that it was said again.",
    LearnAction.ECHOED: "This repeats what I brought to mind myself, so it adds nothing.",
    LearnAction.REFINED: "I keep this beside what it adds to.",
    LearnAction.SUPERSEDED: "I keep this in place of what it replaces.",
    LearnAction.CONFLICTED: "This cannot stand beside what I hold; it waits for a decision.",
    LearnAction.PENDING: "I keep this; whether it changes something else is not decided yet.",
    LearnAction.QUARANTINED: "I locked this away until a person has looked at it.",
    LearnAction.REFUSED: "I did not keep this.",
}


def describe_action(action: LearnAction, *, superseded: int = 0, reasons: tuple[str, ...] = ()) -> str:
    """Describe the action for a person."""
    if action is LearnAction.STORED and superseded < 0:
        return "I keep this as history: what I hold is newer."
    if action is LearnAction.SUPERSEDED and superseded > 1:
        return f"I keep this in place of {superseded} others."
    if reasons and action in (LearnAction.REFUSED, LearnAction.QUARANTINED):
        return f"{SENTENCES[action][:-1]} ({', '.join(reason.replace('_', ' ') for reason in reasons)})."
    return SENTENCES[action]


def build_error_result(error: FestingerError) -> Learned:
    """Build the result of an item that could not be learned."""
    return Learned(memory=None, action=LearnAction.REFUSED, reasons=(error.name,), said=error.message, error=error)


def build_refused_error(learned: Learned) -> Refused:
    """Build the error for a refused statement."""
    return Refused(
        learned.said,
        hint="`festinger refusals` lists what was not learnt; a person may have it learnt all the same.",
        reasons=list(learned.reasons),
        refusal=str(learned.refusal) if learned.refusal else None,
    )


LEARNED = "fact_learned"


def build_result(
    action: LearnAction,
    prepared: PendingMemory,
    memory: Memory | None,
    *,
    compared: Sequence[CandidateComparison] = (),
    judgement: Judgement | None = None,
    reasons: tuple[str, ...] = (),
    superseded: int = 0,
) -> Learned:
    """Build the result for the caller."""
    is_new = memory is not None and memory.id == prepared.ref
    return Learned(
        memory=memory,
        action=action,
        matched=tuple(map(build_match, compared)),
        judgement=judgement,
        reasons=reasons,
        redactions=prepared.statement.redactions,
        degraded=(EMBEDDER,) if is_new and prepared.vectors is None else (),
        said=describe_action(action, superseded=superseded, reasons=reasons),
        created=is_new,
    )


def build_match(compared: CandidateComparison) -> LearnMatch:
    return LearnMatch(
        id=compared.memory.id,
        similarity=compared.similarity,
        relation=compared.judgement.relation,
        confidence=compared.judgement.confidence,
    )


async def emit_learn_event(
    deps: MemoryDeps, transaction: Transaction, prepared: PendingMemory, name: str, memory: Memory, **payload: Any
) -> None:
    """Emit an event about a memory."""
    await deps.outbox.emit(
        transaction,
        name,
        space=memory.space_id,
        subject=f"memory:{memory.id}",
        payload={"memory": str(memory.id), **payload},
        agent=prepared.scope.agent,
        session=prepared.scope.session or None,
    )


def build_learned_event(prepared: PendingMemory, memory: Memory, action: LearnAction) -> NewEvent:
    """Build the event about a new memory."""
    return NewEvent(
        name=LEARNED,
        subject=f"memory:{memory.id}",
        payload={
            "memory": str(memory.id),
            "kind": memory.kind.value,
            "subject": memory.subject,
            "action": action.value,
            "origin": memory.origin.value,
            "agent": memory.agent_id,
        },
        agent=prepared.scope.agent,
        session=prepared.scope.session or None,
    )
