"""Reconsiders proposals that a person sent back as too thin or too vague.

A stronger model gets all the evidence and returns the case for and against, or a sharper wording; the
proposal then waits for the person again, with that attached. Without a model the evidence is laid out in
order instead. The first wording stays the one that identifies the proposal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from pydantic import Field

from festinger.clock import iso
from festinger.errors import ProviderRefused
from festinger.ids import SpaceId
from festinger.llm.model import AnswerSchema, Model, PromptMessage
from festinger.llm.prompts import load_prompt
from festinger.proposals.deps import ProposalDeps, ReviewDeps
from festinger.proposals.model import (
    Proposal,
    ProposalState,
    VerdictKind,
    load_ids_with_duplicates,
    lock_proposal,
    save_state,
    save_wording,
)
from festinger.proposals.sightings.fingerprint import to_storable_text
from festinger.proposals.sightings.recount import (
    LONGEST_REASON,
    LONGEST_WHAT,
    ProposalSighting,
    emit_proposal_event,
    sighting_of,
)
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.text.secrets import remove_secrets

Q = load_queries("festinger.proposals")

REEVALUATE = "reevaluate_proposal"
"""The job that asks the model."""

THOUGHTS = "thoughts"
"""Payload field that keeps the results of reevaluation."""
EVIDENCE_ONLY = "no model: evidence only"
UNUSABLE = "the model gave no usable answer: evidence only"
MOST_SIGHTINGS = 50
LONGEST_QUOTE = 500


class DeepenAnswer(AnswerSchema):
    stronger_case: str = Field(description="The strongest case for the change that the sightings allow.")
    weaker_case: str = Field(description="The strongest case against it.")
    smallest_change: str = Field(description="The smallest change that would do.")
    risks: list[str] = Field(description="What could go wrong, each in one sentence.", max_length=10)


class SharpenAnswer(AnswerSchema):
    what: str = Field(description="What should change, in at most fifteen words.", max_length=LONGEST_WHAT)
    how: str = Field(description="How, in steps that somebody could carry out.", max_length=LONGEST_REASON)


SHAPES: Mapping[VerdictKind, type[DeepenAnswer] | type[SharpenAnswer]] = {
    VerdictKind.DEEPEN: DeepenAnswer,
    VerdictKind.TOO_VAGUE: SharpenAnswer,
}


async def reevaluate_or_enqueue(
    review: ReviewDeps, transaction: Transaction, space: SpaceId, proposal: Proposal, *, kind: VerdictKind
) -> Proposal:
    """Return the proposal after somebody asked for more thought; the caller saves it.

    Without a model the evidence is attached at once. With one the answer comes from a job.
    """
    counted = replace(proposal, reevaluations=proposal.reevaluations + 1, deferred_until=None)
    if await review.thinker(space) is None:
        bundle = await collect_evidence(review, transaction, space, proposal)
        return await _attach_thought(review.deps, transaction, counted, kind=kind, note=EVIDENCE_ONLY, found=bundle)
    await review.deps.ask(transaction, REEVALUATE, space=space, proposal=str(proposal.id), kind=kind.value)
    return replace(counted, state=ProposalState.DEEPENING)


async def reevaluate(review: ReviewDeps, space: SpaceId, id_: UUID, *, kind: VerdictKind) -> Proposal | None:
    """Ask the model and put the proposal before the person again; None if it was decided meanwhile."""
    async with review.deps.store.transaction() as transaction:
        proposal = await lock_proposal(transaction, space, id_)
        bundle = await collect_evidence(review, transaction, space, proposal)
    if proposal.state is not ProposalState.DEEPENING:
        return None
    model = await review.thinker(space)
    note, found = (EVIDENCE_ONLY, dict(bundle))
    if model is not None:
        note, found = await _ask_model(model, proposal, bundle, kind=kind)
    async with review.deps.store.transaction() as transaction:
        present = await lock_proposal(transaction, space, id_)
        if present.state is not ProposalState.DEEPENING:
            return None
        moved = await _attach_thought(review.deps, transaction, present, kind=kind, note=note, found=found)
        await save_wording(transaction, moved)
        return await save_state(transaction, moved)


async def collect_evidence(
    review: ReviewDeps, transaction: Transaction, space: SpaceId, proposal: Proposal
) -> dict[str, Any]:
    """Collect what is known about a proposal: wordings, timeline, episodes, turns and related items."""
    family = await load_ids_with_duplicates(transaction, space, proposal.id)
    rows = await transaction.all(Q["sightings_of"], space=space, family=family, limit=MOST_SIGHTINGS)
    sightings = sorted(map(sighting_of, rows), key=lambda each: (each.at, str(each.id)))
    return {
        "wordings": list(dict.fromkeys(each.text for each in sightings if each.text)),
        "timeline": [_timeline_entry(each) for each in sightings],
        "episodes": _evidence_ids(sightings, "episode", "episodes"),
        "turns": _evidence_ids(sightings, "turn", "turns"),
        **await review.related(transaction, space, proposal),
    }


async def _ask_model(
    model: Model, proposal: Proposal, bundle: Mapping[str, Any], *, kind: VerdictKind
) -> tuple[str, dict[str, Any]]:
    try:
        answer = await model.answer([build_reevaluation_prompt(proposal, bundle, kind=kind)], SHAPES[kind])
    except ProviderRefused:
        return UNUSABLE, dict(bundle)
    value = answer.value.model_dump()
    return f"thought over by {answer.model}", value | {"prompt": answer.prompt_hash}


def build_reevaluation_prompt(proposal: Proposal, bundle: Mapping[str, Any], *, kind: VerdictKind) -> PromptMessage:
    """Build the prompt: everything said is quoted, and none of it is an instruction."""
    return load_prompt("festinger.proposals", kind.value).message(
        what=proposal.what,
        why=proposal.why or "(nobody said)",
        how=proposal.how or "(nobody said)",
        wordings="\n".join(f"- {each[:LONGEST_QUOTE]}" for each in bundle["wordings"]),
        timeline="\n".join(
            f"- {each['at']}, origin {each['origin']}: {each['why'][:LONGEST_QUOTE] or each['text']}"
            for each in bundle["timeline"]
        ),
    )


async def _attach_thought(
    deps: ProposalDeps,
    transaction: Transaction,
    proposal: Proposal,
    *,
    kind: VerdictKind,
    note: str,
    found: Mapping[str, Any],
) -> Proposal:
    """Attach a thought to the proposal and put it before the person again."""
    thought = {"kind": kind.value, "note": note, "at": iso(deps.clock()), **_sanitize(found)}
    payload = dict(proposal.payload) | {THOUGHTS: [*proposal.payload.get(THOUGHTS, []), thought]}
    words = {name: thought[name] for name in ("what", "how") if kind is VerdictKind.TOO_VAGUE and thought.get(name)}
    await emit_proposal_event(
        deps, transaction, "proposal_reevaluated", proposal, n=proposal.reevaluations, kind=kind.value
    )
    return replace(proposal, **words, state=ProposalState.PROMOTED, payload=payload)


def _sanitize(found: Any) -> Any:
    """Remove secrets and characters that a database cannot store."""
    if isinstance(found, str):
        return to_storable_text(remove_secrets(found))
    if isinstance(found, Mapping):
        return {name: _sanitize(each) for name, each in found.items()}
    return [_sanitize(each) for each in found] if isinstance(found, list | tuple) else found


def _timeline_entry(sighting: ProposalSighting) -> dict[str, Any]:
    return {
        "at": iso(sighting.at),
        "origin": sighting.origin.value,
        "producer": sighting.producer,
        "times": sighting.times,
        "text": sighting.text,
        "why": sighting.why,
    }


def _evidence_ids(sightings: Sequence[ProposalSighting], *names: str) -> list[str]:
    """Return the ids that sightings cite as evidence under these names."""
    found: dict[str, None] = {}
    for each in sightings:
        for name in names:
            ids = each.evidence.get(name, ())
            found |= dict.fromkeys([ids] if isinstance(ids, str) else map(str, ids))
    return list(found)
