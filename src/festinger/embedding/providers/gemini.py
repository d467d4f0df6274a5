"""Embeddings of Gemini: `gemini:gemini-embedding-001`.

Gemini gives a different vector for each task, and takes the kind of a memory as the title of what is stored.
The model's profile maps purposes to tasks.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from festinger.embedding.embedder import EmbedderOptions, Rows
from festinger.embedding.http import EmbeddingProtocol, ProviderHttpClient, RemoteEngine, open_remote
from festinger.embedding.profiles import EmbeddingPurpose, find_profile

GEMINI = "https://generativelanguage.googleapis.com/v1beta"


async def open_engine(model: str, supplies: EmbedderOptions) -> RemoteEngine:
    name = f"gemini:{model}"
    task_types = find_profile(name, supplies.profiles).task_types

    def request(texts: Sequence[str], purpose: EmbeddingPurpose, kind: str) -> Mapping[str, Any]:
        shared: dict[str, Any] = {"model": f"models/{model}"}
        if purpose in task_types:
            shared["taskType"] = task_types[purpose]
        # The API takes a title for documents only and refuses it elsewhere.
        if purpose is EmbeddingPurpose.STORE and kind:
            shared["title"] = kind
        return {"requests": [{**shared, "content": {"parts": [{"text": text}]}} for text in texts]}

    headers = {"x-goog-api-key": supplies.api_key} if supplies.api_key else {}
    protocol = EmbeddingProtocol(
        path=f"/models/{quote(model, safe='')}:batchEmbedContents", request=request, rows=_rows
    )
    wire = ProviderHttpClient(supplies.base_url or GEMINI, supplies, headers=headers)
    return await open_remote(name, wire, protocol, supplies=supplies)


def _rows(answer: Mapping[str, Any]) -> Rows:
    return [item["values"] for item in answer["embeddings"]]
