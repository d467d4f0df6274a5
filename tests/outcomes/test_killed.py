"""A process that is killed in the middle of a batch: all of it is there afterwards, or nothing."""

import asyncio
import sys

import pytest
from tests.outcomes.watching import Watched

from festinger.store.pool import Store

KILLED = """
import asyncio, os, signal, sys
from uuid import uuid4
from festinger.settings.tree import StoreSettings
from festinger.store.pool import open_store
from tests.memory.remembering import Mind
from tests.outcomes.watching import Watched

async def main(url, step, ids):
    def stumble(at):
        if at == step:
            os.kill(os.getpid(), signal.SIGKILL)
    async with open_store(url, StoreSettings(), door="test") as store:
        # Ids of its own: two processes that count alike would make the same ones.
        mind = Mind(store, without_embedder=True, new_id=uuid4)
        hooks = Watched(store, step=stumble, mind=mind).hooks()
        await hooks.on_context_used(ids, {each: "contradicted" for each in ids}, key="k")

asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
"""


@pytest.mark.requirement("O-26")
@pytest.mark.requirement("O-28")
@pytest.mark.parametrize("step", ["logged", "moved", "done"])
async def test_a_killed_process_leaves_all_or_nothing(store: Store, database_url: str, step: str) -> None:
    watched = Watched(store)
    ids = await watched.memories(20)
    before = [await watched.held(each) for each in ids]

    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, database_url, step, *map(str, ids), stderr=asyncio.subprocess.PIPE
    )
    _, told = await killed.communicate()

    assert killed.returncode == -9, told.decode()[-500:]
    assert [await watched.held(each) for each in ids] == before
    outcomes = {str(each): "contradicted" for each in ids}
    first = await watched.hooks().on_context_used(ids, outcomes, key="k")
    again = await watched.hooks().on_context_used(ids, outcomes, key="k")
    assert (first.replayed, again.replayed, again.effects) == (False, True, first.effects)
