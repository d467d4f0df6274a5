"""How do the words of a memory become vectors, and what if nobody can embed them?

A new statement is embedded before any transaction: once as it is stored for searching, once bare for comparing.
Without an embedder learning goes on by words, says so, and asks for the vectors later.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import structlog

from festinger.embedding.embedder import Embedder, Vector
from festinger.embedding.profiles import Profile, Purpose, Threshold
from festinger.embedding.providers.none import NAME as NO_EMBEDDER
from festinger.errors import PartlyEmbedded, ProviderDown, ProviderRefused
from festinger.judge.model import Bars
from festinger.memory.deps import Desk
from festinger.memory.model import Kind
from festinger.observability.metrics import DEGRADED
from festinger.store.vectors import Probe, VectorModel, probe

log = structlog.get_logger(room="memory")

EMBEDDER = "embedder"
"""What a result says that it went on without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A text that is to be embedded, and as which kind of memory."""

    text: str
    kind: Kind
    stored_as: str | None = None
    """With its context, where it has one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Embedded:
    """A statement as vectors of one model."""

    model: VectorModel
    store: Probe
    compare: Probe
    store_hash: bytes
    compare_hash: bytes
    is_bare: bool
    """Whether the model reads the words alike for searching and comparing, so that one vector serves both."""
    bars: Bars
    direction: Probe | None = None
    """Along which statements and their negations differ, if that was learnt for the model."""


async def embed(desk: Desk, texts: Sequence[Words]) -> list[Embedded | None]:
    """Vectors for each text, or none where there are none to be had. Not within a transaction."""
    embedder = desk.embedder()
    if embedder is None or embedder.name == NO_EMBEDDER or not texts:
        return [None] * len(texts)
    compare = await _vectors(embedder, [words.text for words in texts], Purpose.COMPARE)
    if all(vector is None for vector in compare):
        return [None] * len(texts)
    store = await _stored(embedder, texts, compare)
    model = VectorModel(name=embedder.name, dims=embedder.dimensions)
    profile = embedder.profile
    return [
        _embedded(words, model, profile, stored=stored, compared=compared)
        for words, stored, compared in zip(texts, store, compare, strict=True)
    ]


async def embed_one(desk: Desk, words: Words) -> Embedded | None:
    return (await embed(desk, [words]))[0]


def bars_of(profile: Profile) -> Bars:
    """The cosines from which something holds; none where vectors alone may not decide."""
    same, check = profile.threshold(Threshold.SAME), profile.threshold(Threshold.CHECK)
    return Bars(
        same=same,
        # Where both were measured on pairs that lie far apart, `check` may lie above `same`: what is near enough to
        # be the same is near enough to be looked at.
        check=check if check is None or same is None else min(check, same),
        opposition=profile.threshold(Threshold.OPPOSITION) if profile.direction else None,
    )


def direction_of(profile: Profile, model: VectorModel) -> Probe | None:
    """Along which statements and their negations differ; none where it was not learnt or is turned off."""
    is_on = len(profile.direction) == model.dims and profile.threshold(Threshold.OPPOSITION) is not None
    return probe(model, profile.direction) if is_on else None


def text_hash(text: str) -> bytes:
    return sha256(text.encode()).digest()


def vector_columns(vectors: Embedded | None) -> dict[str, Any]:
    """What a statement that keeps the vectors of a memory asks for."""
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


async def _stored(
    embedder: Embedder, texts: Sequence[Words], compare: Sequence[Vector | None]
) -> list[Vector | None]:
    """The vectors for searching. Where a model would read the very same text, it is not asked again."""
    profile = embedder.profile
    store: list[Vector | None] = list(compare)
    by_kind: dict[Kind, list[int]] = {}
    for place, words in enumerate(texts):
        if not is_read_alike(words, profile):
            by_kind.setdefault(words.kind, []).append(place)
    for kind, places in by_kind.items():
        wanted = [texts[place].stored_as or texts[place].text for place in places]
        found = await _vectors(embedder, wanted, Purpose.STORE, kind=kind)
        for place, vector in zip(places, found, strict=True):
            store[place] = vector
    return store


def is_read_alike(words: Words, profile: Profile) -> bool:
    """Whether a model would read the very same text for searching and for comparing."""
    written = profile.written(words.stored_as or words.text, Purpose.STORE, kind=words.kind)
    return not profile.task_types and written == profile.written(words.text, Purpose.COMPARE)


async def _vectors(
    embedder: Embedder, texts: Sequence[str], purpose: Purpose, *, kind: str = ""
) -> list[Vector | None]:
    try:
        return list(await embedder.embed(texts, purpose, kind=kind))
    except PartlyEmbedded as partly:
        return list(partly.vectors)
    except (ProviderDown, ProviderRefused) as error:
        DEGRADED.labels(EMBEDDER).inc()
        log.warning("learns without vectors", why=error.message, texts=len(texts))
        return [None] * len(texts)


def _embedded(
    words: Words, model: VectorModel, profile: Profile, *, stored: Vector | None, compared: Vector | None
) -> Embedded | None:
    if stored is None or compared is None:
        return None
    return Embedded(
        model=model,
        store=probe(model, stored),
        compare=probe(model, compared),
        store_hash=text_hash(words.stored_as or words.text),
        compare_hash=text_hash(words.text),
        is_bare=is_read_alike(words, profile),
        bars=bars_of(profile),
        direction=direction_of(profile, model),
    )
