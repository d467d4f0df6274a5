"""Does what a producer wants to say stand here already?

Words of a model are new each time. So it first reads what stands in the scope: what is open, in force, or rejected and
still silent. What means the same becomes one more sighting there, also where a person has decided; only what is new
begins a proposal. Where nobody can read what stands it is said anyway, and counted: two proposals of one meaning are
shown together later. Detectors have fixed words and need none of this: their fingerprint finds what stands.
"""

from collections.abc import Sequence
from uuid import UUID

import numpy as np

from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import Purpose, Threshold
from festinger.errors import PartlyEmbedded, ProviderDown, ProviderRefused, StoreDown
from festinger.ids import SpaceId
from festinger.judge.model import Features, Pair, Statement
from festinger.observability.metrics import PROPOSALS_BLIND
from festinger.proposals.desk import Desk
from festinger.proposals.fingerprint import Profile, normalise
from festinger.proposals.likeness import Request, Suggested, likeness
from festinger.proposals.meaning import HOLDS, bars_of, embedder_of, vectors_of
from festinger.proposals.proposal import Proposal, ProposalId, proposal_of
from festinger.proposals.sight import sight
from festinger.proposals.sighting import Sighted, Suggestion
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")

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
