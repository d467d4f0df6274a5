"""What fell since an earlier run."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.compare import falls, read_document

from festinger.errors import BadInput


def run(value: float, ci: tuple[float, float] | None = None, **more: Any) -> dict[str, Any]:
    known = {"metric": "some", "system": "festinger", "counted": True, "better": ">=", "value": value, "ci": ci}
    return {"format": "festinger-bench", "results": [{**known, **more}]}


@pytest.mark.parametrize(
    ("before", "after", "fell"),
    [
        (run(0.9, (0.88, 0.92)), run(0.8, (0.78, 0.82)), True),
        (run(0.9, (0.88, 0.92)), run(0.89, (0.87, 0.91)), False),
        (run(0.9, (0.7, 1.0)), run(0.8, (0.79, 0.81)), False),
        (run(0.8, (0.78, 0.82)), run(0.9, (0.88, 0.92)), False),
        (run(0.8, (0.78, 0.82), better="<="), run(0.9, (0.88, 0.92), better="<="), True),
        (run(0.9), run(0.8), True),
        (run(0.9), run(0.895), False),
        (run(9.0, better=None), run(1.0, better=None), False),
        (run(0.9, counted=False), run(0.1, counted=False), False),
        (run(0.9, system="is_a"), run(0.1, system="is_a"), False),
    ],
    ids=[
        "beyond both intervals",
        "within",
        "within the wide one",
        "risen",
        "risen where less is better",
        "without intervals",
        "within the margin",
        "no direction",
        "a time",
        "another system",
    ],
)
def test_a_number_fell_when_neither_interval_holds_the_other(before: Any, after: Any, fell: bool):
    assert bool(falls(before, after)) is fell


def test_a_fall_is_told_with_both_values():
    assert falls(run(0.9), run(0.8)) == ["some: it fell from 0.9000 to 0.8000."]
    assert falls(run(0.9), {"results": []}) == []


@pytest.mark.parametrize("text", ["", "{}", '{"format": "other"}', "[]"])
def test_only_a_result_of_a_bench_is_compared(tmp_path: Path, text: str):
    path = tmp_path / "old.json"
    path.write_text(text)

    with pytest.raises(BadInput):
        read_document(path)


def test_a_result_is_read(tmp_path: Path):
    path = tmp_path / "old.json"
    path.write_text(json.dumps(run(0.5)))

    assert read_document(path)["results"][0]["value"] == 0.5
