"""Embeddings of a model that Ollama serves: `ollama:nomic-embed-text`.

The default is Ollama on this machine; `embedding.base_url` names another address. Ollama truncates a text
that is longer than the model reads.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from festinger.embedding.embedder import EmbedderOptions, Rows
from festinger.embedding.http import EmbeddingProtocol, ProviderHttpClient, RemoteEngine, open_remote
from festinger.embedding.profiles import EmbeddingPurpose

HERE = "http://127.0.0.1:11434"


async def open_engine(model: str, supplies: EmbedderOptions) -> RemoteEngine:
    def request(texts: Sequence[str], purpose: EmbeddingPurpose, kind: str) -> Mapping[str, Any]:
        return {"model": model, "input": list(texts), "truncate": True}

    protocol = EmbeddingProtocol(path="/api/embed", request=request, rows=_rows)
    wire = ProviderHttpClient(supplies.base_url or HERE, supplies)
    return await open_remote(f"ollama:{model}", wire, protocol, supplies=supplies)


def _rows(answer: Mapping[str, Any]) -> Rows:
    rows: Rows = answer["embeddings"]
    return rows
