"""A night with a tiny real model: whatever it says, nothing gets in that its sources do not say. `make test-live` runs this."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.consolidation.sleeper import sleeping
from tests.consolidation.test_nights import GARDEN, plant
from tests.jobs.deps import rows
from tests.llama import llama_server
from tests.llm.bench import Bench

from festinger.consolidation.apply import undo_night
from festinger.consolidation.context import find_unsupported
from festinger.consolidation.night import MOST_LINES
from festinger.ids import MAIN_SPACE
from festinger.llm.client import CheckedModel, open_provider
from festinger.llm.endpoint import ProviderName, build_endpoint
from festinger.memory.model import DERIVED

pytestmark = pytest.mark.live

CALLS = 8
SOURCES = (
    "select m.kind, m.content from memory_link l join memory m on m.id = l.to_id and m.status = 'active'"
    " where l.from_id = %(id)s and l.relation = 'derives_from' and l.undone_at is null"
)


@pytest.fixture
async def model() -> AsyncIterator[CheckedModel]:
    with llama_server() as address:
        provider = open_provider(build_endpoint(ProviderName.OPENAI, "smollm2", address=f"{address}/v1"))
        yield CheckedModel(Bench().line(provider))
        await provider.close()


@pytest.mark.requirement("C-07", "C-13", "C-16")
async def test_a_night_with_a_tiny_model_keeps_only_what_is_cited_and_supported_and_can_be_undone(
    model: CheckedModel, database_url: str, tmp_path: Path
):
    async with sleeping(database_url, tmp_path, consolidation__max_calls=CALLS, consolidation__derived_share=0.9) as at:
        await plant(at)
        await at.tell("I do not work on Sundays", kind="preference", tags=("goal",))
        await at.tell("I worked on Sundays in March", kind="episodic", origin="model")
        await at.tell("Ann told at length how the garden came to be, and what she learned from it. " * 5)
        before = await at.state()
        told = await at.night(model)

        assert (told.state, told.error) == ("done", None)
        # A call that was begun may be repaired once.
        assert 1 <= told.model_calls <= CALLS + 1
        assert told.counts, "what became of its answers is counted"
        assert 1 <= len(told.lines) <= MOST_LINES
        standing = await at.memories()
        assert set(GARDEN) <= {each.content for each in standing}
        derived = [each for each in standing if each.kind in DERIVED]
        for each in derived:
            sources = await rows(at.app.store, SOURCES, id=each.id)
            assert len(sources) >= 2
            assert {row["kind"] for row in sources}.isdisjoint(DERIVED)
            assert find_unsupported(each.content, [row["content"] for row in sources]) is None
        texts = [each.content.casefold() for each in standing]
        assert len(set(texts)) == len(texts)
        await undo_night(at.deps, MAIN_SPACE, told.id, by="ada")
        assert await at.state() == before
