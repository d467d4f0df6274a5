"""Are the judges measured rightly, beside baselines that see the same?"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.catalogue import SUITES
from benchmarks.contradiction import balanced, findings
from benchmarks.data import Data
from benchmarks.dedup import FACTS, cosine_dedup, precision_at_half, recall_where_precise, rows_for_facts, we_merge
from benchmarks.judging import JudgingPair, JudgingTexts, judge_pairs, negation_objects, one_word_objects, we_object
from benchmarks.run import throw_away_folder
from benchmarks.streams import nearest_wins, through
from benchmarks.suite import PRODUCT, Bench, SuiteResult
from benchmarks.supersession import bm25, macro_f1, open_home
from tests import database

from benchmarks import contradiction, dedup, judging, supersession
from festinger.client.memory import Memory
from festinger.client.memory import open as open_memory
from festinger.judge.model import SimilarityThresholds
from festinger.judge.pair_reader import NAME

BARS = SimilarityThresholds(same=0.95, check=0.4)


class Alike(dict[str, Any]):
    """Vectors of which every two are equally near."""

    def __missing__(self, _text: str) -> Any:
        return np.array([0.9, 0.0], dtype=np.float32)


NEAR = JudgingTexts(vectors=Alike(), bars=BARS)


def pair(a: str, b: str, label: str, *, category: str = "") -> JudgingPair:
    return JudgingPair(id=f"{a}|{b}", a=a, b=b, label=label, category=category)


async def judged(*pairs: JudgingPair) -> JudgingTexts:
    """The texts with what the judges as shipped say of them, in both orders."""
    texts = JudgingTexts(vectors=Alike(), bars=BARS)
    await judge_pairs(texts, [order for each in pairs for order in ((each.a, each.b), (each.b, each.a))])
    return texts


@pytest.mark.requirement("S-26")
async def test_a_contradiction_counts_in_either_order():
    shut, open_ = pair("the door is open", "the door is not open", ""), pair("the door is open", "the door is open", "")
    texts = await judged(shut, open_)

    assert we_object(texts, shut.a, shut.b)
    assert we_object(texts, shut.b, shut.a)
    assert not we_object(texts, open_.a, open_.b)


def test_the_baselines_are_what_they_say():
    assert negation_objects(NEAR, "it runs", "it never runs")
    assert not negation_objects(NEAR, "it never runs", "it doesn't run")
    assert one_word_objects(NEAR, "it runs fast", "it runs slow")
    assert not one_word_objects(NEAR, "one two three four", "five six seven eight")
    assert not negation_objects(
        JudgingTexts(vectors=dict.fromkeys(("a", "no"), np.zeros(2, dtype=np.float32)), bars=BARS), "a", "no"
    )


@pytest.mark.requirement("S-26")
async def test_balanced_accuracy_counts_every_category_alike():
    pairs = [
        *(pair(f"a red door {n}", f"a blue door {n}", "contradicts", category="colour") for n in range(3)),
        pair("a door shuts", "a door drifts", "contradicts", category="other"),
        pair("it is near", "it is near", "entails"),
    ]

    found = balanced(PRODUCT, await judged(*pairs), pairs, lambda _texts, one, _other: one.startswith("a red"))

    assert found.value == pytest.approx((0.5 + 1.0) / 2)
    assert [item.right for item in found.items] == [True, True, True, False, True]


@pytest.mark.requirement("S-26")
async def test_a_finding_says_who_judged_and_why():
    up = pair("it is up", "it is down", "contradicts")
    [found] = findings(await judged(up), [up], we_object)

    assert (found.wanted, found.found, found.right) == (True, True, True)
    assert f" by {NAME}: " in found.told["said"]


def test_a_thousand_facts_typed_in_eight_ways_are_a_thousand():
    assert rows_for_facts() == FACTS


async def test_merging_recalls_nothing_where_it_is_not_precise():
    pairs = [pair("a b c", "a b c", "same"), pair("Anna has a cat", "Bert owns a boat", "different")]
    merge_all = cosine_dedup()["cosine_dedup_85"]

    assert recall_where_precise("ours", await judged(*pairs), pairs, we_merge).value == 1.0
    assert recall_where_precise("theirs", JudgingTexts(vectors={}, bars=BARS), [], merge_all).value == 0.0


def test_precision_at_half_is_read_where_half_is_found():
    scores = np.array([0.9, 0.8, 0.7, 0.6])

    assert precision_at_half(scores, np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4)) == 1.0
    assert precision_at_half(scores, np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4)) == 0.5
    assert precision_at_half(np.array([]), np.array([]), np.array([])) == 0.0


STREAM = [
    "Anna lives in Paris.",
    "Bert lives in Paris.",
    "Anna lives in Rome.",
    "Anna likes tea.",
    "Anna likes coffee.",
    "Anna lives in Rome.",
    "The user was born in Lima.",
    "The user was born in Quito.",
]


@pytest.mark.postgres
async def test_a_stream_is_learned_as_a_user_does():
    with throw_away_folder() as folder:
        async with open_home(Bench(folder=folder), "stream") as memory:
            held = await through(memory)(STREAM)

    assert held.superseded_by == {0: 2}
    assert held.merged_into == {5: 2}
    assert held.conflicts[7] == {6}
    assert held.active == {1, 2, 3, 4, 6}


async def test_newest_wins_replaces_what_still_holds():
    held = await nearest_wins(NEAR, 0.7)(STREAM[:5])

    assert len(held.superseded_by) == 4


def test_of_texts_that_match_about_as_well_the_newer_answers():
    texts = ["the cat sleeps here", "a dog barks", "the cat sleeps here", "the cat sleeps here at night"]

    assert bm25(texts)("where does the cat sleep?") == 2
    assert bm25(texts)("which dog barks?") == 1
    assert bm25(texts, within=0.8)("where does the cat sleep?") == 3


async def test_macro_f1_counts_each_label_alike():
    pairs = [
        pair("My pen preference: a blue pen", "For pen I want this: a blue pen", "same"),
        pair("My pen preference: a blue pen", "My pen preference: a red pen", "update"),
        pair("My pen preference: a blue pen", "My car rule: never on Sundays", "unrelated"),
    ]

    other = pair("x", "y", "same")
    texts = await judged(*pairs, other)

    assert macro_f1(texts, pairs) == 1.0
    assert macro_f1(texts, [*pairs, other]) < 1.0


async def test_labels_reach_no_judge():
    turned = [pair("it is up", "it is down", label) for label in ("contradicts", "entails")]
    texts = await judged(*turned)

    first, second = (findings(texts, [each], we_object)[0] for each in turned)

    assert first.found == second.found
    assert first.told["said"] == second.told["said"]


def written(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    file = folder / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def some_pairs(**labels: tuple[str, str]) -> list[dict[str, Any]]:
    return [
        {"id": f"{label}{n}", "a": a, "b": b, "label": label.rstrip("2"), "category": "some"}
        for n, (label, (a, b)) in enumerate(labels.items())
    ]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Data:
    """One or two items of every set, and vectors that cost nothing."""
    nli = some_pairs(contradicts=("the door is open", "the door is not open"), entails=("it rains", "it rains"))
    same = some_pairs(same=("a b c", "A b c."), different=("it costs 5", "it costs 6"))
    rules = some_pairs(same=("My pen rule: blue", "For pen I want this: blue"))
    for name, rows in (("sick", nli), ("breaking_nli", nli), ("negation_nli", nli), ("parade", same), ("msrp", same)):
        written(tmp_path, f"{name}/pairs", rows)
    written(tmp_path, "supersessionbench/pairs", rules)
    chain: list[dict[str, Any]] = [
        {"id": f"c/v{n}", "group": "c", "text": f"My pen rule: {colour}"} for n, colour in enumerate(("blue", "red"), 1)
    ]
    written(tmp_path, "supersessionbench/stream", chain)
    facts: list[dict[str, Any]] = [
        {"id": "1", "text": "The head of Acme is Ann Lee.", "superseded_by": "2"},
        {"id": "2", "text": "The head of Acme is Bo Sand.", "superseded_by": None},
    ]
    asked: list[dict[str, Any]] = [
        {"id": "q", "text": "Who is the head of Acme?", "hops": "single", "gold": ["2"], "stale": ["1"]}
    ]
    for size in ("6k", "32k"):
        written(tmp_path, f"factconsolidation/stream_{size}", facts)
        written(tmp_path, f"factconsolidation/queries_{size}", asked)
    life: list[dict[str, Any]] = [
        {"id": "a", "text": "The user lives in Oslo.", "kind": "dynamic", "superseded_by": "b"},
        {"id": "b", "text": "The user lives in Bergen.", "kind": "dynamic", "superseded_by": None},
        {"id": "c", "text": "The user was born in Lima.", "kind": "static", "superseded_by": None},
        {"id": "d", "text": "The user was born in Quito.", "kind": "static_conflict", "superseded_by": None},
    ]
    plain: dict[str, Any] = {"group": "u", "conflict_with": None, "duplicate_of": None}
    written(
        tmp_path,
        "memconflict/stream",
        [{**plain, **row} for row in life[:3]] + [{**plain, **life[3], "conflict_with": "c"}],
    )

    async def near(_texts: object) -> JudgingTexts:
        return NEAR

    for module in (contradiction, dedup, supersession):
        monkeypatch.setattr(module, "embedded", near)
    return Data(folder=tmp_path)


async def measured(name: str, data: Data) -> SuiteResult:
    """What a suite finds on this data; it gives every metric that it names, for each system."""
    suite = SUITES[name]
    with throw_away_folder() as folder:
        found = await suite.measure(Bench(folder=folder, data=data))
    ours = {each.metric for each in found.tallies if each.system == PRODUCT}
    ours |= {each.metric for each in found.samples if each.system == PRODUCT}
    assert ours == {metric.name for metric in suite.metrics}
    assert {each.system for each in found.tallies} == {PRODUCT, *(system.name for system in found.systems)}
    return found


@pytest.mark.requirement("S-26")
@pytest.mark.postgres
@pytest.mark.parametrize("name", ["dedup", "contradict"])
async def test_a_suite_gives_every_metric_that_it_names(name: str, data: Data):
    assert (await measured(name, data)).tallies


@pytest.mark.requirement("S-26")
async def test_a_perfect_stream_gives_every_metric_and_reaches_its_goals(
    data: Data, run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    @asynccontextmanager
    async def on_a_clone(_bench: Bench, _name: str) -> AsyncIterator[Memory]:
        url = await asyncio.to_thread(database.clone, run_folder)
        settings = {"home": str(tmp_path / "home"), "secrets": {"key_file": str(tmp_path / "key")}, "offline": True}
        async with open_memory(settings, database=url) as memory:
            yield memory
        database.drop(run_folder, url)

    # Five homes of their own would take 20 seconds to start.
    monkeypatch.setattr(supersession, "open_home", on_a_clone)
    found = await measured("supersede", data)

    ours = {each.metric: each.value for each in found.tallies if each.system == PRODUCT}
    assert (ours["fc32k.answer_at_1"], ours["fc32k.stale_at_1"]) == (1.0, 0.0)
    assert (ours["fc32k.person.answer_at_1"], ours["fc32k.person.stale_at_1"]) == (1.0, 0.0)
    assert (ours["memconflict.update_recall"], ours["memconflict.conflict_recall"]) == (1.0, 1.0)
    assert (ours["memconflict.false_supersession"], ours["ssb.chain_exact"]) == (0.0, 1.0)


async def test_without_baselines_only_we_are_measured(data: Data, tmp_path: Path):
    found = await SUITES["contradict"].measure(Bench(folder=tmp_path, data=data, baselines=frozenset()))

    assert {each.system for each in found.tallies} == {PRODUCT}


async def test_the_bundled_embedder_gives_vectors_of_unit_length():
    texts = await judging.embedded(["a door", "a door", "  ", "a gate"])

    assert set(texts.vectors) == {"a door", "a gate"}
    assert texts.cosine("a door", "a door") == pytest.approx(1, abs=1e-5)
    assert texts.bars.same is not None
