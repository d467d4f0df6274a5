"""May this answer be kept as vectors?

A provider can answer with too few rows, with rows of another length, with NaN, or with zeros; such a row is
near to nothing or to everything, and once stored it spoils every search. Here a row becomes a vector of unit
length or an error. What happens to the other texts of the call is decided in `batches`.
"""

import numpy as np
from numpy.typing import NDArray

from festinger.embedding.embedder import Rows, Vector
from festinger.errors import ProviderRefused

SMALLEST_LENGTH = 1e-6
"""A row shorter than this has no direction that float32 could tell from noise."""


def vectors(rows: Rows, *, count: int, dimensions: int, name: str) -> list[Vector]:
    """`rows` as unit vectors, or `ProviderRefused` if a single one of them is bad."""
    table = _table(rows, count=count, dimensions=dimensions, name=name)
    if not np.isfinite(table).all():
        raise ProviderRefused(f"`{name}` answered with a vector that is not made of numbers.")
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    if (lengths < SMALLEST_LENGTH).any():
        raise ProviderRefused(f"`{name}` answered with a vector of zeros.")
    unit = (table / lengths).astype(np.float32)
    # One array a vector: a view would keep the whole batch alive for as long as one of them is cached.
    return [_read_only(row.copy()) for row in unit]


def _table(rows: Rows, *, count: int, dimensions: int, name: str) -> NDArray[np.float64]:
    try:
        table = [np.asarray(row, dtype=np.float64) for row in rows]
    except (TypeError, ValueError) as error:
        raise ProviderRefused(f"`{name}` answered with a vector that is not made of numbers.") from error
    if len(table) != count:
        raise ProviderRefused(f"`{name}` answered with {len(table)} vectors for {count} texts.")
    others = [row.shape for row in table if row.shape != (dimensions,)]
    if others:
        raise ProviderRefused(
            f"`{name}` answered with a vector of shape {others[0]}; it has {dimensions} dimensions.",
            hint="Another model answers under this name; choose it by its own name.",
        )
    return np.stack(table)


def _read_only(vector: Vector) -> Vector:
    vector.flags.writeable = False
    return vector
