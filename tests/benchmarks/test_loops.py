"""The suite `loops` on sets of a few items."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.data import Data
from benchmarks.loop_guard import Row, read_rows
from benchmarks.loops import LOOPS, ordinary_code, read
from benchmarks.suite import Bench

from benchmarks import loops
from festinger.errors import BadInput

LINE = "print(longest_substring('abcabcefghijklmnop'))\n"
STEPS = [
    {"role": "user", "content": "Find me a flight."},
    {"role": "assistant", "content": "Where to?"},
    {"role": "assistant", "content": None, "tool_calls": [{"name": "find", "arguments": "{}"}]},
    {"role": "tool", "content": "none"},
]


def sets(folder: Path, *, source: str = "real") -> Data:
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {
        ("coderepeteval", "texts"): [
            {"id": "r", "source": source, "text": LINE * 20},
            {"id": "s", "source": "synthetic", "text": LINE * 20, "repetition": {"repeated_phrase": [LINE]}},
        ],
        ("tau_airline", "traces"): [{"id": 1, "steps": STEPS}],
        ("beam100k", "corpus"): [
            {"group": "g", "id": "1", "role": "user", "text": "What is a zorse?"},
            {"group": "g", "id": "2", "role": "assistant", "text": "An animal with stripes."},
        ],
        ("trail", "traces"): [
            {"id": "t", "label": "loop", "steps": [{"kind": "llm", "output": "Well."}]},
            {"id": "u", "label": "normal", "steps": [{"kind": "llm", "output": "Done."}]},
        ],
    }
    for (name, file), found in rows.items():
        (folder / name).mkdir()
        (folder / name / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))
    return Data(folder=folder)


@pytest.fixture(autouse=True)
def few_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """One agent and one reply of each kind; all of them take half a minute."""

    def few(name: str) -> list[Row]:
        return [*{(row["half"], row["label"]): row for row in read_rows(name)}.values()]

    monkeypatch.setattr(loops, "read_rows", few)


@pytest.mark.requirement("S-28")
async def test_a_run_measures_every_metric_with_the_baselines_beside_it(tmp_path: Path):
    found = await LOOPS.measure(Bench(folder=tmp_path, data=sets(tmp_path), repeat=1))

    given = {tally.metric for tally in found.tallies} | {sample.metric for sample in found.samples}
    assert given == {metric.name for metric in LOOPS.metrics}
    assert [system.name for system in found.systems] == ["exact_period", "zlib_tail", "repeat_count", "length"]
    values = {(tally.metric, tally.system): tally.value for tally in found.tallies}
    assert values["loops.real.recall", "festinger"] == values["loops.real.recall", "exact_period"] == 1.0


@pytest.mark.requirement("S-07")
async def test_a_smoke_run_asks_no_stopwatch(tmp_path: Path):
    def stopwatch() -> float:
        raise AssertionError("a smoke run must not depend on time")

    bench = Bench(folder=tmp_path, data=sets(tmp_path), smoke=True, stopwatch=stopwatch)

    assert {sample.metric for sample in (await LOOPS.measure(bench)).samples} == {
        "streams.dev.delay",
        "streams.held.delay",
    }


def test_what_assistants_said_is_ordinary(tmp_path: Path):
    found = read(sets(tmp_path))

    assert [text.text for text in found.ordinary] == ["Where to?", "An animal with stripes."]
    assert [trace.is_loop for trace in found.traces] == [True, False]


@pytest.mark.requirement("S-09")
def test_an_unknown_source_is_refused(tmp_path: Path):
    with pytest.raises(BadInput, match="unknown source 'dreamt'"):
        read(sets(tmp_path, source="dreamt"))


def test_ordinary_code_is_fenced_and_the_same_each_time():
    first, second = ordinary_code(), ordinary_code()

    assert first == second
    assert all(text.text.startswith("```python\n") for text in first)
    assert len(first) > 20
