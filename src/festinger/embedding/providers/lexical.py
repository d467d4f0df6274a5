"""A reranker that counts shared words: the shipped fake, and a baseline for real ones.

The score is the share of the query's words that a text contains, minus a little for its length, so that of
two texts with the same words the shorter one comes first.
"""

import re
from collections.abc import Sequence

from festinger.embedding.embedder import EmbedderOptions, require_readable

_WORD = re.compile(r"\w+")


class LexicalReranker:
    name = "lexical:"

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        require_readable([query, *texts])
        asked = _words(query)
        return [_score(asked, _words(text)) for text in texts]

    async def close(self) -> None:
        return None


async def open_reranker(model: str, supplies: EmbedderOptions) -> LexicalReranker:
    return LexicalReranker()


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _score(asked: frozenset[str], said: frozenset[str]) -> float:
    if not asked:
        return 0.0
    return len(asked & said) / len(asked) - 0.001 * min(len(said), 100)
