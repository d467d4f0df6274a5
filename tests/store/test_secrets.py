"""Rotation of the master key, cut short at every step: afterwards the old key or the new one opens everything."""

import asyncio
import random
import signal
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.conftest import MONDAY

from festinger.errors import SettingPinned, Stale
from festinger.ids import MAIN_SPACE, id_maker
from festinger.llm.endpoint import ProviderName
from festinger.settings.master_key import (
    MasterKey,
    Vault,
    ensure_master_key,
    generate_master_key,
    key_id,
    next_key_path,
    system_entropy,
    write_key_file,
)
from festinger.store import secrets
from festinger.store.pool import Store
from festinger.store.queries import Query
from festinger.store.repositories.models import NewModel, add_model, change_model_key, load_stored_models
from festinger.store.secrets import recover_master_key, rotate_master_key

NEW_ID = id_maker(lambda: MONDAY, random.Random(1))
ENDS = ["aaaa", "bbbb", "cccc"]


class Killed(BaseException):
    """What a test raises where a process would have died."""


def found(folder: Path) -> MasterKey:
    return ensure_master_key({}, folder / "config" / "key", data=folder / "data", entropy=system_entropy)


async def started(store: Store, folder: Path) -> MasterKey:
    """What every start does."""
    return await recover_master_key(store, found(folder))


async def with_secrets(store: Store, key: MasterKey) -> None:
    async with store.transaction() as transaction:
        for end in ENDS:
            new = NewModel(
                space=MAIN_SPACE,
                id=NEW_ID(),
                provider=ProviderName.OPENAI,
                model_name=end,
                api_key=SecretStr(f"sk-0123456789-{end}"),
                created_at=MONDAY,
            )
            await add_model(transaction, new, vault=Vault(key, system_entropy))


async def readable(store: Store, key: MasterKey) -> bool:
    shown = await load_stored_models(store, space=MAIN_SPACE, vault=Vault(key, system_entropy))
    return [model.api_key for model in shown] == [f"set (…{end})" for end in ENDS]


@pytest.mark.requirement("X-92", "W-60")
async def test_afterwards_the_new_key_opens_everything_and_the_old_one_nothing(store: Store, tmp_path: Path) -> None:
    old = await started(store, tmp_path)
    await with_secrets(store, old)

    rotated = await rotate_master_key(store, old, entropy=system_entropy)

    assert (rotated.moved, rotated.unreadable) == (3, 0)
    assert await readable(store, rotated.key)
    assert not await readable(store, old)
    assert found(tmp_path).raw == rotated.key.raw
    assert not next_key_path(tmp_path / "config" / "key").exists()
    assert (await started(store, tmp_path)).raw == rotated.key.raw


STEPS = ["write_key_file", "_reseal", "replace_with_next_key", "delete_next_key"]


@pytest.mark.requirement("X-92")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_killed_at_any_step_the_next_start_finds_one_key_that_opens_everything(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, moment: str
) -> None:
    old = await started(store, tmp_path)
    await with_secrets(store, old)
    real = getattr(secrets, step)

    async def die_async(*arguments: object) -> None:
        if moment == "after":
            await real(*arguments)
        raise Killed

    def die(*arguments: object) -> None:
        if moment == "after":
            real(*arguments)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(secrets, step, die_async if step == "_reseal" else die)
        with pytest.raises(Killed):
            await rotate_master_key(store, old, entropy=system_entropy)

    key = await started(store, tmp_path)
    assert await readable(store, key)
    assert not next_key_path(tmp_path / "config" / "key").exists()
    # Only what happens after the commit leaves the new key in force.
    assert (key.raw == old.raw) is (step != "replace_with_next_key")
    assert (await rotate_master_key(store, key, entropy=system_entropy)).moved == 3


@pytest.mark.requirement("X-92")
async def test_killed_between_two_secrets_the_database_has_the_old_ones_whole(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await started(store, tmp_path)
    await with_secrets(store, old)
    real = Vault.seal
    sealed: list[str] = []

    def seal(self: Vault, secret: SecretStr, place: object) -> str:
        if len(sealed) == 2:
            raise Killed
        sealed.append("")
        return real(self, secret, place)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Vault, "seal", seal)
        with pytest.raises(Killed):
            await rotate_master_key(store, old, entropy=system_entropy)

    key = await started(store, tmp_path)
    assert key.raw == old.raw
    assert await readable(store, key)


SCRIPT = """
import asyncio, os, signal, sys
from pathlib import Path
from festinger.settings.master_key import read_key_file, system_entropy
from festinger.settings.tree import StoreSettings
from festinger.store import secrets as rotation
from festinger.store.pool import open_store

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    async with open_store(sys.argv[1], StoreSettings(), door="test") as store:
        setattr(rotation, sys.argv[3], die)
        await rotation.rotate_master_key(store, read_key_file(Path(sys.argv[2])), entropy=system_entropy)

asyncio.run(main())
"""


@pytest.mark.requirement("X-92")
@pytest.mark.parametrize(("step", "is_new"), [("_reseal", False), ("replace_with_next_key", True)])
async def test_a_real_kill_leaves_the_old_or_the_new_whole(
    store: Store, database_url: str, tmp_path: Path, step: str, is_new: bool
) -> None:
    old = await started(store, tmp_path)
    await with_secrets(store, old)

    rotating = await asyncio.create_subprocess_exec(sys.executable, "-c", SCRIPT, database_url, str(old.file), step)
    died = await rotating.wait()
    key = await started(store, tmp_path)

    assert died == -signal.SIGKILL
    assert (key.raw != old.raw) is is_new
    assert await readable(store, key)


@pytest.mark.requirement("X-92")
async def test_a_process_with_the_old_key_seals_nothing_more_after_a_rotation(store: Store, tmp_path: Path) -> None:
    old = await started(store, tmp_path)
    await with_secrets(store, old)
    await rotate_master_key(store, old, entropy=system_entropy)
    (model, *_) = await load_stored_models(store, space=MAIN_SPACE, vault=Vault(old, system_entropy))

    async with store.transaction() as transaction:
        with pytest.raises(Stale, match="master key was changed"):
            await change_model_key(
                transaction, model.id, space=MAIN_SPACE, api_key=SecretStr("sk-x"), vault=Vault(old, system_entropy)
            )
    with pytest.raises(Stale):
        await rotate_master_key(store, old, entropy=system_entropy)


@pytest.mark.requirement("X-92")
async def test_a_start_that_comes_between_commit_and_rename_finishes_the_rotation(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await started(store, tmp_path)
    await with_secrets(store, old)

    def another_starts_first(path: Path) -> None:
        for _ in range(2):
            next_key_path(path).replace(path)

    monkeypatch.setattr(secrets, "replace_with_next_key", another_starts_first)
    rotated = await rotate_master_key(store, old, entropy=system_entropy)

    assert found(tmp_path).raw == rotated.key.raw
    assert await readable(store, rotated.key)


@pytest.mark.requirement("X-91")
async def test_a_lost_key_stops_no_start_and_the_new_one_seals(store: Store, tmp_path: Path) -> None:
    old = await started(store, tmp_path)
    await with_secrets(store, old)
    (tmp_path / "config" / "key").unlink()

    key = await started(store, tmp_path)

    assert key.raw != old.raw
    vault = Vault(key, system_entropy)
    shown = await load_stored_models(store, space=MAIN_SPACE, vault=vault)
    assert {model.api_key for model in shown} == {"unreadable, set again"}
    async with store.transaction() as transaction:
        await change_model_key(
            transaction, shown[0].id, space=MAIN_SPACE, api_key=SecretStr("sk-set-again-dddd"), vault=vault
        )
    assert (await load_stored_models(store, space=MAIN_SPACE, vault=vault))[0].api_key == "set (…dddd)"


@pytest.mark.requirement("X-92")
async def test_what_the_old_key_cannot_open_is_counted_and_stays_as_it_is(store: Store, tmp_path: Path) -> None:
    await with_secrets(store, await started(store, tmp_path))
    (tmp_path / "config" / "key").unlink()
    key = await started(store, tmp_path)
    raw = Query(room="test", name="raw", purpose="raw", sql="select api_key from models order by id")
    before = await store.all(raw)

    rotated = await rotate_master_key(store, key, entropy=system_entropy)

    assert (rotated.moved, rotated.unreadable) == (0, 3)
    assert await store.all(raw) == before


async def test_a_key_from_the_environment_cannot_be_rotated_here(store: Store) -> None:
    with pytest.raises(SettingPinned, match="FESTINGER_SECRET_KEY"):
        await rotate_master_key(store, generate_master_key(system_entropy), entropy=system_entropy)


async def test_a_waiting_key_that_was_never_taken_is_removed_by_the_next_start(store: Store, tmp_path: Path) -> None:
    old = await started(store, tmp_path)
    assert old.file is not None
    write_key_file(next_key_path(old.file), generate_master_key(system_entropy))

    key = await started(store, tmp_path)

    assert key_id(key) == key_id(old)
    assert not next_key_path(old.file).exists()
