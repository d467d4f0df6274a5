"""mem0 without a model (`infer=False`), on a Chroma folder. `python store.py FOLDER`.

Its own `add` writes one memory after the other and takes hours for a large store, so it is filled through its vector
store, with the payload that `add` would write. Asked it is by its own `search`.
"""

import hashlib
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

FOLDER = Path(sys.argv[1])
os.environ |= {
    "MEM0_TELEMETRY": "False",
    "ANONYMIZED_TELEMETRY": "False",
    "MEM0_DIR": str(FOLDER),
    # Nothing is asked of it; without a key its client refuses to be made.
    "OPENAI_API_KEY": "unused",
}

from lines import serve  # noqa: E402
from mem0 import Memory  # noqa: E402

PART = 5_000
USER = "somebody"


class Given:
    """Vectors that were made elsewhere, by their texts."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def embed(self, text: str, *_how: Any) -> list[float]:
        return self.known[text]


class Store:
    def __init__(self) -> None:
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "chroma", "config": {"collection_name": "memories", "path": str(FOLDER)}},
                "history_db_path": str(FOLDER / "history.db"),
            }
        )
        self._given = self._memory.embedding_model = Given()

    def add(self, first: int, texts: list[str], vectors: Any) -> None:
        now = datetime.now(UTC).isoformat()
        for start in range(0, len(texts), PART):
            part = texts[start : start + PART]
            self._memory.vector_store.insert(
                vectors=vectors[start : start + PART].tolist(),
                payloads=[
                    {
                        "data": text,
                        "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
                        "created_at": now,
                        "user_id": USER,
                    }
                    for text in part
                ],
                ids=[str(UUID(int=first + start + place)) for place in range(len(part))],
            )

    def search(self, text: str, vector: Any, k: int) -> list[int]:
        self._given.known = {text: vector.tolist()}
        found = self._memory.search(text, filters={"user_id": USER}, top_k=k)
        return [UUID(each["id"]).int for each in found["results"]]


if __name__ == "__main__":
    serve(Store())
