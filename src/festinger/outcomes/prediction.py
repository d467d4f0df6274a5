"""How far was a prediction wrong?

Compares what was expected with what came, key by key. Pure; keeping predictions is `predictions`' matter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class Mode(StrEnum):
    """How a prediction came to its end."""

    EXPLICIT = "explicit"
    """Somebody said what came."""
    OBSERVED = "observed"
    """An outcome of its memory stood in for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    predicted: Mapping[str, Any]
    recorded_at: datetime
    actual: Mapping[str, Any] | None = None
    resolved: bool = False
    resolution_mode: Mode | None = None
    prediction_error: float | None = None
    resolved_at: datetime | None = None


def prediction_error(predicted: Mapping[str, Any], actual: Mapping[str, Any]) -> float:
    """The mean over every key of either side: 0 as expected, 1 wholly wrong."""
    keys = sorted({*predicted, *actual})
    if not keys:
        return 0.0
    return sum(_error(key, predicted, actual) for key in keys) / len(keys)


def _error(key: str, predicted: Mapping[str, Any], actual: Mapping[str, Any]) -> float:
    if key not in predicted or key not in actual:
        return 1.0
    expected, came = predicted[key], actual[key]
    if _is_number(expected) and _is_number(came):
        return float(abs(expected - came) / max(abs(expected), abs(came), 1))
    return 0.0 if expected == came else 1.0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
