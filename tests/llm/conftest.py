from collections.abc import AsyncIterator

import pytest
from tests.llm.stub import Stub, running_stub


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    """A server on loopback that speaks like a provider."""
    async with running_stub() as running:
        yield running
