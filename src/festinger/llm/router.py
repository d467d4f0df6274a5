"""Chooses the model that answers a caller for a purpose.

Holds the open providers, their guards and the call ledger, and returns a `Model` under the settings in force
for the caller, or none if none is configured. Each package has its own stated path without a model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from festinger.clock import Clock, Stopwatch
from festinger.errors import ProviderRefused
from festinger.ids import NewId
from festinger.llm.client import (
    BufferedLedger,
    CallPolicy,
    CheckedModel,
    GuardedConnection,
    ModelDeps,
    never_in_transaction,
)
from festinger.llm.endpoint import Endpoint, ProviderName, ResolveModel, needs_key, permit_endpoint, resolve_endpoint
from festinger.llm.guards import ServerGuards
from festinger.llm.ledger import CallLedger, ModelCaller, UsageLimits
from festinger.llm.model import Model, ModelPurpose, Provider
from festinger.settings.tree import LlmSettings


def open_provider(asked: Endpoint) -> Provider:
    """Open a provider for this endpoint. It holds connections until it is closed."""
    if needs_key(asked) and asked.api_key is None:
        raise ProviderRefused(f"`{asked.name}` needs an API key.", hint="`festinger models add` takes one.")
    if asked.provider is ProviderName.SCRIPTED:
        from festinger.llm.providers import scripted

        return scripted.open_provider(asked)
    # The client libraries take seconds to load, and most commands never ask a model.
    from festinger.llm.providers import pydantic_ai

    return pydantic_ai.open_provider(asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRouterDeps:
    """What the router takes from outside."""

    ledger: CallLedger
    clock: Clock
    stopwatch: Stopwatch
    new_id: NewId
    environment: Mapping[str, str]
    offline: bool
    open: Callable[[Endpoint], Provider] = open_provider
    holds_transaction: Callable[[], bool] = never_in_transaction


class ModelRouter:
    def __init__(self, outside: ModelRouterDeps) -> None:
        self._outside = outside
        self._deps = ModelDeps(
            book=BufferedLedger(outside.ledger),
            guards=ServerGuards(outside.stopwatch),
            clock=outside.clock,
            stopwatch=outside.stopwatch,
            new_id=outside.new_id,
            holds_transaction=outside.holds_transaction,
        )
        self._open: dict[Endpoint, Provider] = {}

    async def model(
        self, purpose: ModelPurpose, caller: ModelCaller, *, settings: LlmSettings, resolve: ResolveModel
    ) -> Model | None:
        """Return the model that the settings name for this purpose; none if they name none."""
        wanted = await self.endpoint(purpose, settings=settings, resolve=resolve)
        return None if wanted is None else self.at(wanted, purpose, caller=caller, settings=settings)

    async def endpoint(self, purpose: ModelPurpose, *, settings: LlmSettings, resolve: ResolveModel) -> Endpoint | None:
        """Return where the model for this purpose is; none if the settings name none."""
        setting: str = getattr(settings, purpose.value)
        return await resolve_endpoint(setting, resolve, environment=self._outside.environment)

    def at(self, wanted: Endpoint, purpose: ModelPurpose, *, caller: ModelCaller, settings: LlmSettings) -> Model:
        """Return the model at an endpoint, whatever the settings name; for trying one out."""
        permitted = permit_endpoint(wanted, offline=self._outside.offline)
        if permitted not in self._open:
            self._open[permitted] = self._outside.open(permitted)
        line = GuardedConnection(
            self._open[permitted], self._deps, purpose=purpose, caller=caller, terms=build_call_policy(settings)
        )
        return CheckedModel(line)

    async def close(self) -> None:
        """Write the pending ledger rows and close every connection."""
        await self._deps.book.write()
        while self._open:
            _, provider = self._open.popitem()
            await provider.close()


def build_call_policy(settings: LlmSettings) -> CallPolicy:
    daily = settings.daily_limit_usd
    return CallPolicy(
        timeout_s=settings.timeout_s,
        at_once=settings.max_parallel,
        limits=UsageLimits(
            calls_per_hour=settings.max_calls_per_hour, daily_usd=None if daily is None else Decimal(str(daily))
        ),
    )
