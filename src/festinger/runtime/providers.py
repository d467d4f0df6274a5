"""Opens the embedder and reranker that the settings choose, and the bundled readers.

A chosen one that is unavailable is logged, counted and listed as degraded, and everything that does not need
it works on; a wrong choice is refused. At a start with workers, memories that the current embedder has not
embedded are counted and queued for re-embedding. Where a setting says `auto`, the model that the user's own
client talks to is used in the background: only at a loopback or private address, never a hosted model behind
a local server, and a few calls an hour.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import structlog

from festinger.embedding.embedder import EmbedderOptions
from festinger.embedding.profiles import FILE as MEASURED_PROFILES
from festinger.embedding.profiles import load_all_profiles
from festinger.embedding.providers.none import NAME as NO_EMBEDDER
from festinger.embedding.registry import is_semantic, open_embedder_or_null
from festinger.embedding.reranker import Reranker, open_reranker
from festinger.errors import CannotStart, Unavailable
from festinger.ids import SpaceId
from festinger.judge.pair_reader import PairReader
from festinger.judge.pair_reader import reader_path as relation_reader
from festinger.llm.endpoint import AUTO
from festinger.llm.model import ModelPurpose
from festinger.memory.extract.classifier import reader_path as statement_reader
from festinger.memory.jobs import REEMBED
from festinger.memory.reembed import ReembedProgress, count_memories_by_model, measure_progress
from festinger.observability.metrics import DEGRADED
from festinger.retrieval.notes import NoteScorer
from festinger.retrieval.notes import reader_path as note_reader
from festinger.retrieval.notes import screen_path as note_screen
from festinger.settings.tree import LlmSettings
from festinger.text.addresses import is_private_url

if TYPE_CHECKING:
    from festinger.runtime.app import App


class _Closable(Protocol):
    async def close(self) -> None: ...


R = TypeVar("R", bound=_Closable)

log = structlog.get_logger(room="app")


async def open_providers(stack: AsyncExitStack, app: "App") -> None:
    """Open all that is chosen, to be closed with `stack`."""
    supplies = build_embedder_options(app)
    chosen = app.settings.now.embedding.model
    app.embedder = await open_embedder_or_null(chosen, supplies)
    stack.push_async_callback(app.embedder.close)
    if app.embedder.name == NO_EMBEDDER and chosen != NO_EMBEDDER:
        app.degraded += ("embedder",)
    if is_semantic(app.embedder.name):
        await _open_readers(stack, app)
    app.reranker = await _reranker_or_none(app, supplies)
    if app.reranker is not None:
        stack.push_async_callback(app.reranker.close)


async def _open_readers(stack: AsyncExitStack, app: "App") -> None:
    """Open the bundled encoder with each of its trained layers."""
    # The runtime behind it is large, and loaded only where an embedder is.
    from festinger.embedding.trained_encoder import open_split_reader, open_text_classifier

    app.clause_encoder = await _open_reader(stack, app, statement_reader(), open_text_classifier)
    screen = await _open_reader(stack, app, note_screen(), open_split_reader)
    notes = await _open_reader(stack, app, note_reader(), open_text_classifier)
    if screen is not None and notes is not None:
        app.note_reader = NoteScorer(screen, notes)
    if (pairs := await _open_reader(stack, app, relation_reader(), open_text_classifier)) is not None:
        app.memory.judges.set_reader(PairReader(pairs))


async def _open_reader(
    stack: AsyncExitStack, app: "App", layers: Path, open_layers: Callable[[Path], Awaitable[R]]
) -> R | None:
    """Open a reader; none if it is unavailable."""
    try:
        reader = await open_layers(layers)
    except (CannotStart, Unavailable) as error:
        DEGRADED.labels("reader").inc()
        log.warning("goes on without reader", reader=layers.stem, why=error.message, hint=error.hint)
        app.degraded += (f"reader {layers.stem}",)
        return None
    stack.push_async_callback(reader.close)
    return reader


async def _reranker_or_none(app: "App", supplies: EmbedderOptions) -> Reranker | None:
    chosen = app.settings.now.rerank.model
    try:
        return await open_reranker(chosen, supplies)
    except (CannotStart, Unavailable) as error:
        DEGRADED.labels("reranker").inc()
        log.warning("goes on without reranker", reranker=chosen, why=error.message, hint=error.hint)
        app.degraded += ("reranker",)
        return None


def build_embedder_options(app: "App") -> EmbedderOptions:
    """Build the embedder options from the settings and the home."""
    chosen = app.settings.now.embedding
    return EmbedderOptions(
        offline=app.settings.now.offline,
        base_url=chosen.base_url,
        api_key=chosen.api_key.get_secret_value() if chosen.api_key else None,
        batch=chosen.batch,
        timeout_s=chosen.timeout_s,
        models=app.home / "models",
        profiles=load_all_profiles(app.home / MEASURED_PROFILES),
    )


SAME_START = timedelta(minutes=10)
"""Processes that start together count the same; one of them emits the event."""


async def queue_missing_embeddings(app: "App") -> None:
    """Count what the current embedder has not embedded, and queue it."""
    for space in app.directory.ids():
        found = await measure_progress(app.memory.deps, space)
        if found.left:
            log.warning(
                "memories wait to be embedded again; until then they are found by words",
                space=space,
                left=found.left,
                total=found.total,
            )
            await _tell(app, space, found)
            await request_reembedding(app, space)


async def request_reembedding(app: "App", space: SpaceId) -> int:
    """Queue the re-embedding of a space's memories; return how many wait for it."""
    left = (await measure_progress(app.memory.deps, space)).left
    if left:
        name = f"{REEMBED}:{space}"
        async with app.store.transaction() as transaction:
            await app.jobs.defer(transaction, REEMBED, lock=name, queueing_lock=name, space=space)
    return left


async def _tell(app: "App", space: SpaceId, found: ReembedProgress) -> None:
    present = app.embedder.name if app.embedder else ""
    others = {
        name: count
        for name, count in (await count_memories_by_model(app.memory.deps, space)).items()
        if name != present
    }
    former = max(others, key=lambda name: (others[name], name), default=None)
    async with app.store.transaction() as transaction:
        await app.outbox.emit_unless_recent(
            transaction,
            "embedder_changed",
            space=space,
            subject="embedder",
            payload={"from": former, "to": present, "vectors_left": found.left},
            within=SAME_START,
        )


CALLS_PER_HOUR = 120
HOSTED = (":cloud", "-cloud")
"""Name suffixes of models that a local server only forwards to a hosted one."""


def is_local_model(model: str, address: str) -> bool:
    """Whether a model runs on this machine or in this network, at no cost but power."""
    return is_private_url(address) and not model.endswith(HOSTED)


@dataclass(slots=True)
class LastClientModel:
    """The last model that a client used, if we may use it too."""

    setting: str = ""
    """As `provider:model@address`; empty if none was seen."""

    def note(self, *, provider: str, model: str, address: str) -> None:
        if model and is_local_model(model, address):
            self.setting = f"{provider}:{model}@{address}"

    def applied(self, settings: LlmSettings, purpose: str) -> LlmSettings:
        """Return the settings with `auto` replaced by the current client model, or by none; a chat without a model of
        its own has it too."""
        named = getattr(settings, purpose)
        if named != AUTO and (named or purpose != ModelPurpose.CHAT):
            return settings
        calls = min(settings.max_calls_per_hour, CALLS_PER_HOUR)
        return settings.model_copy(update={purpose: self.setting, "max_calls_per_hour": calls})
