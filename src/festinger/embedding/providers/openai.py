"""Embeddings of any server that speaks OpenAI's protocol: `openai:text-embedding-3-small`.

`embedding.base_url` names the server including its `/v1`; the default is OpenAI's own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from festinger.embedding.embedder import EmbedderOptions, Rows
from festinger.embedding.http import EmbeddingProtocol, ProviderHttpClient, RemoteEngine, open_remote
from festinger.embedding.profiles import EmbeddingPurpose

OPENAI = "https://api.openai.com/v1"


async def open_engine(model: str, supplies: EmbedderOptions) -> RemoteEngine:
    def request(texts: Sequence[str], purpose: EmbeddingPurpose, kind: str) -> Mapping[str, Any]:
        return {"model": model, "input": list(texts), "encoding_format": "float"}

    headers = {"Authorization": f"Bearer {supplies.api_key}"} if supplies.api_key else {}
    protocol = EmbeddingProtocol(path="/embeddings", request=request, rows=_rows)
    wire = ProviderHttpClient(supplies.base_url or OPENAI, supplies, headers=headers)
    return await open_remote(f"openai:{model}", wire, protocol, supplies=supplies)


def _rows(answer: Mapping[str, Any]) -> Rows:
    """Order the vectors by `index`: servers may answer in any order."""
    by_index = {int(item["index"]): item["embedding"] for item in answer["data"]}
    return [by_index[place] for place in range(len(answer["data"]))]
