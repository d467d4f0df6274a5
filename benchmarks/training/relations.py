"""Writes the pairs that `encoder.py` learns from to say what a new statement does to an older one.

    python -m benchmarks.training.relations FILE

`relations.jsonl` holds made-up people: notes that a memory kept of them, and new statements with the places of the
notes that they replace, repeat or contradict. A pair is a statement and one of the notes nearest to it, as in use, or one
that it concerns.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from festinger.embedding.embedder import EmbedderOptions
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.embedding.registry import open_embedder
from festinger.judge.model import Relation
from festinger.judge.pair_reader import CLASSES, MOST, pair_text

DATA = Path(__file__).with_name("relations.jsonl")
FOLDS = 10
LISTS = {"repeats": Relation.SAME, "replaces": Relation.UPDATE, "contradicts": Relation.CONTRADICTS}


async def pairs() -> AsyncIterator[dict[str, object]]:
    embedder = await open_embedder("onnx:all-minilm-l6-v2", EmbedderOptions(offline=True, models=Path(gettempdir())))
    for number, line in enumerate(DATA.read_text(encoding="utf-8").splitlines()):
        person = json.loads(line)
        notes, statements = person["memories"], person["statements"]
        vectors = await embedder.embed([*notes, *(each["text"] for each in statements)], EmbeddingPurpose.COMPARE)
        nearness = np.asarray(vectors[len(notes) :]) @ np.asarray(vectors[: len(notes)]).T
        for statement, row in zip(statements, nearness, strict=True):
            relations = {place: name for key, name in LISTS.items() for place in statement[key]}
            for place in {*np.argsort(-row)[: MOST + 1].tolist(), *relations}:
                label = CLASSES.index(relations.get(place, Relation.UNRELATED))
                text = pair_text(notes[place], statement["text"])
                yield {"text": text, "label": label, "fold": number % FOLDS, "cosine": float(row[place])}
    await embedder.close()


async def collect() -> list[dict[str, object]]:
    return [each async for each in pairs()]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(asyncio.run(collect())), encoding="utf-8")
