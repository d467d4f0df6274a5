"""Learns from outcomes what helped with which question.

A note that was acted on ranks higher for that question and similar ones only, one that misled lower. A question
is kept as a hash of its words and, once an embedder is available, as a vector. Weight and confidence are not
touched here.
"""

from collections.abc import Mapping
from uuid import UUID

import numpy as np

from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import PartlyEmbedded, ProviderDown, ProviderRefused
from festinger.events.catalogue import Event
from festinger.ids import SpaceId
from festinger.retrieval.deps import RetrievalDeps
from festinger.retrieval.search import usable_embedder
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.store.vectors import to_halfvec

Q = load_queries("festinger.retrieval")

HEARD = "outcome_recorded"
REWARDS: Mapping[str, float] = {"acted": 1.0, "used": 0.3, "dismissed": -0.3, "contradicted": -1.0}
"""What an outcome says about a memory for its question; deferring says nothing."""
EMBEDDED_AT_ONCE = 100


async def record_cue_outcomes(transaction: Transaction, event: Event) -> int:
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
