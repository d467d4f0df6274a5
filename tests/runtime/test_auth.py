import asyncio
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.runtime.server import HEARD_WITHIN, MONDAY, SOON, Hands, fixed_tools, opened

from festinger.errors import StoreDown
from festinger.ids import MAIN_SPACE
from festinger.runtime import auth
from festinger.runtime.app import App
from festinger.runtime.auth import LOOKUPS, Keyring
from festinger.services.access import add_space, erase_space, issue_key, withdraw_key
from festinger.store.cache_invalidation import CacheChange, CacheScope, load_cache_versions
from festinger.store.pool import Store
from festinger.store.repositories.auth import AccessRole, ApiKey, load_api_keys

CHANGE = CacheChange(what=CacheScope(space=MAIN_SPACE, room="keys"), version=1)


async def test_a_key_that_was_revoked_in_one_process_stops_working_in_another_within_a_second(
    database_url: str, tmp_path: Path
):
    async with opened(database_url, tmp_path) as one, opened(database_url, tmp_path) as other:
        key, secret = await issue_key(one, "laptop", role=AccessRole.AGENT, space=MAIN_SPACE, agent=None, by="me")
        assert (await other.keyring.find(secret)) == key
        await heard(other, CacheScope(space=MAIN_SPACE, room="keys"))

        await withdraw_key(one, key, by="me")

        async with asyncio.timeout(HEARD_WITHIN):
            await heard(other, CacheScope(space=MAIN_SPACE, room="keys"))
        assert await other.keyring.find(secret) is None


async def test_the_keys_of_an_erased_space_stop_working_in_other_processes(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as one, opened(database_url, tmp_path) as other:
        team = await add_space(one, "team")
        _, secret = await issue_key(one, "laptop", role=AccessRole.AGENT, space=team.id, agent=None, by="me")
        assert await other.keyring.find(secret) is not None
        await heard(other, CacheScope(space=team.id, room="keys"))

        await erase_space(one, team)

        async with asyncio.timeout(SOON):
            while await other.keyring.find(secret) is not None:  # noqa: ASYNC110 - what is gone has no count to wait for
                await asyncio.sleep(0.01)
        assert await other.keyring.find(secret) is None


async def test_with_the_store_away_known_keys_go_on_and_all_others_are_not_let_in(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        key, secret = await issue_key(app, "a", role=AccessRole.AGENT, space=MAIN_SPACE, agent=None, by="me")
        _, unused = await issue_key(app, "b", role=AccessRole.AGENT, space=MAIN_SPACE, agent=None, by="me")
        ring = Keyring(app.store)
        assert await ring.find(secret) == key
        await app.store.pool.close()

        assert await ring.find(secret) == key
        with pytest.raises(StoreDown):
            await ring.find(unused)


async def test_a_key_that_is_revoked_while_it_is_read_does_not_stay_on_the_ring(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with opened(database_url, tmp_path) as app:
        key, secret = await issue_key(app, "a", role=AccessRole.AGENT, space=MAIN_SPACE, agent=None, by="me")
        ring = Keyring(app.store)

        async def read_and_revoked(store: Store, given: str, *, hot: bool) -> ApiKey | None:
            await ring.forget(CHANGE)  # the news of the revocation comes before the answer to the question
            return key

        with monkeypatch.context() as patched:
            patched.setattr(auth, "find_api_key", read_and_revoked)
            await ring.find(secret)
        await withdraw_key(app, key, by="me")

        assert await ring.find(secret) is None


async def test_a_flood_of_unknown_keys_takes_a_few_connections_and_no_memory(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    running, most = 0, 0

    async def slow(store: Store, given: str, *, hot: bool) -> ApiKey | None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return None

    monkeypatch.setattr(auth, "find_api_key", slow)
    async with opened(database_url, tmp_path) as app:
        found = await asyncio.gather(*(app.keyring.find(f"fst_{n:043}") for n in range(500)))

        assert set(found) == {None}
        assert most == LOOKUPS
        assert len(app.keyring._known) == 0


async def test_a_key_of_somebody_else_is_never_looked_up(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with opened(database_url, tmp_path) as app:
        await app.store.pool.close()

        assert await app.keyring.find("sk-of-another-server") is None


async def heard(app: App, what: CacheScope) -> None:
    """Wait until a process has caught up with what was written so far."""
    version = (await load_cache_versions(app.store))[what]
    async with asyncio.timeout(SOON):
        await app.listener.caught_up(CacheChange(what=what, version=version))


async def test_a_use_is_written_beside_the_requests_and_at_most_once_a_minute(database_url: str, tmp_path: Path):
    hands = Hands()
    async with opened(database_url, tmp_path) as app:
        ring = Keyring(app.store, clock=hands.clock)
        _, secret = await issue_key(app, "a", role=AccessRole.AGENT, space=MAIN_SPACE, agent=None, by="me")
        await ring.find(secret)
        unwritten = await last_used(app)
        first = await ring.write_key_uses()
        await ring.find(secret)
        hands.forward(timedelta(seconds=60))
        too_soon = await ring.write_key_uses()
        hands.forward(timedelta(seconds=1))
        second = await ring.write_key_uses()
        idle = await ring.write_key_uses()

        assert unwritten is None
        assert (first, too_soon, second, idle) == (1, 0, 1, 0)
        assert await last_used(app) == MONDAY + timedelta(seconds=61)


async def test_what_was_used_last_is_written_at_the_end(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path, tools=fixed_tools()) as app:
        _, secret = await issue_key(app, "a", role=AccessRole.AGENT, space=MAIN_SPACE, agent=None, by="me")
        await app.keyring.find(secret)

    async with opened(database_url, tmp_path) as again:
        assert await last_used(again) == MONDAY


async def test_a_use_waits_while_the_store_is_away(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        _, secret = await issue_key(app, "a", role=AccessRole.AGENT, space=MAIN_SPACE, agent=None, by="me")
        ring, away = Keyring(app.store), Away()
        await ring.find(secret)
        ring._store = away  # type: ignore[assignment]
        with pytest.raises(StoreDown):
            await ring.write_key_uses()
        ring._store = app.store

        assert await ring.write_key_uses() == 1


class Away:
    async def run(self, *_: object, **__: object) -> int:
        raise StoreDown


async def last_used(app: App) -> datetime | None:
    (key,) = await load_api_keys(app.store)
    return key.last_used_at
