"""What helped with such a question before?

Outcomes teach by question: a note that was acted on for one comes sooner for that one and those like it, and is lifted
for no other. What a question was is kept as a mark of its words and, once somebody could make it, as a vector. Weight
and confidence are moved elsewhere; this moves neither.
"""

from collections.abc import Mapping
from uuid import UUID

import numpy as np

from festinger.embedding.profiles import Purpose
from festinger.errors import PartlyEmbedded, ProviderDown, ProviderRefused
from festinger.events.event import Event
from festinger.ids import SpaceId
from festinger.retrieval.arms import usable
from festinger.retrieval.desk import Desk
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.store.vectors import halfvec

Q = queries_of("festinger.retrieval")

HEARD = "outcome_recorded"
REWARDS: Mapping[str, float] = {"acted": 1.0, "used": 0.3, "dismissed": -0.3, "contradicted": -1.0}
"""What an outcome says of a memory for its question; whoever deferred it said nothing."""
EMBEDDED_AT_ONCE = 100


async def note_outcome(transaction: Transaction, event: Event) -> int:
    """A subscriber: keep what outcomes of a memory say of the questions for which it was brought to mind."""
    if event.payload["outcome"] not in REWARDS:
        return 0
    return await transaction.run(
        Q["keep_cue_outcomes"],
        space=event.space,
        memory=UUID(event.payload["memory"]),
        outcomes=list(REWARDS),
        rewards=list(REWARDS.values()),
    )


async def embed_questions(desk: Desk, space: SpaceId) -> int:
    """Give vectors of the present embedder to questions that have none; how many. Stops where it cannot be had."""
    embedder, made = usable(desk.embedder()), 0
    while embedder is not None:
        rows = await desk.store.all(
            Q["unembedded_cues"], space=space, model=embedder.name, limit=EMBEDDED_AT_ONCE
        )
        if not rows:
            break
        try:
            vectors = list(await embedder.embed([row["cue"] for row in rows], Purpose.QUERY))
        except (PartlyEmbedded, ProviderDown, ProviderRefused):
            break
        for row, vector in zip(rows, vectors, strict=True):
            await desk.store.run(
                Q["put_cue_vector"],
                space=space,
                cue_hash=row["cue_hash"],
                model=embedder.name,
                vector=halfvec(np.asarray(vector)),
            )
        made += len(rows)
    return made
