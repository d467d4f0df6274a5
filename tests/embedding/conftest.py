"""Embedders for the tests of this room. The bundled models are opened once: they are shared and never change."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.embedding.servers import Served, serving

from festinger.embedding.embedder import Embedder, EmbedderOptions
from festinger.embedding.registry import open_embedder


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving() as server:
        yield server


def _opened(choice: str) -> Iterator[Embedder]:
    # In a thread of its own: a test that asks for this fixture may have a running loop.
    with ThreadPoolExecutor(1) as thread:
        embedder = thread.submit(asyncio.run, open_embedder(choice, EmbedderOptions(offline=True))).result()
        yield embedder
        thread.submit(asyncio.run, embedder.close()).result()


@pytest.fixture(scope="session")
def minilm() -> Iterator[Embedder]:
    yield from _opened("onnx:all-minilm-l6-v2")


@pytest.fixture(scope="session")
def bge() -> Iterator[Embedder]:
    yield from _opened("onnx:bge-small-en-v1.5")
