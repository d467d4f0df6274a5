"""How is told what was learnt: to the caller, and to whoever listens?"""

from collections.abc import Sequence
from typing import Any

from festinger.events.event import Happening
from festinger.judge.model import Judgement
from festinger.memory.comparing import Compared
from festinger.memory.decision import Action
from festinger.memory.desk import Desk
from festinger.memory.learned import Learned, Match, sentence
from festinger.memory.memory import Memory
from festinger.memory.prepared import Prepared
from festinger.memory.vectors import EMBEDDER
from festinger.store.pool import Transaction

LEARNED = "fact_learned"


def told(
    action: Action,
    prepared: Prepared,
    memory: Memory | None,
    *,
    compared: Sequence[Compared] = (),
    judgement: Judgement | None = None,
    reasons: tuple[str, ...] = (),
    superseded: int = 0,
) -> Learned:
    """What the caller learns."""
    is_new = memory is not None and memory.id == prepared.ref
    return Learned(
        memory=memory,
        action=action,
        matched=tuple(map(match_of, compared)),
        judgement=judgement,
        reasons=reasons,
        redactions=prepared.said.redactions,
        degraded=(EMBEDDER,) if is_new and prepared.vectors is None else (),
        said=sentence(action, superseded=superseded, reasons=reasons),
    )


def match_of(compared: Compared) -> Match:
    return Match(
        id=compared.memory.id,
        similarity=compared.candidate.similarity,
        relation=compared.opinion.judgement.relation,
        confidence=compared.opinion.judgement.confidence,
    )


async def tell(
    desk: Desk, transaction: Transaction, prepared: Prepared, name: str, memory: Memory, **payload: Any
) -> None:
    """Write down what happened to a memory."""
    await desk.outbox.emit(
        transaction,
        name,
        space=memory.space_id,
        subject=f"memory:{memory.id}",
        payload={"memory": str(memory.id), **payload},
        agent=prepared.place.agent,
        session=prepared.place.session or None,
    )


async def tell_learned(
    desk: Desk, transaction: Transaction, prepared: Prepared, memory: Memory, action: Action
) -> None:
    await tell(desk, transaction, prepared, LEARNED, memory, **_learned(memory, action))


def learned_happening(prepared: Prepared, memory: Memory, action: Action) -> Happening:
    """The same, to be told together with others."""
    return Happening(
        name=LEARNED,
        subject=f"memory:{memory.id}",
        payload={"memory": str(memory.id), **_learned(memory, action)},
        agent=prepared.place.agent,
        session=prepared.place.session or None,
    )


def _learned(memory: Memory, action: Action) -> dict[str, Any]:
    return {
        "kind": memory.kind.value,
        "subject": memory.subject,
        "action": action.value,
        "origin": memory.origin.value,
        "agent": memory.agent_id,
    }
