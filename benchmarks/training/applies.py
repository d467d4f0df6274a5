"""Writes the pairs that `train.py` learns from to say which notes a message needs.

    python -m benchmarks.training.applies FILE

`applies.jsonl` holds made-up people: notes that a memory kept of them, and messages with the places of the notes that
help. Every note with every message of its person is a pair.
"""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from festinger.retrieval.notes import pair_text

DATA = Path(__file__).with_name("applies.jsonl")
FOLDS = 10


def pairs() -> Iterator[dict[str, object]]:
    for number, line in enumerate(DATA.read_text(encoding="utf-8").splitlines()):
        person = json.loads(line)
        for message in person["messages"]:
            for place, note in enumerate(person["memories"]):
                label = int(place in message["applies"])
                text = pair_text(note, message["text"])
                yield {"text": text, "label": label, "fold": number % FOLDS, "source": "people", "line": number}


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(gzip.compress(json.dumps(list(pairs())).encode()))
