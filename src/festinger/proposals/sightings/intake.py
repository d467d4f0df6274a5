"""Records sightings: finds the proposal that a suggestion belongs to, or creates one.

One transaction, in this order: refuse bad input, answer repeats as before, find the proposal by fingerprint
in any state, keep sightings of a suppressed one without counting them, follow duplicates to their root, then
add the sighting and recount, or create a proposal. Repeats of the same text by one cause share a row. A model
words things differently each time, so `submit_suggestion` first looks for an active proposal of the scope with
the same meaning, even a decided one. If nobody can compare, it records anyway and counts that: similar
proposals are paired later. Detectors use fixed wording and need only the fingerprint.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import numpy as np

from festinger.clock import iso
from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import EmbeddingPurpose, ThresholdName
from festinger.errors import PartlyEmbedded, ProposalRefused, ProviderDown, ProviderRefused, StoreDown
from festinger.ids import SessionId, SpaceId, cause_columns, least_trusted
from festinger.judge.model import JudgeStatement, PairFeatures, StatementPair
from festinger.observability.metrics import (
    PROPOSALS_BLIND,
    PROPOSALS_COLLISIONS,
    PROPOSALS_MERGED,
    PROPOSALS_SIGHTINGS,
    PROPOSALS_SUPPRESSED,
)
from festinger.proposals.deps import ProposalDeps
from festinger.proposals.gate import priority_of
from festinger.proposals.model import (
    DECIDED_FOR,
    HoldReason,
    Proposal,
    ProposalId,
    ProposalState,
    load_ids_with_duplicates,
    lock_duplicate_root,
    lock_proposal,
    proposal_of,
)
from festinger.proposals.sightings.fingerprint import (
    ComparisonInput,
    PairRelation,
    compute_fingerprint,
    normalize_suggestion,
    suggest_relation,
    to_storable_text,
)
from festinger.proposals.sightings.recount import (
    SightingExclusionReason,
    SightingResult,
    SightingStatus,
    Suggestion,
    VoteGroup,
    cause_to_json,
    count_votes,
    emit_proposal_event,
    is_over_vote_limit,
    recount,
    refusal_reason,
    validate_suggestion,
    vote_limits_for,
)
from festinger.proposals.sightings.similarity import HOLDS, judge_thresholds, load_or_embed_vectors, usable_embedder
from festinger.records import field_values
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.text.blocks import OPEN
from festinger.text.secrets import remove_secrets

Q = load_queries("festinger.proposals")

COMPARE = "compare_proposals"
"""The job that looks for proposals of the same meaning."""

TRIES = 3
"""The first attempt, and two more if others changed the same rows at the same time."""

MOST_SESSIONS = 1000
RECENT_SOURCES = 64
"""Recent sources remembered per row; an older one that repeats adds to the repeats, not to the votes."""


async def record_sighting(
    deps: ProposalDeps, space: SpaceId, suggestion: Suggestion, *, of: ProposalId | None = None
) -> SightingResult:
    """Record a sighting. What cannot be a proposal is stored too, and then refused.

    `of` is the proposal that the producer means, when it uses other words.
    """
    for left in range(TRIES - 1, -1, -1):
        try:
            async with deps.store.transaction() as transaction:
                sighted = await record_sighting_in_transaction(deps, transaction, space, suggestion, of=of)
        except StoreDown as error:
            if error.details.get("kind") != "busy" or not left:
                raise
            continue
        if sighted.result is SightingStatus.REFUSED:
            raise ProposalRefused(f"This is no proposal: {sighted.reason}.", reason=sighted.reason)
        return sighted
    raise AssertionError("the last try returns or raises")


async def record_sighting_in_transaction(
    deps: ProposalDeps,
    transaction: Transaction,
    space: SpaceId,
    suggestion: Suggestion,
    *,
    of: ProposalId | None = None,
) -> SightingResult:
    """Like `record_sighting`, in the caller's transaction and without retries; a refusal is returned."""
    terms = deps.terms(space)
    validate_suggestion(suggestion, categories=terms.categories)
    clean = await _mark_evaluation_uncounted(transaction, space, sanitize_suggestion(suggestion))
    intake = _SightingIntake(deps=deps, transaction=transaction, space=space, suggestion=clean)
    words = normalize_suggestion(clean.what)
    if reason := refusal_reason(what=clean.what, why=clean.why, how=clean.how, normalised=words):
        return await intake.refuse(reason)
    if of is not None:
        return await intake.add(await lock_proposal(transaction, space, of))
    key = compute_fingerprint(category=clean.category, scope=clean.scope, normalised=words)
    await transaction.run(Q["lock_fingerprint"], space=space, fingerprint=key)
    rows = await transaction.all(Q["find_by_fingerprint"], space=space, fingerprint=key)
    found = next((proposal_of(row) for row in rows if row["normalised"] == words), None)
    if found is None:
        if rows:
            PROPOSALS_COLLISIONS.inc()
        return await intake.create(fingerprint=key, normalised=words)
    return await intake.add(found)


async def select_new_suggestions(
    transaction: Transaction, space: SpaceId, suggestions: Sequence[Suggestion]
) -> list[Suggestion]:
    """Leave out what the same producer has already reported; a look at everything mostly finds that."""
    if not suggestions:
        return []
    rows = await transaction.all(
        Q["known_sources"], space=space, producer=suggestions[0].producer, sources=[each.source for each in suggestions]
    )
    known = {row["source_id"] for row in rows}
    return [each for each in suggestions if each.source not in known]


def sanitize_suggestion(suggestion: Suggestion) -> Suggestion:
    """Remove secrets, lower the trust to that of the evidence, and mark quotes of our own text."""
    trusted = replace(suggestion.cause, origin=least_trusted((suggestion.cause.origin, *suggestion.cited)))
    kept = replace(
        suggestion,
        cause=trusted,
        what=to_storable_text(remove_secrets(suggestion.what)),
        why=to_storable_text(remove_secrets(suggestion.why)),
        how=to_storable_text(remove_secrets(suggestion.how)),
    )
    quotes_us = suggestion.uncounted is None and OPEN in suggestion.what
    return replace(kept, uncounted=SightingExclusionReason.OWN_WORDS) if quotes_us else kept


async def _mark_evaluation_uncounted(transaction: Transaction, space: SpaceId, suggestion: Suggestion) -> Suggestion:
    """Mark what is said in an evaluation session as no vote."""
    if suggestion.uncounted is not None or not suggestion.cause.session:
        return suggestion
    is_trial = await transaction.value(Q["is_evaluation"], space=space, session=suggestion.cause.session)
    return replace(suggestion, uncounted=SightingExclusionReason.EVALUATION) if is_trial else suggestion


def votes_of_new_proposal(suggestion: Suggestion) -> list[VoteGroup]:
    """Return the votes for a new proposal: one cause, or none."""
    if suggestion.uncounted is not None:
        return []
    by = suggestion.cause
    return [
        VoteGroup(
            agent=by.agent, day=by.day, origin=by.origin, sessions=1, first_at=suggestion.at, last_at=suggestion.at
        )
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SightingIntake:
    """A sanitized suggestion, in the transaction that records it."""

    deps: ProposalDeps
    transaction: Transaction
    space: SpaceId
    suggestion: Suggestion

    async def refuse(self, reason: str) -> SightingResult:
        id_ = await self._find_earlier_sighting(None)
        if id_ is None:
            id_, _ = await self._insert_or_count_repeat(None, SightingExclusionReason.REFUSED)
            PROPOSALS_SIGHTINGS.labels("false").inc()
        return SightingResult(result=SightingStatus.REFUSED, sighting=id_, reason=reason)

    async def create(self, **words: Any) -> SightingResult:
        suggestion, terms = self.suggestion, self.deps.terms(self.space)
        key = (suggestion.producer, suggestion.category)
        muted_until = await self.deps.muted_until(self.transaction, self.space, key)
        votes = count_votes(votes_of_new_proposal(suggestion), vote_limits_for(terms))
        columns = field_values(suggestion) | field_values(votes) | words
        columns |= {name: json.dumps(dict(columns[name])) for name in ("payload", "target")}
        columns |= {"space": self.space, "id": self.deps.new_id(), "at": self.deps.clock()}
        held = HoldReason.PRODUCER_MUTED if muted_until else None
        priority = priority_of(votes.seen_count)
        row = await self.transaction.one(
            Q["add_proposal"], **columns, held=held, held_until=muted_until, priority=priority
        )
        made = proposal_of(row)
        id_ = await self._insert(self._sighting_row_values(made, suggestion.uncounted))
        about = {"category": made.category, "scope": made.scope, "type": made.type, "producer": made.producer}
        await self._tell("proposal_created", made, **about)
        if muted_until:
            why = HoldReason.PRODUCER_MUTED
            await emit_proposal_event(self.deps, self.transaction, "proposal_held", made, why=why)
        if terms.suggest_merges:
            await self.deps.ask(self.transaction, COMPARE, space=self.space)
        is_vote = suggestion.uncounted is None
        PROPOSALS_SIGHTINGS.labels(str(is_vote).lower()).inc()
        return _build_result(SightingStatus.CREATED, id_, made, counted=is_vote)

    async def add(self, found: Proposal) -> SightingResult:
        """Add a sighting to an existing proposal, depending on its state."""
        root = await lock_duplicate_root(self.transaction, self.space, found)
        if (before := await self._find_earlier_sighting(found)) is not None:
            return _build_result(SightingStatus.AGAIN, before, root)
        is_suppressed = root.is_suppressed(self.deps.clock())
        return await (self._record_suppressed_sighting(found, root) if is_suppressed else self._merge(found, root))

    async def _record_suppressed_sighting(self, found: Proposal, root: Proposal) -> SightingResult:
        id_, is_again = await self._insert_or_count_repeat(
            found, self.suggestion.uncounted or SightingExclusionReason.SUPPRESSED
        )
        if is_again:
            return _build_result(SightingStatus.AGAIN, id_, root)
        await self.transaction.run(Q["said_once_more"], space=self.space, id=root.id)
        assert root.suppressed_until is not None
        await self._tell("proposal_suppressed", root, until=iso(root.suppressed_until))
        PROPOSALS_SIGHTINGS.labels("false").inc()
        PROPOSALS_SUPPRESSED.inc()
        return _build_result(SightingStatus.SUPPRESSED, id_, root)

    async def _merge(self, found: Proposal, root: Proposal) -> SightingResult:
        because, session = self.suggestion.uncounted, self.suggestion.cause.session
        reopens = root.state is ProposalState.REJECTED and because is None
        if reopens:
            since = self.suggestion.at
            root = proposal_of(
                await self.transaction.one(Q["reopen_proposal"], space=self.space, id=root.id, since=since)
            )
        family = await load_ids_with_duplicates(self.transaction, self.space, root.id)
        sessions = await self._load_counted_sessions(root, family)
        limits = vote_limits_for(self.deps.terms(self.space))
        if because is None and is_over_vote_limit(session, sessions, limits):
            because = SightingExclusionReason.FLOOD
        id_, is_again = await self._insert_or_count_repeat(found, because)
        if is_again:
            return _build_result(SightingStatus.AGAIN, id_, root)
        counted = await recount(self.deps, self.transaction, self.space, root, said=1, family=family)
        is_vote = because is None and session not in sessions
        cause = cause_to_json(self.suggestion.cause)
        await self._tell("proposal_merged", counted, seen_count=counted.seen_count, counted=is_vote, cause=cause)
        PROPOSALS_SIGHTINGS.labels(str(is_vote).lower()).inc()
        PROPOSALS_MERGED.inc()
        result = SightingStatus.SEEN_AFTER if root.state in DECIDED_FOR else SightingStatus.MERGED
        return _build_result(SightingStatus.REOPENED if reopens else result, id_, counted, counted=is_vote)

    async def _load_counted_sessions(self, root: Proposal, family: list[UUID]) -> frozenset[SessionId]:
        """Return the sessions of the same agent, day and origin that already have a vote."""
        by = self.suggestion.cause
        rows = await self.transaction.all(
            Q["sessions_counted"],
            space=self.space,
            family=family,
            agent=by.agent,
            day=by.day,
            origin=by.origin,
            since=root.counted_since,
            limit=MOST_SESSIONS,
        )
        return frozenset(row["session_id"] for row in rows)

    async def _find_earlier_sighting(self, proposal: Proposal | None) -> UUID | None:
        """Find the sighting that the same event or call already recorded."""
        row = await self.transaction.maybe(
            Q["told_before"],
            space=self.space,
            producer=self.suggestion.producer,
            source=self.suggestion.source,
            proposal=proposal.id if proposal else None,
            text=self.suggestion.what,
        )
        return row["id"] if row else None

    async def _insert_or_count_repeat(
        self, proposal: Proposal | None, because: SightingExclusionReason | None
    ) -> tuple[UUID, bool]:
        """Add a row, or count a repeat of an existing one; return its id and whether it was stored already."""
        columns = self._sighting_row_values(proposal, because)
        before = await self.transaction.maybe(Q["same_words"], **columns) if proposal else None
        if before is None:
            return await self._insert(columns), False
        if not before["is_again"]:
            repeat = {"space": self.space, "id": before["id"], "source": self.suggestion.source}
            await self.transaction.run(Q["say_again"], **repeat, at=self.suggestion.at, kept=RECENT_SOURCES)
        return before["id"], before["is_again"]

    async def _insert(self, columns: Mapping[str, Any]) -> UUID:
        """Add a row for text not seen before."""
        id_ = self.deps.new_id()
        evidence = json.dumps(dict(self.suggestion.evidence))
        said = {**field_values(self.suggestion), **columns, "id": id_, "evidence": evidence}
        await self.transaction.run(Q["add_sighting"], **said)
        return id_

    def _sighting_row_values(
        self, proposal: Proposal | None, because: SightingExclusionReason | None
    ) -> dict[str, Any]:
        """Return the columns that identify a row: text, proposal, cause, and whether it counts."""
        return {
            "space": self.space,
            "proposal": proposal.id if proposal else None,
            **cause_columns(self.suggestion.cause),
            "producer": self.suggestion.producer,
            "text": self.suggestion.what,
            "source": self.suggestion.source,
            "because": because,
        }

    async def _tell(self, name: str, proposal: Proposal, **payload: Any) -> None:
        by = self.suggestion.cause
        payload["fingerprint"] = proposal.fingerprint
        await emit_proposal_event(
            self.deps, self.transaction, name, proposal, agent=by.agent, session=by.session or None, **payload
        )


def _build_result(result: SightingStatus, sighting: UUID, of: Proposal, *, counted: bool = False) -> SightingResult:
    return SightingResult(
        result=result,
        sighting=sighting,
        proposal=of.id,
        fingerprint=of.fingerprint,
        seen_count=of.seen_count,
        counted=counted,
    )


MOST_READ = 200
MOST_JUDGED = 3
"""Number of nearest proposals that judges are asked about."""


async def submit_suggestion(
    deps: ProposalDeps, space: SpaceId, suggestion: Suggestion, *, existing: ProposalId | None = None
) -> SightingResult:
    """Record a suggestion, at an existing proposal of the same meaning; `existing` is one the producer names.

    Do not call within a transaction: judges may be asked.
    """
    if existing is not None:
        return await record_sighting(deps, space, suggestion, of=existing)
    try:
        found = await find_equivalent_proposal(deps, space, suggestion)
    except (ProviderDown, ProviderRefused, PartlyEmbedded, StoreDown):
        PROPOSALS_BLIND.inc()
        found = None
    return await record_sighting(deps, space, suggestion, of=found)


async def list_active_proposals(
    deps: ProposalDeps, space: SpaceId, *, scope: str | None = None, limit: int = MOST_READ
) -> list[Proposal]:
    """List proposals that are open, in force, or rejected and suppressed, most recently seen first."""
    rows = await deps.store.all(Q["standing_proposals"], space=space, scope=scope, now=deps.clock(), limit=limit)
    return [proposal_of(row) for row in rows]


async def find_equivalent_proposal(deps: ProposalDeps, space: SpaceId, suggestion: Suggestion) -> ProposalId | None:
    """Find a proposal of the scope with the same meaning; None if the wording is known or none is found."""
    among = await list_active_proposals(deps, space, scope=suggestion.scope)
    words = normalize_suggestion(suggestion.what)
    embedder = usable_embedder(deps)
    if not among or embedder is None or any(each.normalised == words for each in among):
        return None
    bar = embedder.profile.threshold(ThresholdName.PROPOSAL_SUGGEST)
    if bar is None:
        return None
    near = await _nearest_proposals(deps, space, suggestion.what, among, embedder=embedder, bar=bar)
    pairs = [_build_pair(each, suggestion, similarity, embedder) for each, similarity in near]
    judgements = await deps.judges.with_model_all(space, pairs)
    request = ComparisonInput(what=suggestion.what, normalised=words)
    for (each, similarity), judgement in zip(near, judgements, strict=True):
        stands = ComparisonInput(what=each.what, normalised=each.normalised)
        like = suggest_relation(stands, request, judgement, similarity=similarity, bar=bar)
        if like.relation is PairRelation.SAME and like.confidence >= HOLDS:
            return each.id
    return None


async def _nearest_proposals(
    deps: ProposalDeps, space: SpaceId, what: str, among: Sequence[Proposal], *, embedder: Embedder, bar: float
) -> list[tuple[Proposal, float]]:
    """Return the nearest proposals with their similarity; none below the bar."""
    vectors = await load_or_embed_vectors(deps, space, embedder, among)
    if vectors is None:
        raise ProviderDown("The embedder does not answer.")
    (own,) = await embedder.embed([what], EmbeddingPurpose.COMPARE)
    mine = np.asarray(own, dtype=np.float32)
    cosines = [(each, float(vectors[each.id] @ mine)) for each in among if each.id in vectors]
    near = [(each, min(1.0, cosine)) for each, cosine in cosines if cosine >= bar]
    return sorted(near, key=lambda pair: (-pair[1], pair[0].id))[:MOST_JUDGED]


def _build_pair(stands: Proposal, suggestion: Suggestion, similarity: float, embedder: Embedder) -> StatementPair:
    return StatementPair(
        old_ref=stands.id,
        new_ref=UUID(int=0),
        old=JudgeStatement(text=stands.what),
        new=JudgeStatement(text=suggestion.what),
        features=PairFeatures(similarity=similarity, bars=judge_thresholds(embedder)),
    )
