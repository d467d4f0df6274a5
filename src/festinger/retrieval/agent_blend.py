"""Learns from outcomes which score components an agent should trust, and what helped with which question.

Each counted outcome of a memory recalled in mind mode moves the parameter of the component that led to it: up
if it was acted on, down if it misled. This happens nightly for all outcomes since the last run; it is
recorded, announced and can be undone. Outcomes also teach per question: a note that was acted on ranks higher
for that question and similar ones only. A question is kept as a hash of its words and, once an embedder is
available, as a vector. Weight and confidence are not touched here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np

from festinger.clock import iso
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import NotFound, PartlyEmbedded, ProviderDown, ProviderRefused, Refused
from festinger.events.event import Event
from festinger.ids import AgentId, SpaceId
from festinger.retrieval.agent_weights import COMPONENTS, NO_SHIFT, cold_start_alphas, step_shifts, to_five
from festinger.retrieval.deps import RetrievalDeps
from festinger.retrieval.search import usable_embedder
from festinger.settings.retrieval import Five
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.store.vectors import to_halfvec

Q = queries_of("festinger.retrieval")

HEARD = "outcome_recorded"
REWARDS: Mapping[str, float] = {"acted": 1.0, "used": 0.3, "dismissed": -0.3, "contradicted": -1.0}
"""What an outcome says about a memory for its question; deferring says nothing."""
EMBEDDED_AT_ONCE = 100


async def note_outcome(transaction: Transaction, event: Event) -> int:
    """Event subscriber: record what a memory's outcomes say about the questions for which it was recalled."""
    if event.payload["outcome"] not in REWARDS:
        return 0
    return await transaction.run(
        Q["keep_cue_outcomes"],
        space=event.space,
        memory=UUID(event.payload["memory"]),
        outcomes=list(REWARDS),
        rewards=list(REWARDS.values()),
    )


async def embed_questions(deps: RetrievalDeps, space: SpaceId) -> int:
    """Embed questions without a vector of the current embedder; returns how many. Stops if it fails."""
    embedder, made = usable_embedder(deps.embedder()), 0
    while embedder is not None:
        rows = await deps.store.all(Q["unembedded_cues"], space=space, model=embedder.name, limit=EMBEDDED_AT_ONCE)
        if not rows:
            break
        try:
            vectors = list(await embedder.embed([row["cue"] for row in rows], EmbeddingPurpose.QUERY))
        except (PartlyEmbedded, ProviderDown, ProviderRefused):
            break
        for row, vector in zip(rows, vectors, strict=True):
            await deps.store.run(
                Q["put_cue_vector"],
                space=space,
                cue_hash=row["cue_hash"],
                model=embedder.name,
                vector=to_halfvec(np.asarray(vector)),
            )
        made += len(rows)
    return made


STEP = 0.10
"""How far an outcome that somebody reported explicitly moves a parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlendUpdate:
    """What an agent learned in one night."""

    id: UUID
    agent: AgentId
    before: Five
    after: Five
    outcomes: int
    at: datetime
    undone_at: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "id": str(self.id),
            "agent": self.agent,
            "before": dict(zip(COMPONENTS, self.before, strict=True)),
            "after": dict(zip(COMPONENTS, self.after, strict=True)),
            "outcomes": self.outcomes,
            "at": iso(self.at),
            "undone_at": iso(self.undone_at) if self.undone_at else None,
        }


def apply_outcomes(base: Five, shifts: Five, outcomes: Iterable[tuple[str, str, float]]) -> Five:
    """Return the shifts after some outcomes, each given with its component and its weight."""
    for outcome, component, weight in outcomes:
        amount = STEP * REWARDS[outcome] * weight
        shifts = step_shifts(base, shifts, component=COMPONENTS.index(component), amount=amount)
    return shifts


async def learn_blends(deps: RetrievalDeps, space: SpaceId) -> list[BlendUpdate]:
    """Teach every agent of a space from the outcomes since the last run."""
    async with deps.store.transaction() as transaction:
        rows = await transaction.all(Q["outcomes_of_minds"], space=space, outcomes=list(REWARDS))
        agents = dict.fromkeys(AgentId(row["agent_id"]) for row in rows)
        return [
            await _learn_blend(deps, transaction, space, agent, [row for row in rows if row["agent_id"] == agent])
            for agent in agents
        ]


async def _learn_blend(
    deps: RetrievalDeps, transaction: Transaction, space: SpaceId, agent: AgentId, rows: Sequence[Mapping[str, Any]]
) -> BlendUpdate:
    settings = deps.terms(space).retrieval
    known = await transaction.one(
        Q["lock_blend"], space=space, agent=agent, none=list(NO_SHIFT), limit=settings.mature_from
    )
    base, before = cold_start_alphas(known["remembered"], settings), to_five(known["shifts"])
    after = apply_outcomes(base, before, ((row["outcome"], row["led"], row["w"]) for row in rows))
    taught = BlendUpdate(
        id=deps.new_id(), agent=agent, before=before, after=after, outcomes=len(rows), at=rows[-1]["at"]
    )
    await _save_update(deps, transaction, space, taught)
    return taught


async def _save_update(deps: RetrievalDeps, transaction: Transaction, space: SpaceId, taught: BlendUpdate) -> None:
    await transaction.run(
        Q["keep_blend"],
        space=space,
        id=taught.id,
        agent=taught.agent,
        before=list(taught.before),
        after=list(taught.after),
        outcomes=taught.outcomes,
        at=taught.at,
    )
    await _emit_blend_changed(deps, transaction, space, taught, before=taught.before, after=taught.after)


async def _emit_blend_changed(
    deps: RetrievalDeps, transaction: Transaction, space: SpaceId, taught: BlendUpdate, *, before: Five, after: Five
) -> None:
    await deps.outbox.emit(
        transaction,
        "blend_changed",
        space=space,
        subject=f"agent:{taught.agent}",
        agent=taught.agent,
        payload={
            "agent": taught.agent,
            "from": dict(zip(COMPONENTS, before, strict=True)),
            "to": dict(zip(COMPONENTS, after, strict=True)),
            "outcomes": taught.outcomes,
        },
    )


async def list_blend_updates(deps: RetrievalDeps, space: SpaceId, agent: AgentId) -> list[BlendUpdate]:
    """List an agent's updates, newest first."""
    rows = await deps.store.all(Q["blend_history"], space=space, agent=agent)
    return [_update_from_row(row) for row in rows]


async def revert_blend_update(deps: RetrievalDeps, space: SpaceId, history: UUID) -> BlendUpdate:
    """Undo one night's update, if no later one exists. Raises `NotFound`, `Refused`."""
    async with deps.store.transaction() as transaction:
        row = await transaction.maybe(Q["lock_lesson"], space=space, id=history)
        if row is None:
            raise NotFound(f"There is no change of a blend `{history}`.")
        if row["undone_at"] is not None or row["later"]:
            raise Refused("Something was taught since, or this was taken back already.")
        taught = _update_from_row(row)
        await transaction.run(
            Q["undo_blend"], space=space, id=history, agent=taught.agent, shifts=list(taught.before), at=deps.clock()
        )
        await _emit_blend_changed(deps, transaction, space, taught, before=taught.after, after=taught.before)
    return taught


def _update_from_row(row: Mapping[str, Any]) -> BlendUpdate:
    return BlendUpdate(
        id=row["id"],
        agent=AgentId(row["agent_id"]),
        before=to_five(row["before"]),
        after=to_five(row["after"]),
        outcomes=row["outcomes"],
        at=row["at"],
        undone_at=row["undone_at"],
    )
