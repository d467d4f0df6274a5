"""Learns the weights of `festinger.memory.extract.classifier` from labeled messages.

    python -m benchmarks.training.statements             cross-validates and writes the weights
    python -m benchmarks.training.statements --dry-run   only cross-validates

`statements.jsonl` holds messages with the exact substrings that are worth remembering. A clause counts as positive if
at least half of it, or most of one substring, overlaps. Logistic regression with an L2 penalty; features seen once
are dropped.
"""

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from festinger.memory.extract.classifier import BIAS, WEIGHTS, build_encoder_input
from festinger.memory.extract.clauses import Clause, features_of, split_clauses

DATA = Path(__file__).with_name("statements.jsonl")
FOLDS = 10
NEIGHBORS = 4
"""Messages in a row that stay in one fold: neighbors are often variants of each other."""
PENALTY = 2.0
STEPS = 400
RATE = 0.5
SMALLEST = 0.05
"""Weights below this are not written."""

LED_IN = 0.4
LEADS = (
    "by the way ", "by the way, ", "btw ", "btw, ", "also ", "also, ", "ps ", "p.s. ", "fyi ", "fyi, ", "oh and ", "just so you know ",
    "just so you know, ", "for context ", "for context: ", "for the record ", "one more thing: ", "hey, ", "hi! ", "ok so ", "well ",
    "well, ", "quick note: ", "as you know ", "I should mention that ", "note that ",
)  # fmt: skip

Vector = NDArray[np.float64]
Rows = list[tuple[frozenset[str], int, int]]


def labeled_clauses() -> Iterator[tuple[Clause, str, int, int]]:
    """Every clause with its message, label and line."""
    for number, line in enumerate(DATA.read_text(encoding="utf-8").splitlines()):
        item = json.loads(line)
        message: str = item["message"]
        spans = [(at := message.index(kept), at + len(kept)) for kept in item["store"]]
        for clause in split_clauses(message):
            label = _is_kept(clause.start, clause.start + len(clause.text), spans)
            yield clause, message, int(label), number


def read_rows() -> Rows:
    return [(features_of(clause, message), label, _fold(line)) for clause, message, label, line in labeled_clauses()]


def _fold(line: int) -> int:
    return line // NEIGHBORS % FOLDS


def export_clauses() -> Iterator[dict[str, object]]:
    """Every clause as the encoder reads it; some that begin a message once more behind a lead-in."""
    chance = Random(0)
    for clause, message, label, line in labeled_clauses():
        row = {"label": label, "fold": _fold(line), "source": "statements", "line": line}
        yield {"text": build_encoder_input(clause, message), **row}
        if clause.start == 0 and chance.random() < LED_IN:
            lead = chance.choice(LEADS)
            led = replace(clause, start=len(lead))
            yield {"text": build_encoder_input(led, lead + message), **row}


def _is_kept(start: int, end: int, spans: list[tuple[int, int]]) -> bool:
    shared = [max(0, min(end, last) - max(start, first)) for first, last in spans]
    most_of_one = any(size >= 0.8 * (last - first) for size, (first, last) in zip(shared, spans, strict=True))
    return most_of_one or sum(shared) >= 0.5 * (end - start)


def train(rows: Rows) -> dict[str, float]:
    """Weights by gradient descent with momentum (Adam); deterministic."""
    counts = Counter(feature for features, _, _ in rows for feature in features)
    names = [BIAS, *sorted(name for name, count in counts.items() if count > 1)]
    places = {name: at for at, name in enumerate(names)}
    held = [[0, *(places[name] for name in features if name in places)] for features, _, _ in rows]
    lengths = np.array([len(each) for each in held])
    columns = np.concatenate([np.array(each) for each in held])
    owners = np.repeat(np.arange(len(rows)), lengths)
    labels = np.array([label for _, label, _ in rows], dtype=np.float64)
    weights = np.zeros(len(names))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        guesses = 1.0 / (1.0 + np.exp(-np.bincount(owners, weights[columns], len(rows))))
        penalty = PENALTY * weights
        penalty[0] = 0.0
        slope = np.bincount(columns, (guesses - labels)[owners], len(names)) + penalty
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        size = RATE * (0.02 + 0.98 * (1 - step / STEPS)) * 0.1
        weights -= size * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-9)
    return dict(zip(names, weights.tolist(), strict=True))


def guess(weights: dict[str, float], features: frozenset[str]) -> float:
    return float(1 / (1 + np.exp(-weights[BIAS] - sum(weights.get(name, 0.0) for name in features))))


def cross_validate(rows: Rows) -> None:
    guesses, labels = [], []
    for fold in range(FOLDS):
        weights = train([row for row in rows if row[2] != fold])
        held = [row for row in rows if row[2] == fold]
        guesses += [guess(weights, features) for features, _, _ in held]
        labels += [label for _, label, _ in held]
    scores, truth = np.array(guesses), np.array(labels) == 1
    order = np.argsort(np.argsort(scores)) + 1
    area = (order[truth].sum() - truth.sum() * (truth.sum() + 1) / 2) / (truth.sum() * (~truth).sum())
    print(f"{len(truth)} clauses, {truth.sum()} kept; AUC {area:.4f}")
    for bar in (0.3, 0.4, 0.5, 0.6, 0.7):
        taken = scores >= bar
        right = (taken & truth).sum()
        print(f"  at {bar}: precision {right / taken.sum():.3f}, recall {right / truth.sum():.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="only cross-validate")
    parser.add_argument("--export", type=Path, help="only write the rows that `train.py` reads to this file")
    given = parser.parse_args()
    if given.export:
        given.export.write_bytes(gzip.compress(json.dumps(list(export_clauses())).encode()))
        return
    rows = read_rows()
    cross_validate(rows)
    if not given.dry_run:
        weights = train(rows)
        kept = sorted((name, value) for name, value in weights.items() if name == BIAS or abs(value) >= SMALLEST)
        target = Path(str(files("festinger.memory.extract").joinpath(WEIGHTS)))
        target.write_text("".join(f"{name}\t{value:.3f}\n" for name, value in kept), encoding="utf-8")
        print(f"wrote {len(kept)} weights")


if __name__ == "__main__":
    main()
