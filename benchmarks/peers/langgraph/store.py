"""LangGraph's store: `InMemoryStore` with its vector index, which reads every vector. `python store.py FOLDER`."""

from typing import Any

from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from lines import serve

SPACE = ("memories",)
DIMS = 384
PART = 5_000


class Given:
    """Vectors that were made elsewhere, by their texts: the hook for an embedder of one's own."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def __call__(self, texts: list[str]) -> list[Any]:
        return [self.known[text] for text in texts]


class Store:
    def __init__(self) -> None:
        self._given = Given()
        self._store = InMemoryStore(index={"dims": DIMS, "embed": self._given, "fields": ["text"]})

    def add(self, first: int, texts: list[str], vectors: Any) -> None:
        for start in range(0, len(texts), PART):
            part = texts[start : start + PART]
            self._given.known = dict(zip(part, vectors[start : start + PART].tolist(), strict=True))
            self._store.batch(
                [
                    PutOp(namespace=SPACE, key=str(first + start + place), value={"text": text})
                    for place, text in enumerate(part)
                ]
            )
        self._given.known = {}

    def search(self, text: str, vector: Any, k: int) -> list[int]:
        self._given.known = {text: vector.tolist()}
        return [int(item.key) for item in self._store.search(SPACE, query=text, limit=k)]


if __name__ == "__main__":
    serve(Store())
