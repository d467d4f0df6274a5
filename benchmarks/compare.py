"""Finds what fell since an earlier run.

Only numbers counted from items are compared: times of two runs on a shared machine say little about the code.
A number fell when it is worse and neither value lies within the other's interval; without intervals, when it
is worse by more than the margin of a floor.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from benchmarks.floors import MARGIN
from benchmarks.suite import PRODUCT
from festinger.errors import BadInput

FORMAT = "festinger-bench"

Document = Mapping[str, Any]


def read_document(path: Path) -> Document:
    """Read the document of an earlier run."""
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise BadInput(f"`{path}` cannot be read as JSON.", hint="Name a file that `--json` wrote.") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise BadInput(f"`{path}` is no result of a bench.", hint="Name a file that `--json` wrote.")
    return found


def falls(before: Document, after: Document) -> list[str]:
    """A line for each number of the product that fell."""
    old, new = _ours(before), _ours(after)
    return [
        f"{name}: it fell from {old[name]['value']:.4f} to {new[name]['value']:.4f}."
        for name in old
        if name in new and has_fallen(old[name], new[name])
    ]


def has_fallen(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    better = before["better"]
    if better is None:
        return False
    sign = 1 if better == ">=" else -1
    lost = sign * (before["value"] - after["value"])
    if before["ci"] is None or after["ci"] is None:
        return bool(lost > MARGIN)
    return lost > 0 and not _holds(before["ci"], after["value"]) and not _holds(after["ci"], before["value"])


def _holds(interval: list[float], value: float) -> bool:
    low, high = interval
    return low <= value <= high


def _ours(document: Document) -> dict[str, Mapping[str, Any]]:
    return {
        result["metric"]: result for result in document["results"] if result["system"] == PRODUCT and result["counted"]
    }
