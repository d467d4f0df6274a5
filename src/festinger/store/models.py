"""Which models did people add, and with which keys?

Rows of the table `models`. A key comes in as a secret, lies sealed in its row and goes out only inside an
endpoint that is about to be asked; everything else sees whether one is set and how it ends. A key that the
present master key cannot open makes its model unusable and nothing else. Which purposes use a model is
known to the settings and handed in.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import SecretStr

from festinger.errors import BadInput, ModelInUse, NotFound, ProviderRefused, SecretUnreadable
from festinger.ids import SpaceId
from festinger.llm.endpoint import STORED_PROVIDERS, Endpoint, ProviderName, checked_address, endpoint
from festinger.llm.model import Purpose
from festinger.settings.vault import Place, Vault, shown
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of
from festinger.store.rotation import check_in_force

Q = queries_of("festinger.store")

UNREADABLE = "unreadable, set again"
MAX_NAME_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class NewModel:
    """A model to be added, as a person gave it."""

    space: SpaceId
    id: UUID
    provider: ProviderName
    model_name: str
    api_key: SecretStr | None = None
    base_url: str | None = None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredModel:
    """What is shown of a model; never its key."""

    id: UUID
    provider: ProviderName
    model_name: str
    base_url: str | None
    created_at: datetime
    api_key: str
    """Empty, `set (…last4)`, or that it cannot be read."""

    @property
    def usable(self) -> bool:
        return self.api_key != UNREADABLE


async def add_model(transaction: Transaction, new: NewModel, *, vault: Vault) -> None:
    """Keep a model; its key is sealed into its row."""
    name = new.model_name.strip()
    if new.provider not in STORED_PROVIDERS:
        raise BadInput(f"A model of `{new.provider}` cannot be added.", hint=_known())
    if not 0 < len(name) <= MAX_NAME_CHARS:
        raise BadInput(f"The name of a model has 1 to {MAX_NAME_CHARS} characters.")
    await transaction.run(
        Q["add_model"],
        space=new.space,
        id=new.id,
        provider=new.provider,
        model_name=name,
        api_key=await _sealed(transaction, new.api_key, place=_place(new.space, new.id), vault=vault),
        base_url=checked_address(new.base_url) if new.base_url else None,
        at=new.created_at,
    )


async def models(store: Store, *, space: SpaceId, vault: Vault) -> list[StoredModel]:
    """Every model of a space, oldest first."""
    return [_stored(row, space, vault) for row in await store.all(Q["models"], space=space)]


async def model_endpoint(store: Store, model: UUID, *, space: SpaceId, vault: Vault) -> Endpoint:
    """Where this model is asked, with its key. One whose key cannot be read is `ProviderRefused`."""
    row = await store.maybe(Q["find_model"], space=space, id=model)
    if row is None:
        raise NotFound(f"There is no model `{model}` in this space.")
    name = f"{row['provider']}:{row['model_name']}"
    try:
        key = vault.open(row["api_key"], _place(space, model)) if row["api_key"] else None
    except SecretUnreadable as error:
        raise ProviderRefused(
            f"`{name}` is unusable: cannot decrypt its key.",
            hint="Set its key again. If the master key was rotated just now, restart this process.",
        ) from error
    return endpoint(ProviderName(row["provider"]), row["model_name"], address=row["base_url"], api_key=key)


async def change_key(
    transaction: Transaction, model: UUID, *, space: SpaceId, api_key: SecretStr | None, vault: Vault
) -> None:
    """Set a model's key again, or take it away."""
    sealed = await _sealed(transaction, api_key, place=_place(space, model), vault=vault)
    if await transaction.maybe(Q["change_model_key"], space=space, id=model, api_key=sealed) is None:
        raise NotFound(f"There is no model `{model}` in this space.")


async def delete_model(
    transaction: Transaction, model: UUID, *, space: SpaceId, used_by: Collection[Purpose]
) -> None:
    """Take a model away, unless a purpose uses it."""
    if used_by:
        purposes = ", ".join(f"`{purpose}`" for purpose in sorted(used_by))
        raise ModelInUse(
            f"This model is in use for {purposes}.", purposes=[purpose.value for purpose in sorted(used_by)]
        )
    if await transaction.maybe(Q["delete_model"], space=space, id=model) is None:
        raise NotFound(f"There is no model `{model}` in this space.")


def _place(space: SpaceId, model: UUID) -> Place:
    return Place(table="models", column="api_key", space=space, row=str(model))


async def _sealed(
    transaction: Transaction, secret: SecretStr | None, *, place: Place, vault: Vault
) -> str | None:
    if secret is None or not secret.get_secret_value().strip():
        return None
    await check_in_force(transaction, vault.key_id)
    return vault.seal(SecretStr(secret.get_secret_value().strip()), place)


def _stored(row: Mapping[str, Any], space: SpaceId, vault: Vault) -> StoredModel:
    return StoredModel(
        id=row["id"],
        provider=ProviderName(row["provider"]),
        model_name=row["model_name"],
        base_url=row["base_url"],
        created_at=row["created_at"],
        api_key=_shown(row["api_key"], _place(space, row["id"]), vault),
    )


def _shown(sealed: str | None, place: Place, vault: Vault) -> str:
    if sealed is None:
        return ""
    try:
        return shown(vault.open(sealed, place))
    except SecretUnreadable:
        return UNREADABLE


def _known() -> str:
    return "Known are " + ", ".join(f"`{provider}`" for provider in STORED_PROVIDERS) + "."
