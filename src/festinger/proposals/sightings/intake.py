"""What happens when somebody says that something should change?

One transaction, in this order: bad input is refused; what was told before is answered as before; the proposal is found
by its fingerprint, in whatever state; what a person rejected lately stays silent, and is kept; a duplicate leads on to
what it is a duplicate of; then the sighting is added and the votes are counted again, or a new proposal begins.

Does what a producer wants to say stand here already?

Words of a model are new each time. So it first reads what stands in the scope: what is open, in force, or rejected and
still silent. What means the same becomes one more sighting there, also where a person has decided; only what is new
begins a proposal. Where nobody can read what stands it is said anyway, and counted: two proposals of one meaning are
shown together later. Detectors have fixed words and need none of this: their fingerprint finds what stands.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np

from festinger.clock import iso
from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import Purpose, Threshold
from festinger.errors import PartlyEmbedded, ProposalRefused, ProviderDown, ProviderRefused, StoreDown
from festinger.ids import SessionId, SpaceId, least_trusted
from festinger.judge.model import Features, Pair, Statement
from festinger.observability.metrics import (
    PROPOSALS_BLIND,
    PROPOSALS_COLLISIONS,
    PROPOSALS_MERGED,
    PROPOSALS_SIGHTINGS,
    PROPOSALS_SUPPRESSED,
)
from festinger.proposals.deps import Desk
from festinger.proposals.gate import priority_of
from festinger.proposals.model import (
    DECIDED_FOR,
    Held,
    Proposal,
    ProposalId,
    State,
    family_of,
    held,
    proposal_of,
    root_of,
)
from festinger.proposals.sightings.fingerprint import (
    Profile,
    Request,
    Suggested,
    fingerprint,
    likeness,
    normalise,
    storable,
)
from festinger.proposals.sightings.model import Result, Sighted, Suggestion, Uncounted, refusal, require_fit
from festinger.proposals.sightings.recount import (
    Votes,
    add_words,
    is_flood,
    keep_words,
    limits_for,
    recount,
    tally,
    tell,
    tell_held,
    told_before,
    told_cause,
)
from festinger.proposals.sightings.similarity import HOLDS, bars_of, embedder_of, vectors_of
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.blocks import OPEN
from festinger.text.secrets import without_secrets

Q = queries_of("festinger.proposals")

COMPARE = "compare_proposals"
"""The job that looks for proposals of the same meaning."""

TRIES = 3
"""The first, and two more if others changed the same rows at the same moment."""

MOST_SESSIONS = 1000


async def sight(
    desk: Desk, space: SpaceId, suggestion: Suggestion, *, of: ProposalId | None = None
) -> Sighted:
    """Keep a sighting. What cannot be a proposal is kept too, and then refused.

    `of` is the proposal that the producer means, where it says that in other words.
    """
    for left in range(TRIES - 1, -1, -1):
        try:
            async with desk.store.transaction() as transaction:
                sighted = await sight_in(desk, transaction, space, suggestion, of=of)
        except StoreDown as error:
            if error.details.get("kind") != "busy" or not left:
                raise
            continue
        if sighted.result is Result.REFUSED:
            raise ProposalRefused(f"This is no proposal: {sighted.reason}.", reason=sighted.reason)
        return sighted
    raise AssertionError("the last try returns or raises")


async def sight_in(
    desk: Desk,
    transaction: Transaction,
    space: SpaceId,
    suggestion: Suggestion,
    *,
    of: ProposalId | None = None,
) -> Sighted:
    """The same within a transaction of the caller's, who tries again; a refusal is told and not raised."""
    terms = desk.terms(space)
    require_fit(suggestion, categories=terms.categories)
    said = await _as_vote(transaction, space, plain(suggestion))
    profile = Profile(terms.profile)
    words = normalise(said.what, profile)
    if reason := refusal(what=said.what, why=said.why, how=said.how, normalised=words):
        return await _refuse(desk, transaction, space, said, reason=reason)
    if of is not None:
        return await _add(desk, transaction, space, said, found=await held(transaction, space, of))
    key = fingerprint(category=said.category, scope=said.scope, normalised=words)
    await transaction.run(Q["lock_fingerprint"], space=space, fingerprint=key)
    rows = await transaction.all(Q["find_by_fingerprint"], space=space, profile=profile, fingerprint=key)
    found = next((proposal_of(row) for row in rows if row["normalised"] == words), None)
    if found is None:
        if rows:
            PROPOSALS_COLLISIONS.inc()
        return await _create(
            desk, transaction, space, said, fingerprint=key, profile=profile, normalised=words
        )
    return await _add(desk, transaction, space, said, found=found)


async def _add(
    desk: Desk, transaction: Transaction, space: SpaceId, said: Suggestion, *, found: Proposal
) -> Sighted:
    """Add a sighting to a proposal that is there, as its state asks for."""
    root = await root_of(transaction, space, found)
    if (before := await told_before(transaction, space, said, found)) is not None:
        return _sighted(Result.AGAIN, before, root)
    if root.is_suppressed(desk.clock()):
        return await _suppress(desk, transaction, space, said, found=found, root=root)
    return await _merge(desk, transaction, space, said, found=found, root=root)


def plain(suggestion: Suggestion) -> Suggestion:
    """As it is kept: without secrets, as trusted as its evidence, and known for our own words where it quotes them."""
    trusted = replace(suggestion.cause, origin=least_trusted((suggestion.cause.origin, *suggestion.cited)))
    kept = replace(
        suggestion,
        cause=trusted,
        what=storable(without_secrets(suggestion.what)),
        why=storable(without_secrets(suggestion.why)),
        how=storable(without_secrets(suggestion.how)),
    )
    quotes_us = suggestion.uncounted is None and OPEN in suggestion.what
    return replace(kept, uncounted=Uncounted.OWN_WORDS) if quotes_us else kept


async def _as_vote(transaction: Transaction, space: SpaceId, said: Suggestion) -> Suggestion:
    """What is said in a trial is no vote."""
    if said.uncounted is not None or not said.cause.session:
        return said
    is_trial = await transaction.value(Q["is_evaluation"], space=space, session=said.cause.session)
    return replace(said, uncounted=Uncounted.EVALUATION) if is_trial else said


async def _refuse(
    desk: Desk, transaction: Transaction, space: SpaceId, said: Suggestion, *, reason: str
) -> Sighted:
    before = await told_before(transaction, space, said, None)
    if before is not None:
        return Sighted(result=Result.REFUSED, sighting=before, reason=reason)
    kept = await keep_words(desk, transaction, space, said, proposal=None, because=Uncounted.REFUSED)
    PROPOSALS_SIGHTINGS.labels("false").inc()
    return Sighted(result=Result.REFUSED, sighting=kept.id, reason=reason)


async def _create(
    desk: Desk, transaction: Transaction, space: SpaceId, said: Suggestion, **words: Any
) -> Sighted:
    muted_until = await desk.muted_until(transaction, space, (said.producer, said.category))
    votes = tally(first_votes(said), limits_for(desk.terms(space), said.scope))
    row = await transaction.one(
        Q["add_proposal"],
        space=space,
        id=desk.new_id(),
        category=said.category,
        scope=said.scope,
        type=said.type,
        what=said.what,
        why=said.why,
        how=said.how,
        payload=json.dumps(dict(said.payload)),
        target=json.dumps(dict(said.target)),
        held=Held.PRODUCER_MUTED if muted_until else None,
        held_until=muted_until,
        producer=said.producer,
        at=desk.clock(),
        seen_count=votes.seen_count,
        days_seen=votes.days_seen,
        first_seen=votes.first_seen,
        last_seen=votes.last_seen,
        priority=priority_of(votes.seen_count),
        **words,
    )
    made = proposal_of(row)
    kept = await add_words(desk, transaction, space, said, proposal=made, because=said.uncounted)
    is_vote = said.uncounted is None
    about = {"category": made.category, "scope": made.scope, "type": made.type, "producer": made.producer}
    await tell(desk, transaction, "proposal_created", said.cause, made, **about)
    if muted_until:
        await tell_held(desk, transaction, made, Held.PRODUCER_MUTED)
    if desk.terms(space).suggest_merges:
        await desk.ask(transaction, COMPARE, space=space)
    PROPOSALS_SIGHTINGS.labels(str(is_vote).lower()).inc()
    return _sighted(Result.CREATED, kept.id, made, counted=is_vote)


def first_votes(said: Suggestion) -> list[Votes]:
    """What stands behind something new: one cause, or none."""
    if said.uncounted is not None:
        return []
    by = said.cause
    return [
        Votes(agent=by.agent, day=by.day, origin=by.origin, sessions=1, first_at=said.at, last_at=said.at)
    ]


async def _suppress(
    desk: Desk, transaction: Transaction, space: SpaceId, said: Suggestion, *, found: Proposal, root: Proposal
) -> Sighted:
    because = said.uncounted or Uncounted.SUPPRESSED
    kept = await keep_words(desk, transaction, space, said, proposal=found, because=because)
    if kept.is_again:
        return _sighted(Result.AGAIN, kept.id, root)
    await transaction.run(Q["said_once_more"], space=space, id=root.id)
    assert root.suppressed_until is not None
    await tell(desk, transaction, "proposal_suppressed", said.cause, root, until=iso(root.suppressed_until))
    PROPOSALS_SIGHTINGS.labels("false").inc()
    PROPOSALS_SUPPRESSED.inc()
    return _sighted(Result.SUPPRESSED, kept.id, root)


async def _merge(
    desk: Desk, transaction: Transaction, space: SpaceId, said: Suggestion, *, found: Proposal, root: Proposal
) -> Sighted:
    reopens = root.state is State.REJECTED and said.uncounted is None
    if reopens:
        row = await transaction.one(Q["reopen_proposal"], space=space, id=root.id, since=said.at)
        root = proposal_of(row)
    family = await family_of(transaction, space, root.id)
    sessions = await _sessions_counted(transaction, space, said, root, family=family)
    because = said.uncounted
    if because is None and is_flood(said.cause.session, sessions, limits_for(desk.terms(space), root.scope)):
        because = Uncounted.FLOOD
    kept = await keep_words(desk, transaction, space, said, proposal=found, because=because)
    if kept.is_again:
        return _sighted(Result.AGAIN, kept.id, root)
    counted = await recount(desk, transaction, space, root, said=1, family=family)
    is_vote = because is None and said.cause.session not in sessions
    about = {"seen_count": counted.seen_count, "counted": is_vote, "cause": told_cause(said.cause)}
    await tell(desk, transaction, "proposal_merged", said.cause, counted, **about)
    PROPOSALS_SIGHTINGS.labels(str(is_vote).lower()).inc()
    PROPOSALS_MERGED.inc()
    result = Result.SEEN_AFTER if root.state in DECIDED_FOR else Result.MERGED
    return _sighted(Result.REOPENED if reopens else result, kept.id, counted, counted=is_vote)


async def _sessions_counted(
    transaction: Transaction, space: SpaceId, said: Suggestion, root: Proposal, *, family: list[UUID]
) -> frozenset[SessionId]:
    """Which sessions of the same agent, day and origin have a vote already."""
    rows = await transaction.all(
        Q["sessions_counted"],
        space=space,
        family=family,
        agent=said.cause.agent,
        day=said.cause.day,
        origin=said.cause.origin,
        since=root.counted_since,
        limit=MOST_SESSIONS,
    )
    return frozenset(row["session_id"] for row in rows)


def _sighted(result: Result, sighting: UUID, of: Proposal, *, counted: bool = False) -> Sighted:
    return Sighted(
        result=result,
        sighting=sighting,
        proposal=of.id,
        fingerprint=of.fingerprint,
        seen_count=of.seen_count,
        counted=counted,
    )


MOST_READ = 200
MOST_JUDGED = 3
"""The nearest that judges are asked about."""


async def emit(
    desk: Desk, space: SpaceId, suggestion: Suggestion, *, existing: ProposalId | None = None
) -> Sighted:
    """Sight something, at what stands already if that means the same. `existing` is what the producer itself names.

    Not within a transaction: judges may be asked.
    """
    if existing is not None:
        return await sight(desk, space, suggestion, of=existing)
    try:
        found = await already(desk, space, suggestion)
    except (ProviderDown, ProviderRefused, PartlyEmbedded, StoreDown):
        PROPOSALS_BLIND.inc()
        found = None
    return await sight(desk, space, suggestion, of=found)


async def standing(
    desk: Desk, space: SpaceId, *, scope: str | None = None, limit: int = MOST_READ
) -> list[Proposal]:
    """What is open, in force, or rejected and still silent, the latest seen first."""
    rows = await desk.store.all(
        Q["standing_proposals"], space=space, scope=scope, now=desk.clock(), limit=limit
    )
    return [proposal_of(row) for row in rows]


async def already(desk: Desk, space: SpaceId, suggestion: Suggestion) -> ProposalId | None:
    """The proposal of the scope that means what a suggestion says; none if its words are known, or nobody can tell."""
    among = await standing(desk, space, scope=suggestion.scope)
    profile = Profile(desk.terms(space).profile)
    words = normalise(suggestion.what, profile)
    embedder = embedder_of(desk)
    if not among or embedder is None or any(each.normalised == words for each in among):
        return None
    bar = embedder.profile.threshold(Threshold.PROPOSAL_SUGGEST)
    if bar is None:
        return None
    near = await _near(desk, space, suggestion.what, among, embedder=embedder, bar=bar)
    pairs = [_pair(each, suggestion, similarity, embedder) for each, similarity in near]
    said = await desk.judges.with_model_all(space, pairs)
    request = Request(what=suggestion.what, normalised=words)
    for (each, similarity), judgement in zip(near, said, strict=True):
        stands = Request(what=each.what, normalised=each.normalised)
        like = likeness(stands, request, judgement, similarity=similarity, bar=bar)
        if like.relation is Suggested.SAME and like.confidence >= HOLDS:
            return each.id
    return None


async def _near(
    desk: Desk, space: SpaceId, what: str, among: Sequence[Proposal], *, embedder: Embedder, bar: float
) -> list[tuple[Proposal, float]]:
    """The nearest of some proposals, with how near they lie; none below the bar."""
    vectors = await vectors_of(desk, space, embedder, among)
    if vectors is None:
        raise ProviderDown("The embedder does not answer.")
    (own,) = await embedder.embed([what], Purpose.COMPARE)
    mine = np.asarray(own, dtype=np.float32)
    cosines = [(each, float(vectors[each.id] @ mine)) for each in among if each.id in vectors]
    near = [(each, min(1.0, cosine)) for each, cosine in cosines if cosine >= bar]
    return sorted(near, key=lambda pair: (-pair[1], pair[0].id))[:MOST_JUDGED]


def _pair(stands: Proposal, said: Suggestion, similarity: float, embedder: Embedder) -> Pair:
    return Pair(
        old_ref=stands.id,
        new_ref=UUID(int=0),
        old=Statement(text=stands.what, said_at=stands.created_at),
        new=Statement(text=said.what, said_at=said.at),
        features=Features(similarity=similarity, bars=bars_of(embedder)),
    )
