"""Writes the pairs that `train.py` learns from to say what a new statement does to an older one.

    python -m benchmarks.training.relations FILE

Three sources, all made up: `relations.jsonl` holds people, the notes that a memory kept of them, and new statements with
the places of the notes that they replace, repeat or contradict (a pair is a statement and one of the notes nearest to
it, as in use, or one that it concerns); `statement_pairs.jsonl` holds statements of all kinds with others that repeat,
update, contradict or leave them; `frames.toml` is filled in by `generate`. What two people or two lines have in common
is not known, so a pair belongs to the fold of its line. What repeats or contradicts does so both ways, so half of those are
also learned turned around. `unlabelled` pairs of the same texts are for the teacher to label.
"""

import asyncio
import gzip
import json
import random
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

from benchmarks.training.generate import LABELS, generate
from festinger.embedding.embedder import EmbedderOptions
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.embedding.registry import open_embedder
from festinger.judge.pair_reader import MOST_READ, pair_text

FOLDER = Path(__file__).parent
FOLDS = 10
GENERATED = 90_000
LISTS = {"repeats": "same", "replaces": "update", "contradicts": "contradicts"}
FROM_PERSON, FROM_LINE = 70, 24
"""Unlabelled pairs drawn from the texts of a person or a line."""

Row = dict[str, Any]


def _lines(name: str) -> Iterator[tuple[int, Row]]:
    for number, line in enumerate((FOLDER / name).read_text(encoding="utf-8").splitlines()):
        yield number, json.loads(line)


async def of_people() -> AsyncIterator[Row]:
    embedder = await open_embedder("onnx:all-minilm-l6-v2", EmbedderOptions(offline=True, models=Path(gettempdir())))
    for number, person in _lines("relations.jsonl"):
        notes, statements = person["memories"], person["statements"]
        vectors = await embedder.embed([*notes, *(each["text"] for each in statements)], EmbeddingPurpose.COMPARE)
        nearness = np.asarray(vectors[len(notes) :]) @ np.asarray(vectors[: len(notes)]).T
        for statement, row in zip(statements, nearness, strict=True):
            relations = {place: name for key, name in LISTS.items() for place in statement[key]}
            for place in sorted({*np.argsort(-row)[: MOST_READ + 1].tolist(), *relations}):
                label = LABELS.index(relations.get(place, "independent"))
                yield _row(notes[place], statement["text"], label, number, "people")
    await embedder.close()


def of_statements() -> Iterator[Row]:
    for number, line in _lines("statement_pairs.jsonl"):
        for label, name in enumerate(LABELS):
            yield from (_row(line["old"], new, label, number, "statements") for new in line.get(name, ()))


def unlabelled() -> Iterator[Row]:
    rng = random.Random(0)
    for number, person in _lines("relations.jsonl"):
        texts = [*person["memories"], *(each["text"] for each in person["statements"])]
        yield from _drawn(texts, rng, FROM_PERSON, number)
    for number, line in _lines("statement_pairs.jsonl"):
        texts = [line["old"], *(text for name in LABELS for text in line.get(name, ()))]
        yield from _drawn(texts, rng, FROM_LINE, number)


def _drawn(texts: list[str], rng: random.Random, count: int, number: int) -> Iterator[Row]:
    for _ in range(count):
        old, new = rng.sample(texts, 2)
        yield _row(old, new, None, number, "unlabelled")


def _row(old: str, new: str, label: int | None, number: int, source: str) -> Row:
    return {"old": old, "new": new, "label": label, "fold": number % FOLDS, "source": source, "line": number}


async def collect() -> list[Row]:
    labelled = [row async for row in of_people()] + list(of_statements())
    known = {(row["old"], row["new"]) for row in labelled}
    generated = [row | {"fold": -1, "source": "generated"} for row in generate(GENERATED)]
    rows = labelled + generated + [row for row in unlabelled() if (row["old"], row["new"]) not in known]
    rng = random.Random(1)
    rows += [row | {"old": row["new"], "new": row["old"]} for row in rows if _is_mutual(row) and rng.random() < 0.5]
    return [{"text": pair_text(row.pop("old"), row.pop("new")), **row} for row in rows]


def _is_mutual(row: Row) -> bool:
    return row["fold"] != 0 and row["label"] in (LABELS.index("same"), LABELS.index("contradicts"))


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(gzip.compress(json.dumps(asyncio.run(collect())).encode()))
