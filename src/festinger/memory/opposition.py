"""Do the vectors of a statement and of a memory differ as a statement and its negation do?

Where the embedder's profile holds a direction of negation, how far the difference points along it goes with the pair
to the judges. Both vectors have length one, so the memory's own share along the direction and the cosine are enough:
no vector leaves the store.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from festinger.embedding.opposition import NEAR
from festinger.ids import MemoryId, SpaceId
from festinger.memory.candidates import Candidate
from festinger.memory.desk import Desk
from festinger.memory.vectors import Embedded
from festinger.store.queries import queries_of
from festinger.store.vectors import nearest

Q = queries_of("festinger.memory")


async def oppositions(
    desk: Desk, space: SpaceId, candidates: Sequence[Candidate], vectors: Embedded | None
) -> Mapping[MemoryId, float]:
    """How far each near candidate differs along the profile's direction; nothing where there is none."""
    if vectors is None or vectors.direction is None:
        return {}
    near = {
        each.memory.id: each.similarity
        for each in candidates
        if each.similarity is not None and each.similarity >= NEAR
    }
    if not near:
        return {}
    async with desk.store.transaction() as transaction:
        rows = await nearest(transaction, Q["along"], vectors.direction, space=space, memories=list(near))
    new = float(
        np.dot(
            vectors.compare.vector.to_numpy().astype(np.float64),
            vectors.direction.vector.to_numpy().astype(np.float64),
        )
    )
    return {
        row["memory_id"]: opposition(new, row["along"], similarity=near[row["memory_id"]]) for row in rows
    }


def opposition(new: float, old: float, *, similarity: float) -> float:
    """The cosine between a difference of two unit vectors and a direction, from the share of each along it."""
    apart = math.sqrt(max(0.0, 2.0 - 2.0 * similarity))
    return max(-1.0, min(1.0, (new - old) / apart)) if apart else 0.0
