"""Embeds the texts of memories.

A statement is embedded before any transaction: once for search, once bare for comparison. Without an embedder
learning continues by words, reports that it is degraded, and the vectors are made later.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from festinger.embedding.embedder import Embedder, Vector
from festinger.embedding.profiles import EmbedderProfile, EmbeddingPurpose, ThresholdName
from festinger.embedding.providers.none import NAME as NO_EMBEDDER
from festinger.errors import PartlyEmbedded, ProviderDown, ProviderRefused
from festinger.judge.model import SimilarityThresholds
from festinger.memory.deps import MemoryDeps
from festinger.memory.model import Kind
from festinger.observability.metrics import DEGRADED
from festinger.store.vectors import EmbeddingModelSpec, QueryVector, build_query_vector
from festinger.text.normalize import exact_hash

log = structlog.get_logger(room="memory")

EMBEDDER = "embedder"
"""Value of `degraded` when the embedder was missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEmbeddingInput:
    """A text to embed, with the kind of memory."""

    text: str
    kind: Kind
    stored_as: str | None = None
    """The text with its context, if it has one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StatementVectors:
    """The vectors of a statement from one model."""

    model: EmbeddingModelSpec
    store: QueryVector
    compare: QueryVector
    store_hash: bytes
    compare_hash: bytes
    is_bare: bool
    """Whether one vector serves search and comparison, because the model reads the same text for both."""
    bars: SimilarityThresholds


async def embed_texts(deps: MemoryDeps, texts: Sequence[MemoryEmbeddingInput]) -> list[StatementVectors | None]:
    """Embed each text; None where no vector can be had. Call outside transactions."""
    embedder = deps.embedder()
    if embedder is None or embedder.name == NO_EMBEDDER or not texts:
        return [None] * len(texts)
    compare = await _vectors(embedder, [words.text for words in texts], EmbeddingPurpose.COMPARE)
    if all(vector is None for vector in compare):
        return [None] * len(texts)
    store = await _embed_for_storage(embedder, texts, compare)
    model = EmbeddingModelSpec(name=embedder.name, dims=embedder.dimensions)
    profile = embedder.profile
    return [
        _build_vectors(words, model, profile, stored=stored, compared=compared)
        for words, stored, compared in zip(texts, store, compare, strict=True)
    ]


def similarity_thresholds(profile: EmbedderProfile) -> SimilarityThresholds:
    """Return the cosine thresholds; None where vectors alone may not decide."""
    same, check = profile.threshold(ThresholdName.SAME), profile.threshold(ThresholdName.CHECK)
    return SimilarityThresholds(
        same=same,
        # Measured on pairs that lie far apart, `check` may exceed `same`; whatever is near enough to be
        # the same must be checked.
        check=check if check is None or same is None else min(check, same),
    )


def vector_columns(vectors: StatementVectors | None) -> dict[str, Any]:
    """Query parameters for storing vectors."""
    if vectors is None:
        nothing = dict.fromkeys(("store", "compare", "store_hash", "compare_hash"))
        return {**nothing, "model": "", "dims": 1, "is_bare": True}
    return {
        "model": vectors.model.name,
        "dims": vectors.model.dims,
        "store": vectors.store.vector,
        "compare": vectors.compare.vector,
        "store_hash": vectors.store_hash,
        "compare_hash": vectors.compare_hash,
        "is_bare": vectors.is_bare,
    }


async def _embed_for_storage(
    embedder: Embedder, texts: Sequence[MemoryEmbeddingInput], compare: Sequence[Vector | None]
) -> list[Vector | None]:
    """Embed for search, reusing the comparison vector where the model would read the same text."""
    profile = embedder.profile
    store: list[Vector | None] = list(compare)
    by_kind: dict[Kind, list[int]] = {}
    for place, words in enumerate(texts):
        if not can_share_vector(words, profile):
            by_kind.setdefault(words.kind, []).append(place)
    for kind, places in by_kind.items():
        wanted = [texts[place].stored_as or texts[place].text for place in places]
        found = await _vectors(embedder, wanted, EmbeddingPurpose.STORE, kind=kind)
        for place, vector in zip(places, found, strict=True):
            store[place] = vector
    return store


def can_share_vector(words: MemoryEmbeddingInput, profile: EmbedderProfile) -> bool:
    """Whether a model would read the same text for search and for comparison."""
    written = profile.written(words.stored_as or words.text, EmbeddingPurpose.STORE, kind=words.kind)
    return not profile.task_types and written == profile.written(words.text, EmbeddingPurpose.COMPARE)


async def _vectors(
    embedder: Embedder, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str = ""
) -> list[Vector | None]:
    try:
        return list(await embedder.embed(texts, purpose, kind=kind))
    except PartlyEmbedded as partly:
        return list(partly.vectors)
    except (ProviderDown, ProviderRefused) as error:
        DEGRADED.labels(EMBEDDER).inc()
        log.warning("learns without vectors", why=error.message, texts=len(texts))
        return [None] * len(texts)


def _build_vectors(
    words: MemoryEmbeddingInput,
    model: EmbeddingModelSpec,
    profile: EmbedderProfile,
    *,
    stored: Vector | None,
    compared: Vector | None,
) -> StatementVectors | None:
    if stored is None or compared is None:
        return None
    return StatementVectors(
        model=model,
        store=build_query_vector(model, stored),
        compare=build_query_vector(model, compared),
        store_hash=exact_hash(words.stored_as or words.text),
        compare_hash=exact_hash(words.text),
        is_bare=can_share_vector(words, profile),
        bars=similarity_thresholds(profile),
    )
