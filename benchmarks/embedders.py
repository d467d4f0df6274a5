"""Measures the quality and speed of an embedder on public data.

    python benchmarks/embedders.py DATA onnx:all-minilm-l6-v2 [--kinds]

DATA holds the folders `locomo`, `beam100k`, `parade`, `msrp` and `sick` in the formats of the scorecard.
One model per run, because memory is measured per process. Retrieval is plain cosine: recall of the gold turns
at ten, per group and in all. Thresholds come from `calibration` files only. Prints one JSON document.
"""

import argparse
import asyncio
import gzip
import json
import statistics
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from festinger.embedding.embedder import Embedder, EmbedderOptions
from festinger.embedding.profiles import (
    REFERENCE,
    EmbedderProfile,
    EmbeddingPurpose,
    find_profile,
    load_bundled_profiles,
)
from festinger.embedding.registry import open_embedder
from festinger.judge.calibration import CalibrationPair, CalibrationTargets, measure_pairs, propose_thresholds

TOP = 10
SENTENCE = "Caroline said that she moved to the house near the lake with her two dogs last spring."


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    packed = folder / f"{name}.jsonl.gz"
    plain = folder / f"{name}.jsonl"
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else plain.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


async def recall(embedder: Embedder, folder: Path, kind: str) -> dict[str, float]:
    """Mean recall at ten over the answerable questions with gold, in all and per group."""
    corpus, hits = defaultdict(list), defaultdict(list)
    for turn in rows(folder, "corpus"):
        corpus[turn["group"]].append(turn)
    questions = [row for row in rows(folder, "queries") if row["answerable"] and row["gold"]]
    for group, turns in sorted(corpus.items()):
        asked = [row for row in questions if row["group"] == group]
        stored = np.stack(await embedder.embed([turn["text"] for turn in turns], EmbeddingPurpose.STORE, kind=kind))
        cues = np.stack(await embedder.embed([row["text"] for row in asked], EmbeddingPurpose.QUERY))
        ranked = np.argsort(-(cues @ stored.T), axis=1, kind="stable")[:, :TOP]
        for row, places in zip(asked, ranked, strict=True):
            found = {turns[place]["id"] for place in places}
            hits[group].append(len(found & set(row["gold"])) / len(set(row["gold"])))
    every = [share for shares in hits.values() for share in shares]
    return {"all": statistics.mean(every), **{group: statistics.mean(hits[group]) for group in sorted(hits)}}


async def speed(embedder: Embedder, texts: list[str]) -> dict[str, float]:
    """Milliseconds per sentence, alone and in lists of 32; every text is new, so no cache helps."""
    alone, lists = [], []
    for number in range(60):
        since = time.perf_counter()
        await embedder.embed([f"{SENTENCE} {number}"], EmbeddingPurpose.QUERY)
        alone.append(time.perf_counter() - since)
    for number in range(10):
        batch = [f"{text} {number}" for text in texts[number * 32 : number * 32 + 32]]
        since = time.perf_counter()
        await embedder.embed(batch, EmbeddingPurpose.STORE)
        lists.append((time.perf_counter() - since) / 32)
    return {"one_p50_ms": 1000 * statistics.median(alone[10:]), "of_32_p50_ms": 1000 * statistics.median(lists)}


async def thresholds(embedder: Embedder, folder: Path) -> dict[str, Any]:
    pairs = [
        CalibrationPair(a=row["a"], b=row["b"], same=row["label"] == "same") for row in rows(folder, "calibration")
    ]
    proposal = propose_thresholds(await measure_pairs(embedder, pairs), CalibrationTargets())
    best = max(proposal.curve, key=lambda point: point.f1)
    at_same = [p.recall for p in proposal.curve if proposal.same is not None and p.cosine >= proposal.same]
    return {
        "pairs": proposal.pairs,
        "auc": proposal.auc,
        "same": proposal.same,
        "recall_at_same": max(at_same, default=0.0),
        "check": proposal.check,
        "best_f1": {"cosine": best.cosine, "f1": best.f1, "precision": best.precision, "recall": best.recall},
        "curve": [
            [p.cosine, round(p.precision, 3), round(p.recall, 3), round(p.false_merges, 4)]
            for p in proposal.curve[80::5]
        ],
    }


async def opposing(embedder: Embedder, folder: Path) -> dict[str, Any]:
    """The largest cosine that at least 95 % of the contradicting pairs reach."""
    pairs = [row for row in rows(folder, "calibration") if row["label"] == "contradicts"]
    measured = await measure_pairs(embedder, [CalibrationPair(a=row["a"], b=row["b"], same=False) for row in pairs])
    cosines = sorted(pair.cosine for pair in measured)
    return {"pairs": len(cosines), "kept_95": cosines[int(len(cosines) * 0.05)]}


def resident_mb() -> dict[str, float]:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(status[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")}


def _profiles(choice: str, *, kinds: bool) -> dict[str, EmbedderProfile]:
    """The bundled profiles; with `kinds`, the model writes them as the reference does."""
    known = dict(load_bundled_profiles())
    said = known[REFERENCE].kinds if kinds else {}
    return known | {choice: replace(find_profile(choice, known), kinds=said)}


async def report(data: Path, choice: str, *, kinds: bool) -> dict[str, Any]:
    since = time.perf_counter()
    embedder = await open_embedder(choice, EmbedderOptions(offline=True, profiles=_profiles(choice, kinds=kinds)))
    loaded = time.perf_counter() - since
    texts = [turn["text"] for turn in rows(data / "locomo", "corpus")]
    quickness = await speed(embedder, texts)
    memory = resident_mb()
    kind = "episodic" if kinds else ""
    found = {name: await recall(embedder, data / name, kind) for name in ("locomo", "beam100k")}
    result = {"model": choice, "kinds": kinds, "load_s": loaded, **quickness, "memory_mb": memory, "recall": found}
    if not kinds:
        result["thresholds"] = {name: await thresholds(embedder, data / name) for name in ("parade", "msrp")}
        result["opposing"] = await opposing(embedder, data / "sick")
    await embedder.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("model")
    parser.add_argument("--kinds", action="store_true", help="write the kind of a memory before what is stored")
    given = parser.parse_args()
    print(json.dumps(asyncio.run(report(given.data, given.model, kinds=given.kinds)), indent=1))


if __name__ == "__main__":
    main()
