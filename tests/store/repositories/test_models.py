import random
from uuid import UUID

import pytest
from pydantic import SecretStr
from tests.conftest import MONDAY

from festinger.errors import BadInput, ModelInUse, NotFound, ProviderRefused
from festinger.ids import MAIN_SPACE, SpaceId, id_maker
from festinger.llm.endpoint import OWN_ADDRESS, Endpoint, ProviderName, resolve_endpoint
from festinger.llm.model import ModelPurpose
from festinger.settings.master_key import KEY_BYTES, MasterKey, Vault, system_entropy
from festinger.store.pool import Store
from festinger.store.queries import Query
from festinger.store.repositories.models import (
    UNREADABLE,
    NewModel,
    StoredModel,
    add_model,
    change_model_key,
    delete_model,
    load_model_endpoint,
    load_stored_models,
)

VAULT = Vault(MasterKey(raw=b"a" * KEY_BYTES), system_entropy)
OTHER = Vault(MasterKey(raw=b"b" * KEY_BYTES), system_entropy)
NEW_ID = id_maker(lambda: MONDAY, random.Random(1))
KEY = SecretStr("sk-canary-0123456789-wxyz")


async def added(
    store: Store,
    *,
    provider: ProviderName = ProviderName.OPENAI,
    api_key: SecretStr | None = KEY,
    base_url: str | None = None,
) -> UUID:
    new = NewModel(
        space=MAIN_SPACE,
        id=NEW_ID(),
        provider=provider,
        model_name="gpt-5-mini",
        api_key=api_key,
        base_url=base_url,
        created_at=MONDAY,
    )
    async with store.transaction() as transaction:
        await add_model(transaction, new, vault=VAULT)
    return new.id


async def raw_keys(store: Store) -> list[str | None]:
    query = Query(room="test", name="raw", purpose="raw", sql="select api_key from models order by id")
    return [row["api_key"] for row in await store.all(query)]


async def listed(store: Store, vault: Vault = VAULT) -> list[StoredModel]:
    return await load_stored_models(store, space=MAIN_SPACE, vault=vault)


@pytest.mark.requirement("X-81", "W-60")
async def test_a_model_is_shown_with_the_end_of_its_key_and_no_more(store: Store) -> None:
    model = await added(store)

    (shown,) = await listed(store)

    assert (shown.id, shown.provider, shown.model_name) == (model, ProviderName.OPENAI, "gpt-5-mini")
    assert shown.api_key == "set (…wxyz)"
    assert "canary" not in repr(shown)


@pytest.mark.requirement("X-81", "X-90", "W-60")
async def test_the_key_lies_sealed_in_its_row(store: Store) -> None:
    await added(store)

    (raw,) = await raw_keys(store)

    assert raw is not None
    assert raw.startswith("v1:gcm:")
    assert "canary" not in raw


@pytest.mark.requirement("X-81")
async def test_the_table_itself_refuses_a_key_that_is_not_sealed(store: Store) -> None:
    from psycopg.errors import CheckViolation

    from festinger.errors import FestingerError

    sql = "insert into models values ('main', gen_random_uuid(), 'openai', 'm', 'sk-plain', null, now())"
    with pytest.raises((CheckViolation, FestingerError)):
        await store.run(Query(room="test", name="x", purpose="x", sql=sql))


@pytest.mark.requirement("X-81", "W-61")
async def test_the_endpoint_of_a_row_has_its_key_and_address(store: Store) -> None:
    model = await added(store, base_url="http://127.0.0.1:8080/v1/")

    async def resolve(row: UUID) -> Endpoint:
        return await load_model_endpoint(store, row, space=MAIN_SPACE, vault=VAULT)

    found = await resolve_endpoint(str(model), resolve, environment={})

    assert found is not None
    assert (found.name, found.address, found.api_key) == ("openai:gpt-5-mini", "http://127.0.0.1:8080/v1", KEY)


async def test_without_an_address_the_providers_own_is_used(store: Store) -> None:
    model = await added(store, provider=ProviderName.CLAUDE)

    found = await load_model_endpoint(store, model, space=MAIN_SPACE, vault=VAULT)

    assert found.address == OWN_ADDRESS[ProviderName.CLAUDE]


async def test_a_model_without_a_key_shows_none(store: Store) -> None:
    model = await added(store, provider=ProviderName.OLLAMA, api_key=None)

    (shown,) = await listed(store)

    assert shown.api_key == ""
    assert (await load_model_endpoint(store, model, space=MAIN_SPACE, vault=VAULT)).api_key is None


@pytest.mark.requirement("X-91", "W-60")
async def test_with_the_key_lost_a_model_is_unusable_and_the_rest_runs(store: Store) -> None:
    sealed = await added(store)
    keyless = await added(store, provider=ProviderName.OLLAMA, api_key=None)

    shown = await listed(store, OTHER)

    assert [model.api_key for model in shown] == [UNREADABLE, ""]
    with pytest.raises(ProviderRefused, match="unusable: cannot decrypt"):
        await load_model_endpoint(store, sealed, space=MAIN_SPACE, vault=OTHER)
    assert await load_model_endpoint(store, keyless, space=MAIN_SPACE, vault=OTHER)


@pytest.mark.requirement("X-91")
async def test_an_unreadable_key_can_be_set_again(store: Store) -> None:
    model = await added(store)

    async with store.transaction() as transaction:
        await change_model_key(transaction, model, space=MAIN_SPACE, api_key=SecretStr("sk-another-abcd"), vault=OTHER)

    (shown,) = await listed(store, OTHER)
    assert shown.api_key == "set (…abcd)"


@pytest.mark.requirement("X-90", "W-60")
async def test_a_key_moved_to_another_row_does_not_open_there(store: Store) -> None:
    await added(store)
    thief = await added(store, api_key=SecretStr("sk-of-the-second-row"))
    sql = "update models set api_key = (select api_key from models order by id limit 1)"
    await store.run(Query(room="test", name="x", purpose="x", sql=sql))

    with pytest.raises(ProviderRefused):
        await load_model_endpoint(store, thief, space=MAIN_SPACE, vault=VAULT)


@pytest.mark.requirement("X-81", "W-61")
async def test_a_model_in_use_is_not_deleted_and_the_purpose_is_named(store: Store) -> None:
    model = await added(store)

    async with store.transaction() as transaction:
        with pytest.raises(ModelInUse, match="`judge`, `write`") as raised:
            await delete_model(transaction, model, space=MAIN_SPACE, used_by={ModelPurpose.WRITE, ModelPurpose.JUDGE})

    assert raised.value.http == 409
    assert raised.value.details["purposes"] == ["judge", "write"]
    assert len(await listed(store)) == 1


@pytest.mark.requirement("X-81")
async def test_a_model_that_nobody_uses_is_deleted(store: Store) -> None:
    model = await added(store)

    async with store.transaction() as transaction:
        await delete_model(transaction, model, space=MAIN_SPACE, used_by=())

    assert await listed(store) == []


async def test_a_model_of_another_space_is_not_found(store: Store) -> None:
    model = await added(store)
    elsewhere = SpaceId("elsewhere")

    with pytest.raises(NotFound):
        await load_model_endpoint(store, model, space=elsewhere, vault=VAULT)
    async with store.transaction() as transaction:
        with pytest.raises(NotFound):
            await delete_model(transaction, model, space=elsewhere, used_by=())
        with pytest.raises(NotFound):
            await change_model_key(transaction, model, space=elsewhere, api_key=None, vault=VAULT)


@pytest.mark.parametrize(
    "wrong",
    [
        {"provider": ProviderName.SCRIPTED},
        {"model_name": "  "},
        {"model_name": "m" * 201},
        {"base_url": "ftp://host"},
        {"base_url": "http://user:pass@host"},
    ],
)
async def test_a_model_that_cannot_be_meant_is_refused(store: Store, wrong: dict[str, object]) -> None:
    values: dict[str, object] = {
        "space": MAIN_SPACE,
        "id": NEW_ID(),
        "provider": ProviderName.OPENAI,
        "model_name": "m",
        "created_at": MONDAY,
    }
    new = NewModel(**(values | wrong))  # type: ignore[arg-type]

    async with store.transaction() as transaction:
        with pytest.raises(BadInput):
            await add_model(transaction, new, vault=VAULT)
    assert await listed(store) == []
