"""Chroma: a persistent client, one collection, cosine. `python store.py FOLDER`."""

import sys
from typing import Any

import chromadb
from chromadb.config import Settings
from lines import serve

PART = 5_000


class Chroma:
    def __init__(self, folder: str) -> None:
        client = chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))
        self._collection = client.create_collection(
            "memories", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def add(self, first: int, texts: list[str], vectors: Any) -> None:
        for start in range(0, len(texts), PART):
            end = min(start + PART, len(texts))
            self._collection.add(
                ids=[str(first + place) for place in range(start, end)],
                documents=texts[start:end],
                embeddings=vectors[start:end],
            )

    def search(self, text: str, vector: Any, k: int) -> list[int]:
        found = self._collection.query(query_embeddings=[vector], n_results=k, include=["documents"])
        return [int(each) for each in found["ids"][0]]


if __name__ == "__main__":
    serve(Chroma(sys.argv[1]))
