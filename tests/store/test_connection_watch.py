import asyncio

import pytest
from tests.store.relay import Relay, relay_to

from festinger.errors import StoreDown
from festinger.settings.tree import StoreSettings
from festinger.store.pool import Store, open_store
from festinger.store.queries import Query

ONE = Query(room="test", name="one", purpose="x", sql="select 1")


@pytest.mark.requirement("X-26")
@pytest.mark.parametrize("moment", ["begin", "statement", "rows", "commit"])
async def test_a_server_that_freezes_at_any_moment_is_store_down(
    database_url: str, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    monkeypatch.setattr("festinger.store.pool.GRACE_SECONDS", 0.0)
    settings = StoreSettings(pool_min=1, pool_max=2, statement_timeout_ms=500)
    async with relay_to(database_url) as relay, open_store(relay.url, settings, door="test") as store:
        async with asyncio.timeout(60):
            with pytest.raises(StoreDown) as caught:
                await freeze_at(moment, store, relay)

        assert caught.value.details == {"kind": "frozen"}


async def freeze_at(moment: str, store: Store, relay: Relay) -> None:
    if moment == "begin":
        relay.freeze()
    async with store.transaction() as transaction:
        relay.freeze()
        if moment == "statement":
            await transaction.value(ONE)
        if moment == "rows":
            await transaction.run_many(ONE, [{}])
