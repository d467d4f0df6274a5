"""Stores the models that people added, their keys, and the costs of model calls.

A key arrives as a secret, is sealed in its row, and leaves only inside an endpoint that is about to be
called; everything else sees whether one is set and how it ends. A key that the current master key cannot open
makes only its model unusable. The ledger has one row per call, with sums for a session, the last 24 hours or
ever, by purpose and by model. Calls without a known price are counted separately and never as free. `llm`
enforces the limits.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID

from pydantic import SecretStr

from festinger.errors import BadInput, ModelInUse, NotFound, ProviderRefused, SecretUnreadable
from festinger.ids import SessionId, SpaceId
from festinger.llm.endpoint import STORED_PROVIDERS, Endpoint, ProviderName, build_endpoint, check_address
from festinger.llm.ledger import CallTotals, ModelCall
from festinger.llm.model import ModelPurpose
from festinger.records import field_values, row_mapper
from festinger.settings.master_key import SecretLocation, Vault, mask_secret
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries
from festinger.store.secrets import require_current_key

Q = load_queries("festinger.store")

UNREADABLE = "unreadable, set again"
MAX_NAME_CHARS = 200
KNOWN_PROVIDERS = f"Known are {', '.join(f'`{provider}`' for provider in STORED_PROVIDERS)}."


@dataclass(frozen=True, slots=True, kw_only=True)
class NewModel:
    """A model to add, as a person entered it."""

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
    """Empty, `set (…last4)`, or a note that it cannot be read."""


async def add_model(transaction: Transaction, new: NewModel, *, vault: Vault) -> None:
    """Store a model and seal its key."""
    name = new.model_name.strip()
    if new.provider not in STORED_PROVIDERS:
        raise BadInput(f"A model of `{new.provider}` cannot be added.", hint=KNOWN_PROVIDERS)
    if not 0 < len(name) <= MAX_NAME_CHARS:
        raise BadInput(f"The name of a model has 1 to {MAX_NAME_CHARS} characters.")
    await transaction.run(
        Q["add_model"],
        space=new.space,
        id=new.id,
        provider=new.provider,
        model_name=name,
        api_key=await _sealed(transaction, new.api_key, place=_place(new.space, new.id), vault=vault),
        base_url=check_address(new.base_url) if new.base_url else None,
        at=new.created_at,
    )


async def load_stored_models(store: Store, *, space: SpaceId, vault: Vault) -> list[StoredModel]:
    """Return all models of a space, oldest first."""
    return [
        _stored_from_row({**row, "api_key": _shown(row["api_key"], _place(space, row["id"]), vault)})
        for row in await store.all(Q["models"], space=space)
    ]


async def load_model_endpoint(store: Store, model: UUID, *, space: SpaceId, vault: Vault) -> Endpoint:
    """Return the endpoint of this model, with its key. Raises `ProviderRefused` if the key cannot be read."""
    row = await store.one(Q["find_model"], _no_model(model), space=space, id=model)
    name = f"{row['provider']}:{row['model_name']}"
    try:
        key = vault.open(row["api_key"], _place(space, model)) if row["api_key"] else None
    except SecretUnreadable as error:
        raise ProviderRefused(
            f"`{name}` is unusable: cannot decrypt its key.",
            hint="Set its key again. If the master key was rotated just now, restart this process.",
        ) from error
    return build_endpoint(ProviderName(row["provider"]), row["model_name"], address=row["base_url"], api_key=key)


async def change_model_key(
    transaction: Transaction, model: UUID, *, space: SpaceId, api_key: SecretStr | None, vault: Vault
) -> None:
    sealed = await _sealed(transaction, api_key, place=_place(space, model), vault=vault)
    await transaction.one(Q["change_model_key"], _no_model(model), space=space, id=model, api_key=sealed)


async def delete_model(
    transaction: Transaction, model: UUID, *, space: SpaceId, used_by: Collection[ModelPurpose]
) -> None:
    """Delete a model unless a purpose uses it."""
    if used_by:
        purposes = ", ".join(f"`{purpose}`" for purpose in sorted(used_by))
        raise ModelInUse(
            f"This model is in use for {purposes}.", purposes=[purpose.value for purpose in sorted(used_by)]
        )
    await transaction.one(Q["delete_model"], _no_model(model), space=space, id=model)


def _no_model(model: UUID) -> NotFound:
    return NotFound(f"There is no model `{model}` in this space.")


def _place(space: SpaceId, model: UUID) -> SecretLocation:
    return SecretLocation(table="models", column="api_key", space=space, row=str(model))


async def _sealed(
    transaction: Transaction, secret: SecretStr | None, *, place: SecretLocation, vault: Vault
) -> str | None:
    if secret is None or not secret.get_secret_value().strip():
        return None
    await require_current_key(transaction, vault.key_id)
    return vault.seal(SecretStr(secret.get_secret_value().strip()), place)


_stored_from_row = row_mapper(StoredModel)


def _shown(sealed: str | None, place: SecretLocation, vault: Vault) -> str:
    if sealed is None:
        return ""
    try:
        return mask_secret(vault.open(sealed, place))
    except SecretUnreadable:
        return UNREADABLE


DAY = timedelta(hours=24)

K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingTotals:
    """Totals over some calls."""

    calls: int = 0
    failed: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    """Calls with unknown price; `cost_usd` does not include them."""
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0

    def __add__(self, other: "SpendingTotals") -> "SpendingTotals":
        return SpendingTotals(
            **{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingLine:
    """What one model cost for one purpose; the model as `provider:model`."""

    purpose: ModelPurpose
    model: str
    spent: SpendingTotals


@dataclass(frozen=True, slots=True, kw_only=True)
class CostReport:
    """Costs over one period."""

    lines: tuple[SpendingLine, ...]

    @property
    def total(self) -> SpendingTotals:
        return sum((line.spent for line in self.lines), start=SpendingTotals())

    @property
    def by_purpose(self) -> dict[ModelPurpose, SpendingTotals]:
        return _grouped(self.lines, lambda line: line.purpose)

    @property
    def by_model(self) -> dict[str, SpendingTotals]:
        return _grouped(self.lines, lambda line: line.model)


class StoredCallLedger:
    """The ledger that `llm` writes to and reads for its limits."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def record(self, call: ModelCall) -> None:
        used = dict.fromkeys(("tokens_in", "tokens_out", "tokens_cached"))
        used |= field_values(call.usage) if call.usage else {}
        await self._store.run(Q["record_call"], **{**used, **field_values(call.caller), **field_values(call)})

    async def tally(self, since: datetime, purpose: ModelPurpose | None = None) -> CallTotals:
        return CallTotals(**await self._store.one(Q["tally_calls"], since=since, purpose=purpose))


async def session_costs(store: Store, *, space: SpaceId, session: SessionId) -> CostReport:
    return await _costs(store, space=space, session=session)


async def last_day_costs(store: Store, *, space: SpaceId, now: datetime) -> CostReport:
    """Return the costs of the last 24 hours."""
    return await _costs(store, space=space, since=now - DAY)


async def daily_costs(store: Store, space: SpaceId, since: datetime) -> list[dict[str, Any]]:
    """Return the costs of each day in US dollars, by purpose."""
    return [dict(row) for row in await store.all(Q["daily_costs"], space=space, since=since)]


async def lifetime_costs(store: Store, *, space: SpaceId) -> CostReport:
    return await _costs(store, space=space)


async def _costs(
    store: Store, *, space: SpaceId, session: SessionId | None = None, since: datetime | None = None
) -> CostReport:
    rows = await store.all(Q["sum_costs"], space=space, session=session, since=since)
    return CostReport(
        lines=tuple(
            SpendingLine(
                purpose=ModelPurpose(row.pop("purpose")),
                model=f"{row.pop('provider')}:{row.pop('model')}",
                spent=SpendingTotals(**row),
            )
            for row in rows
        )
    )


def _grouped(lines: Iterable[SpendingLine], key: Callable[[SpendingLine], K]) -> dict[K, SpendingTotals]:
    sums: dict[K, SpendingTotals] = {}
    for line in lines:
        sums[key(line)] = sums.get(key(line), SpendingTotals()) + line.spent
    return sums
