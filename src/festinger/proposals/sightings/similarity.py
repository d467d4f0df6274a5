"""Finds proposals that may mean the same and suggests pairs to a person.

The second pass compares open and suppressed proposals by their vectors, sends the nearest pairs to the judges
and stores what they say as suggestions; only a person merges. A new proposal that means the same as a
rejected one is held. Without an embedder the pass is off and says so.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import EmbeddingPurpose, ThresholdName
from festinger.embedding.providers.none import NAME as NO_EMBEDDER
from festinger.errors import PartlyEmbedded, ProviderDown, ProviderRefused
from festinger.ids import SpaceId
from festinger.judge.model import Judgement, JudgeStatement, PairFeatures, SimilarityThresholds, StatementPair
from festinger.observability.metrics import DEGRADED
from festinger.proposals.deps import ProposalDeps
from festinger.proposals.model import HoldReason, Proposal, ProposalState, proposal_of
from festinger.proposals.sightings.fingerprint import ComparisonInput, PairRelation, PairSuggestion, suggest_relation
from festinger.proposals.sightings.recount import emit_proposal_event, event_subject, recount
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.store.vectors import to_halfvec

Q = load_queries("festinger.proposals")

MOST_COMPARED = 2000
"""Proposals of a space held in memory by one pass: those seen last."""
RECENT = timedelta(days=180)
HOLDS = 0.9
"""Confidence needed to hold a new proposal as the same as a rejected one."""

DECIDED = "decided by a person"

OFF = "off (no embedder)"
UNMEASURED = "off (nobody measured how near is near for this embedder)"
ON = "on"

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeaningComparisonReport:
    """What a pass did. `state` says whether there was one."""

    state: str
    judged: int = 0
    suggested: int = 0
    held: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarProposals:
    """Two proposals, the older first, and their similarity."""

    old: Proposal
    new: Proposal
    similarity: float

    @property
    def ids(self) -> tuple[UUID, UUID]:
        """The pair as stored: the smaller id first."""
        low, high = sorted((self.old.id, self.new.id))
        return low, high

    @property
    def words(self) -> str:
        """A hash by which a pair with the same wording is known to have been judged."""
        a, b = sorted((self.old, self.new), key=lambda each: each.id)
        return sha256(f"{a.what}\x00{b.what}".encode()).hexdigest()


def describe_comparison_state(deps: ProposalDeps, space: SpaceId) -> str:
    """Say whether the second pass is on, and if not, why."""
    embedder = usable_embedder(deps)
    if not deps.terms(space).suggest_merges:
        return "off (by the settings)"
    if embedder is None:
        return OFF
    return ON if embedder.profile.threshold(ThresholdName.PROPOSAL_SUGGEST) is not None else UNMEASURED


async def suggest_similar_pairs(deps: ProposalDeps, space: SpaceId) -> MeaningComparisonReport:
    """Run one pass: up to the allowed number of pairs, nearest first. Do not call within a transaction."""
    state, embedder = describe_comparison_state(deps, space), usable_embedder(deps)
    if state != ON or embedder is None:
        return MeaningComparisonReport(state=state)
    found = await _load_candidates(deps, space)
    vectors = await load_or_embed_vectors(deps, space, embedder, found)
    if vectors is None:
        return MeaningComparisonReport(state="off (the embedder does not answer)")
    bar = embedder.profile.threshold(ThresholdName.PROPOSAL_SUGGEST)
    assert bar is not None
    known = await _load_judged_pairs(deps, space, embedder)
    near = [
        each
        for each in find_similar_proposals(found, vectors, bar=bar)
        if known.get(each.ids) not in (each.words, DECIDED)
    ]
    asked = near[: deps.terms(space).suggest_pairs_per_run]
    judgements = await deps.judges.with_model_all(space, [_build_pair(each, embedder) for each in asked])
    suggested = held = 0
    for each, judgement in zip(asked, judgements, strict=True):
        like = suggest_relation(
            _comparison_input(each.old), _comparison_input(each.new), judgement, similarity=each.similarity, bar=bar
        )
        async with deps.store.transaction() as transaction:
            holds = await _hold_if_like_rejected(deps, transaction, each, like)
            await _save_pair(deps, transaction, each, like, judgement=judgement, embedder=embedder.name, holds=holds)
        suggested += like.relation is not None
        held += holds
    return MeaningComparisonReport(state=ON, judged=len(asked), suggested=suggested, held=held)


def find_similar_proposals(
    found: Sequence[Proposal], vectors: Mapping[UUID, Matrix], *, bar: float
) -> list[SimilarProposals]:
    """Return all pairs at or above the bar, nearest first, except those of two rejected proposals."""
    shown = [each for each in found if each.id in vectors]
    if len(shown) < 2:
        return []
    table = np.stack([vectors[each.id] for each in shown])
    cosines = table @ table.T
    rows, columns = np.nonzero(np.triu(cosines >= bar, k=1))
    pairs = []
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        old, new = sorted((shown[row], shown[column]), key=lambda each: (each.created_at, each.id))
        if ProposalState.REJECTED not in (old.state, new.state) or old.state is not new.state:
            pairs.append(SimilarProposals(old=old, new=new, similarity=min(1.0, float(cosines[row, column]))))
    return sorted(pairs, key=lambda each: (-each.similarity, each.ids))


def usable_embedder(deps: ProposalDeps) -> Embedder | None:
    embedder = deps.embedder()
    return None if embedder is None or embedder.name == NO_EMBEDDER else embedder


async def _load_candidates(deps: ProposalDeps, space: SpaceId) -> list[Proposal]:
    now = deps.clock()
    rows = await deps.store.all(Q["comparable"], space=space, now=now, since=now - RECENT, limit=MOST_COMPARED)
    return [proposal_of(row) for row in rows]


async def _load_judged_pairs(deps: ProposalDeps, space: SpaceId, embedder: Embedder) -> dict[tuple[UUID, UUID], str]:
    """Return the judged pairs with the hash of their wording; decided ones are never judged again."""
    rows = await deps.store.all(Q["judged_pairs"], space=space, embedder=embedder.name)
    return {(row["a_id"], row["b_id"]): DECIDED if row["is_decided"] else row["words"] for row in rows}


async def load_or_embed_vectors(
    deps: ProposalDeps, space: SpaceId, embedder: Embedder, found: Sequence[Proposal]
) -> dict[UUID, Matrix] | None:
    """Load the vectors of proposals; missing ones are computed and stored. None if the embedder is down."""
    rows = await deps.store.all(
        Q["proposal_vectors"], space=space, model=embedder.name, ids=[each.id for each in found]
    )
    hashes = {each.id: text_hash(each.what) for each in found}
    vectors = {
        row["proposal_id"]: np.asarray(row["embedding"].to_list(), dtype=np.float32)
        for row in rows
        if bytes(row["text_hash"]) == hashes[row["proposal_id"]]
    }
    missing = [each for each in found if each.id not in vectors and each.what.strip()]
    if not missing:
        return vectors
    try:
        made: Sequence[Any] = await embedder.embed([each.what for each in missing], EmbeddingPurpose.COMPARE)
    except PartlyEmbedded as partly:
        made = partly.vectors
    except (ProviderDown, ProviderRefused):
        DEGRADED.labels("embedder").inc()
        return None
    new = {each.id: vector for each, vector in zip(missing, made, strict=True) if vector is not None}
    async with deps.store.transaction() as transaction:
        await transaction.run_many(
            Q["put_proposal_vector"],
            [
                {
                    "space": space,
                    "proposal": id_,
                    "model": embedder.name,
                    "dims": embedder.dimensions,
                    "text_hash": hashes[id_],
                    "embedding": to_halfvec(vector),
                    "at": deps.clock(),
                }
                for id_, vector in new.items()
            ],
        )
    return vectors | {id_: np.asarray(vector, dtype=np.float32) for id_, vector in new.items()}


async def _hold_if_like_rejected(
    deps: ProposalDeps, transaction: Transaction, near: SimilarProposals, like: PairSuggestion
) -> bool:
    """Hold a new proposal that means the same as a rejected one, until the suppression ends."""
    rejected, waiting = sorted((near.old, near.new), key=lambda each: each.state is not ProposalState.REJECTED)
    is_reworded = (
        rejected.is_suppressed(deps.clock())
        and waiting.state is ProposalState.WAITING
        and waiting.held is None
        and like.relation is PairRelation.SAME
        and like.confidence >= HOLDS
    )
    if not is_reworded:
        return False
    row = await transaction.maybe(
        Q["hold_like_rejected"],
        space=waiting.space_id,
        id=waiting.id,
        held=HoldReason.LIKE_REJECTED,
        until=rejected.suppressed_until,
    )
    if row is None:
        return False
    held = await recount(deps, transaction, waiting.space_id, proposal_of(row))
    await emit_proposal_event(deps, transaction, "proposal_held", held, why=HoldReason.LIKE_REJECTED)
    return True


async def _save_pair(
    deps: ProposalDeps,
    transaction: Transaction,
    near: SimilarProposals,
    like: PairSuggestion,
    *,
    judgement: Judgement,
    embedder: str,
    holds: bool,
) -> None:
    low, high = near.ids
    space = near.old.space_id
    note = {"why": like.why, "confidence": like.confidence, "judge": judgement.judge, "said": judgement.relation}
    waiting = next((each for each in (near.old, near.new) if each.state is ProposalState.WAITING), near.new)
    row = await transaction.maybe(
        Q["put_pair"],
        space=space,
        id=deps.new_id(),
        a=low,
        b=high,
        relation=like.relation,
        similarity=near.similarity,
        embedder=embedder,
        words=near.words,
        judgement=json.dumps(note | ({"holds": str(waiting.id)} if holds else {})),
        at=deps.clock(),
    )
    if row is not None and like.relation is PairRelation.OPPOSITE:
        await transaction.run(Q["note_opposite"], space=space, ids=[low, high])
    if row is not None and like.relation is not None:
        await deps.outbox.emit(
            transaction,
            "proposal_pair_suggested",
            space=space,
            subject=event_subject(low),
            payload={"a": str(low), "b": str(high), "relation": like.relation, "confidence": like.confidence},
        )


def _comparison_input(proposal: Proposal) -> ComparisonInput:
    return ComparisonInput(what=proposal.what, normalised=proposal.normalised)


def judge_thresholds(embedder: Embedder) -> SimilarityThresholds:
    profile = embedder.profile
    return SimilarityThresholds(
        same=profile.threshold(ThresholdName.SAME), check=profile.threshold(ThresholdName.PROPOSAL_SUGGEST)
    )


def _build_pair(near: SimilarProposals, embedder: Embedder) -> StatementPair:
    return StatementPair(
        old_ref=near.old.id,
        new_ref=near.new.id,
        # Without times: a later request is not news about an earlier one.
        old=JudgeStatement(text=near.old.what),
        new=JudgeStatement(text=near.new.what),
        features=PairFeatures(similarity=near.similarity, bars=judge_thresholds(embedder)),
    )


def text_hash(text: str) -> bytes:
    return sha256(text.encode()).digest()
