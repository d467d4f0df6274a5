"""Writes the pairs that `train.py` learns from to say what a new statement does to an older one.

    python -m benchmarks.training.relations FILE

Three sources, all made up: `relations.jsonl` holds people, the notes that a memory kept of them, and new statements with
the places of the notes that they replace, repeat or contradict (a pair is a statement and one of the notes nearest to
it, as in use, or one that it concerns); `statement_pairs.jsonl` holds statements of all kinds with others that repeat,
update, contradict or leave them; `frames.toml` is filled in by `generate`. What two people or two lines have in common
is not known, so a pair belongs to the fold of its line. What repeats or contradicts does so both ways, so half of those are
also learned turned around. `unlabelled` pairs of the same texts are for the teacher to label.

Rows of the lines that the reader has not learned yet are marked `fresh` (`LEARNED`), and so are `swapped` pairs: where both
sides name the same person, number or place, the new one is told of another, and no longer concerns the old one.
"""

import asyncio
import gzip
import json
import random
import re
import sys
import tomllib
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
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
LEARNED = {"relations.jsonl": 4843, "statement_pairs.jsonl": 4522}
"""Lines of each file that the reader in the package had learned before it went on learning."""
SWAPPED = 12_000
BEGINNING = 3
"""Words in which a statement names what it is about."""
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
                row = _row(notes[place], statement["text"], label, number, "people")
                yield row | {"fresh": number >= LEARNED["relations.jsonl"]}
    await embedder.close()


def of_statements() -> Iterator[Row]:
    for number, line in _lines("statement_pairs.jsonl"):
        for label, name in enumerate(LABELS):
            for new in line.get(name, ()):
                row = _row(line["old"], new, label, number, "statements")
                yield row | {"fresh": number >= LEARNED["statement_pairs.jsonl"]}


def swapped(rows: list[Row]) -> Iterator[Row]:
    """Pairs that concern each other, the new side told of another person, number or thing of the kind.

    What news shares with the old note says what both are about. Of a repetition only the first words do.
    """
    rng = random.Random(2)
    pools = [each.split(", ") for each in tomllib.loads((FOLDER / "frames.toml").read_text())["swaps"].values()]
    names = _names(text for row in rows for text in (row["old"], row["new"]))
    pools.append(names)
    for row in rng.sample(rows, len(rows)):
        old, new = (_WORD.findall(row[side]) for side in ("old", "new"))
        shared = set(old) & set(new) - (set(names) - set(old[:1]))
        if LABELS[row["label"]] != "update":
            shared &= set(old[:BEGINNING]) & set(new[:BEGINNING])
        told = row["new"]
        for word in sorted(shared):
            if others := _others(word, pools, rng):
                told = re.sub(rf"\b{re.escape(word)}\b", rng.choice(others), told)
        if row["label"] and told != row["new"]:
            yield row | {"fresh": True, "label": LABELS.index("independent"), "source": "swapped", "new": told}


def _others(word: str, pools: list[list[str]], rng: random.Random) -> list[str]:
    """Words that name another of the same kind."""
    if word.isdigit():
        return [str(max(1, int(word) + rng.choice((-3, -2, -1, 1, 2, 5))))]
    return [each for pool in pools if word in pool for each in pool if each != word]


_WORD = re.compile(r"\w+(?:-\w+)*")
_NAMED = re.compile(
    r"([A-Z][^\W\d_]{2,})(?='s |\s(?:is|has|was|works|lives|leads|owns|plays|drives|runs|moved|took)\s)"
)


def _names(texts: Iterable[str]) -> list[str]:
    """Words that begin a statement as a name does, and are never written small."""
    found, small = set(), set()
    for text in texts:
        found.update(match[1] for match in [_NAMED.match(text)] if match)
        small.update(word for word in text.split() if word.islower())
    return sorted(name for name in found if name.lower() not in small and f"{name.lower()}s" not in small)


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
    others = list(islice(swapped([row for row in labelled if row["fold"]]), SWAPPED))
    generated = [row | {"fold": -1, "source": "generated"} for row in generate(GENERATED)]
    rows = labelled + others + generated + [row for row in unlabelled() if (row["old"], row["new"]) not in known]
    rng = random.Random(1)
    rows += [row | {"old": row["new"], "new": row["old"]} for row in rows if _is_mutual(row) and rng.random() < 0.5]
    return [{"text": pair_text(row.pop("old"), row.pop("new")), **row} for row in rows]


def _is_mutual(row: Row) -> bool:
    return row["fold"] != 0 and row["label"] in (LABELS.index("same"), LABELS.index("contradicts"))


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(gzip.compress(json.dumps(asyncio.run(collect())).encode()))
