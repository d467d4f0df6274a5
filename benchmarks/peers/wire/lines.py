"""How does a peer answer? One JSON object a line, each a question, each answered by one line.

    {"do": "fill", "texts": FILE, "vectors": FILE}          -> {"seconds": 1.5}
    {"do": "ask", "texts": FILE, "vectors": FILE, "k": 10}  -> {"seconds": [0.002, …], "ids": [[4, 17, …], …]}

Texts come as a JSON list, vectors as the rows of a NumPy file, so that nobody embeds anything: what is compared is the
store. An id is the place of a text among all that were filled in, from 0. A peer's own module makes a `Store` and hands
it to `serve`; it knows nothing of the package that asks.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np


class Store(Protocol):
    def add(self, first: int, texts: Sequence[str], vectors: Any) -> None:
        """Keep texts with their vectors; the first has this id, the others follow."""

    def search(self, text: str, vector: Any, k: int) -> list[int]:
        """The ids of the best, nearest first."""


def serve(store: Store) -> None:
    # Libraries that print would be taken for answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    held = 0
    for line in sys.stdin:
        asked = json.loads(line)
        texts = json.loads(Path(asked["texts"]).read_text(encoding="utf-8"))
        vectors = np.load(asked["vectors"])
        if asked["do"] == "fill":
            began = time.perf_counter()
            store.add(held, texts, vectors)
            held += len(texts)
            answer: dict[str, Any] = {"seconds": time.perf_counter() - began}
        else:
            answer = _asked(store, texts, vectors, asked["k"])
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _asked(store: Store, texts: Sequence[str], vectors: Any, k: int) -> dict[str, Any]:
    for text, vector in zip(texts[:20], vectors, strict=False):
        store.search(text, vector, k)
    seconds, ids = [], []
    for text, vector in zip(texts, vectors, strict=True):
        began = time.perf_counter()
        ids.append(store.search(text, vector, k))
        seconds.append(time.perf_counter() - began)
    return {"seconds": seconds, "ids": ids}
