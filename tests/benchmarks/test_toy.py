"""The embedder of large memories: vectors that lie as those of texts do."""

import numpy as np
from benchmarks.toy import Toy, as_of_texts

from festinger.embedding.embedder import EmbedderOptions
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.embedding.registry import open_embedder


def test_most_of_what_tells_vectors_apart_lies_along_few_directions():
    alike = np.random.default_rng(1).standard_normal((400, 64), dtype=np.float32)

    seen = as_of_texts(alike)

    assert np.allclose(np.linalg.norm(seen, axis=1), 1.0, atol=1e-5)
    shares = np.linalg.svd(seen, compute_uv=False) ** 2
    assert shares[:16].sum() > 0.6 * shares.sum()
    filled = np.linalg.svd(alike, compute_uv=False) ** 2
    assert filled[:16].sum() < 0.5 * filled.sum()


async def test_a_cue_is_embedded_once_and_lies_beside_what_it_was_made_of():
    toy = Toy(await open_embedder("hashed:64", EmbedderOptions(offline=True)))

    [kept, other] = await toy.embed(["the red lamp is on", "an old oak tree"], EmbeddingPurpose.STORE)
    [cue] = await toy.embed(["the red lamp"], EmbeddingPurpose.QUERY)
    [again] = await toy.embed(["the red lamp"], EmbeddingPurpose.QUERY)

    assert cue is again
    assert float(cue @ kept) > float(cue @ other)
    assert await toy.embed([], EmbeddingPurpose.STORE) == []
    await toy.close()
