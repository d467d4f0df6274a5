"""The suites `speed` and `growth`: texts are the same each time, and every number comes out."""

import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from benchmarks.large_memory import LONG_CUE_WORDS, cues, statements
from benchmarks.recalling import RecallMeasurement
from benchmarks.result import SystemStatus
from benchmarks.run import throw_away_folder
from benchmarks.speed import (
    GROWTH_METRICS,
    SPEED_METRICS,
    grown,
    growth,
    measure_growth,
    measure_speed,
    samples,
    slope_error,
    spread,
)
from benchmarks.stores import StoreAnswers, StoreTexts, asked_of
from benchmarks.suite import Bench

from benchmarks import peer_systems as peers
from benchmarks import stores

OF_A_MILLION = {"speed.recall.1m.p50", "speed.recall.1m.p95"}
BESIDE = {"speed.recall.times_mem0"} | OF_A_MILLION
"""What only a peer or a long run gives."""

SMALL, MIDDLE, LARGE, MILLION = (
    RecallMeasurement(
        memories=memories,
        first=[0.1],
        warm=[0.01, 0.01, took],
        cpu=[0.004],
        long=[0.02],
        small=[0.005],
        crowd=[0.05] * 10,
        crowd_seconds=0.1,
        door_mb=100.0,
        store_mb=50.0,
        disk_bytes=memories * 4096,
        alike={"100": 0.97, "10": 1.0, "1": 1.0},
        worn=[0.011],
        led={"1": [0.002], "2": [0.003, 0.004, 0.005]},
    )
    for memories, took in ((1_000, 0.01), (10_000, 0.01), (100_000, 0.04), (1_000_000, 0.09))
)


def test_statements_are_all_different_and_the_same_each_time():
    some = list(islice(statements(1), 3_000))

    assert len(set(some)) == 3_000
    assert some == list(islice(statements(1), 3_000))
    assert some != list(islice(statements(2), 3_000))


def test_a_fifth_of_the_statements_shares_its_subject_with_others():
    subjects = [text.split()[0] for text in islice(statements(1), 5_000)]
    shared = sum(1 for subject in subjects if subjects.count(subject) > 1) / len(subjects)

    assert 0.15 < shared < 0.25


def test_a_cue_is_of_words_that_were_said_and_a_long_one_of_very_many():
    texts = list(islice(statements(1), 200))
    said = {word for text in texts for word in text.split()}

    (short,) = cues(texts, 1, seed=3)
    (long,) = cues(texts, 1, seed=3, words=LONG_CUE_WORDS)

    assert {word.strip("?") for word in short.split()[2:]} <= said
    assert len(long.split()) == LONG_CUE_WORDS + 2


def test_the_numbers_are_those_of_the_largest_size():
    found = {each.metric: each.value for each in samples([SMALL, MIDDLE, LARGE], embedding=0.006)}

    assert set(found) == {metric.name for metric in SPEED_METRICS} - BESIDE
    assert found["speed.recall.p50"] == pytest.approx(10.0)
    assert found["speed.recall.p95"] == pytest.approx(40.0)
    assert found["speed.recall.embedded"] == pytest.approx(16.0)
    assert found["speed.recall.long"] == pytest.approx(2.0)
    assert found["speed.recall.throughput"] == pytest.approx(100.0)
    assert found["size.disk"] == pytest.approx(4.0)
    assert found["speed.spread.2"] == pytest.approx(4.0)
    assert found["speed.recall.worn"] == pytest.approx(1.1)
    assert spread(LARGE, {}).points["festinger"][-1] == pytest.approx((40.0, 0.95))


def test_a_long_run_tells_of_a_million_beside_and_keeps_the_numbers_of_a_hundred_thousand():
    short = {each.metric: each.value for each in samples([SMALL, MIDDLE, LARGE], embedding=0.006)}
    found = {each.metric: each.value for each in samples([SMALL, MIDDLE, LARGE, MILLION], embedding=0.006)}

    assert found.pop("speed.recall.1m.p50") == pytest.approx(10.0)
    assert found.pop("speed.recall.1m.p95") == pytest.approx(90.0)
    assert found == short


def test_what_stays_the_same_has_no_exponent_and_what_doubles_with_the_store_has_one():
    found = {each.metric: each.value for each in grown([SMALL, MIDDLE, LARGE])}

    assert set(found) == {metric.name for metric in GROWTH_METRICS}
    assert found["growth.recall"] == pytest.approx(0.0)
    assert found["growth.recall.error"] == pytest.approx(0.0)
    assert found["growth.disk"] == pytest.approx(1.0)
    assert growth([SMALL, LARGE]).points["p95"] == [(1_000, 10.0), (100_000, 40.0)]


def test_an_exponent_is_less_sure_the_further_the_points_lie_from_its_line():
    straight = slope_error([(10.0, 1.0), (100.0, 10.0), (1_000.0, 100.0)])

    assert straight == pytest.approx(0.0, abs=1e-9)
    assert slope_error([(10.0, 1.0), (100.0, 30.0), (1_000.0, 100.0)]) > straight
    assert slope_error([(10.0, 1.0), (100.0, 30.0)]) == 0.0


@pytest.mark.postgres
async def test_a_quick_run_measures_every_metric_of_both_from_one_filling():
    with throw_away_folder() as folder:
        for suite in ("speed-0", "growth-0"):
            (folder / suite).mkdir(mode=0o711)
        fast = await measure_speed(Bench(folder=folder / "speed-0", quick=True))
        grows = await measure_growth(Bench(folder=folder / "growth-0", quick=True))

    assert {each.metric for each in fast.samples} == {metric.name for metric in SPEED_METRICS} - BESIDE
    assert {each.metric for each in grows.samples} == {metric.name for metric in GROWTH_METRICS}
    assert not (folder / "growth-0" / "home").exists()


HELD = StoreTexts(texts=["one", "two"], vectors=np.eye(2, dtype=np.float32))


async def test_a_store_that_was_not_asked_for_is_told_as_not_run(tmp_path: Path):
    system, answer = await asked_of("mem0", Bench(folder=tmp_path), held=HELD, cues=HELD, limit=1)

    assert (system.status, answer) == (SystemStatus.NOT_RUN, None)
    assert "--peers" in system.reason


PEER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    texts = json.load(open(asked["texts"]))
    print(json.dumps({"seconds": 2.0} if asked["do"] == "fill" else
                     {"seconds": [0.5] * len(texts), "ids": [[0]] * len(texts)}), flush=True)
"""


@pytest.mark.parametrize(
    ("script", "status", "why"),
    [(PEER, SystemStatus.RAN, ""), ("raise SystemExit('out of luck')", SystemStatus.NOT_RUN, "out of luck")],
    ids=["answers", "crashes"],
)
async def test_a_store_answers_or_says_why_not(
    script: str, status: SystemStatus, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def version(_package: str, _python: Path) -> str:
        return "1.0"

    (tmp_path / "peers" / "mem0").mkdir(parents=True)
    (tmp_path / "peers" / "mem0" / "store.py").write_text(script)
    monkeypatch.setattr(stores, "SCRIPTS", tmp_path / "peers")
    monkeypatch.setattr(peers, "version_of", version)
    bench = Bench(folder=tmp_path, peers=frozenset({"mem0"}), peer_pythons={"mem0": Path(sys.executable)})

    system, answer = await asked_of("mem0", bench, held=HELD, cues=HELD, limit=1)

    assert (system.status, system.reason) == (status, why)
    wanted = StoreAnswers(fill_seconds=2.0, seconds=[0.5, 0.5], ids=[[0], [0]])
    assert answer == (wanted if status is SystemStatus.RAN else None)
