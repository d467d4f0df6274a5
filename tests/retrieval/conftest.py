"""A mind that recalls."""

from collections.abc import Iterator

import pytest
from tests.retrieval.recalling import Recaller

from festinger.store.pool import Store


@pytest.fixture
def by_words(store: Store) -> Iterator[Recaller]:
    """One that has no embedder."""
    mind = Recaller(store, without_embedder=True)
    yield mind
    mind.forget_unwritten()


@pytest.fixture
def mind(store: Store) -> Iterator[Recaller]:
    """One whose vectors are as near to a cue as a test says."""
    made = Recaller(store)
    yield made
    made.forget_unwritten()
