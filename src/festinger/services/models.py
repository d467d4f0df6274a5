"""Manages the models table, and calibrates embedders on local examples.

A model's key is sealed into its row and never shown again; a model in use cannot be removed. Calibration
measures examples with an embedder and stores the thresholds in the home, where every process reads them at
its next start; `judge` derives the thresholds.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from pydantic import SecretStr

from festinger.embedding.embedder import Embedder
from festinger.embedding.profiles import FILE, EmbedderProfile, load_measured_profiles, save_profile
from festinger.embedding.registry import open_embedder
from festinger.errors import ProviderRefused
from festinger.ids import MemoryId, SpaceId
from festinger.judge.calibration import (
    CalibrationExample,
    CalibrationResult,
    CalibrationTargets,
    Report,
    apply_calibration,
    calibrate_thresholds,
    examples_from_decision,
    measure_examples,
)
from festinger.judge.records import list_person_decisions
from festinger.llm.endpoint import parse_provider
from festinger.llm.health import ModelProbeResult, probe_model
from festinger.llm.ledger import ModelCaller
from festinger.llm.model import ModelPurpose
from festinger.memory.changes import load_existing_memories
from festinger.memory.late_judgements import build_memory_pair
from festinger.runtime.app import App
from festinger.runtime.providers import build_embedder_options
from festinger.store.repositories.models import NewModel, add_model, delete_model, load_model_endpoint


async def register_model(
    app: App, name: str, *, provider: str, space: SpaceId, base_url: str | None, api_key: SecretStr | None
) -> UUID:
    """Add a model to a space; return its id."""
    new = NewModel(
        space=space,
        id=app.tools.new_id(),
        provider=parse_provider(provider),
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
        await delete_model(transaction, model, space=space, used_by=find_model_purposes(app, model, space=space))


async def ping_model(app: App, model: UUID, *, space: SpaceId) -> ModelProbeResult:
    """Make one tiny call; return its latency or the error, even if it cannot be asked at all."""
    settings = app.settings.for_space(space).llm
    try:
        wanted = await load_model_endpoint(app.store, model, space=space, vault=app.vault)
        asked = app.switchboard.at(wanted, ModelPurpose.CHAT, caller=ModelCaller(space=space), settings=settings)
    except ProviderRefused as error:
        return ModelProbeResult(model=str(model), latency_ms=None, error=error)
    return await probe_model(asked, app.tools.stopwatch)


def find_model_purposes(app: App, model: UUID, *, space: SpaceId) -> list[ModelPurpose]:
    chosen = app.settings.for_space(space).llm
    return [purpose for purpose in ModelPurpose if getattr(chosen, purpose.value) == str(model)]


MOST_DECIDED = 5_000
"""Latest decisions of people that are read: more would hardly move a threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport:
    """The profile in force, the one that was measured, and what led to it."""

    old: EmbedderProfile
    new: EmbedderProfile
    found: CalibrationResult
    examples: int


def ignore_progress(_pairs: int) -> None:
    """Null progress callback."""


async def load_decided_examples(app: "App", space: SpaceId) -> list[CalibrationExample]:
    """Return what people decided here about statements that still read the same."""
    said = await list_person_decisions(app.memory.judges.deps, space, limit=MOST_DECIDED)
    refs = {ref for each in said for ref in (each.old_ref, each.new_ref)}
    async with app.store.transaction() as transaction:
        memories = await load_existing_memories(transaction, space, refs)
    found: list[CalibrationExample] = []
    for each in said:
        old, new = memories.get(MemoryId(each.old_ref)), memories.get(MemoryId(each.new_ref))
        if old and new and build_memory_pair(old, new).hashes == each.hashes:
            found += examples_from_decision(
                old.content, new.content, each.relation, subjects=(old.subject, new.subject)
            )
    return found


async def calibrate(
    app: "App",
    examples: Sequence[CalibrationExample],
    *,
    data: str,
    embedder: str | None = None,
    report: Report = ignore_progress,
    save: bool = False,
) -> CalibrationReport:
    """Measure examples with an embedder, by default the chosen one; `save` stores the result for the next
    start. `data` says where the examples come from. Raises `BadInput` for too few."""
    bars = CalibrationTargets()
    async with _embedder(app, embedder) as opened:
        old = opened.profile
        found = calibrate_thresholds(await measure_examples(opened, examples, report=report), old, bars=bars)
    file = app.home / FILE
    # Only what was measured here, now and before, is stored, and nothing that ships with Festinger.
    before = load_measured_profiles(file).get(old.name, EmbedderProfile(name=old.name))
    new = apply_calibration(
        before, found, data=f"{data}, {len(examples)} pairs", at=app.tools.clock().date(), bars=bars
    )
    if save:
        save_profile(file, new)
    return CalibrationReport(old=old, new=new, found=found, examples=len(examples))


@asynccontextmanager
async def _embedder(app: "App", chosen: str | None) -> AsyncIterator[Embedder]:
    opened = await open_embedder(chosen or app.settings.now.embedding.model, build_embedder_options(app))
    try:
        yield opened
    finally:
        await opened.close()
