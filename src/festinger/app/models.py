"""How does a model come into the table, get tried out and go?

The key is sealed into its row and never shown again. A model that a purpose uses cannot be taken away.
"""

from uuid import UUID

from pydantic import SecretStr

from festinger.app.wiring import App
from festinger.errors import ProviderRefused
from festinger.ids import SpaceId
from festinger.llm.endpoint import provider_named
from festinger.llm.health import Probe, probe
from festinger.llm.ledger import Caller
from festinger.llm.model import Purpose
from festinger.store.repositories.models import NewModel, add_model, delete_model, model_endpoint


async def keep_model(
    app: App, name: str, *, provider: str, space: SpaceId, base_url: str | None, api_key: SecretStr | None
) -> UUID:
    """Add a model to a space; its id."""
    new = NewModel(
        space=space,
        id=app.tools.new_id(),
        provider=provider_named(provider),
        model_name=name,
        base_url=base_url,
        api_key=api_key,
        created_at=app.tools.clock(),
    )
    async with app.store.transaction() as transaction:
        await add_model(transaction, new, vault=app.vault)
    return new.id


async def drop_model(app: App, model: UUID, *, space: SpaceId) -> None:
    async with app.store.transaction() as transaction:
        await delete_model(transaction, model, space=space, used_by=uses_of(app, model, space=space))


async def try_model(app: App, model: UUID, *, space: SpaceId) -> Probe:
    """Make one tiny call to it: its latency, or the error, also if it cannot even be asked."""
    settings = app.settings.for_space(space).llm
    try:
        wanted = await model_endpoint(app.store, model, space=space, vault=app.vault)
        asked = app.switchboard.at(wanted, Purpose.CHAT, caller=Caller(space=space), settings=settings)
    except ProviderRefused as error:
        return Probe(model=str(model), latency_ms=None, error=error)
    return await probe(asked, app.tools.stopwatch)


def uses_of(app: App, model: UUID, *, space: SpaceId) -> list[Purpose]:
    """The purposes that name this model."""
    chosen = app.settings.for_space(space).llm
    return [purpose for purpose in Purpose if getattr(chosen, purpose.value) == str(model)]
