"""Which embedder, which reranker and which small judge does this process think with?

Opens what the settings choose. One that was chosen and cannot be had is gone without: that is kept as a value,
logged and counted, and everything that does not need it works on. A wrong choice is refused.
"""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from festinger.embedding.embedder import Supplies
from festinger.embedding.profiles import FILE as MEASURED_PROFILES
from festinger.embedding.profiles import installed_profiles
from festinger.embedding.providers.none import NAME as NO_EMBEDDER
from festinger.embedding.registry import has_meaning, open_or_go_without
from festinger.embedding.reranker import Reranker, open_reranker
from festinger.errors import CannotStart, Unavailable
from festinger.judge.pair_model import OnnxPairs
from festinger.judge.pair_reader import PairReader
from festinger.judge.pair_reader import adapter_path as relation_adapter
from festinger.memory.extract.classifier import adapter_path as statement_adapter
from festinger.observability.metrics import DEGRADED
from festinger.retrieval.notes import adapter_path as note_adapter

if TYPE_CHECKING:
    from festinger.app.wiring import App
    from festinger.embedding.adapter import AdaptedClassifier
    from festinger.embedding.pair_classifier import PairClassifier

log = structlog.get_logger(room="app")


async def open_providers(stack: AsyncExitStack, app: "App") -> None:
    """Open all that is chosen, to be closed with `stack`."""
    supplies = supplies_of(app)
    chosen = app.settings.now.embedding.model
    app.embedder = await open_or_go_without(chosen, supplies)
    stack.push_async_callback(app.embedder.close)
    if app.embedder.name == NO_EMBEDDER and chosen != NO_EMBEDDER:
        app.degraded += ("embedder",)
    if has_meaning(app.embedder.name):
        app.clause_encoder = await _open_reader(stack, app, statement_adapter())
        app.note_reader = await _open_reader(stack, app, note_adapter())
        if (reader := await _open_reader(stack, app, relation_adapter())) is not None:
            app.memory.judges.seat_reader(PairReader(reader))
    app.reranker = await _reranker_or_none(app, supplies)
    if app.reranker is not None:
        stack.push_async_callback(app.reranker.close)
    if (classifier := await _judge_or_none(app, supplies)) is not None:
        stack.push_async_callback(classifier.close)
        app.memory.judges.seat(OnnxPairs(classifier))


async def _open_reader(stack: AsyncExitStack, app: "App", adapter: Path) -> "AdaptedClassifier | None":
    """The bundled encoder with an adapter; who asks it goes on without where it cannot be had."""
    # The runtime behind it is large, and loaded only where an embedder is.
    from festinger.embedding.adapter import open_classifier

    try:
        reader = await open_classifier(adapter)
    except (CannotStart, Unavailable) as error:
        DEGRADED.labels("reader").inc()
        log.warning("goes on without reader", reader=adapter.stem, why=error.message, hint=error.hint)
        app.degraded += (f"reader {adapter.stem}",)
        return None
    stack.push_async_callback(reader.close)
    return reader


async def _reranker_or_none(app: "App", supplies: Supplies) -> Reranker | None:
    chosen = app.settings.now.rerank.model
    try:
        return await open_reranker(chosen, supplies)
    except (CannotStart, Unavailable) as error:
        DEGRADED.labels("reranker").inc()
        log.warning("goes on without reranker", reranker=chosen, why=error.message, hint=error.hint)
        app.degraded += ("reranker",)
        return None


async def _judge_or_none(app: "App", supplies: Supplies) -> "PairClassifier | None":
    chosen = app.settings.now.judge.model
    if not chosen:
        return None
    # The runtime behind it is large, and loaded only by those who chose it.
    from festinger.embedding.pair_classifier import open_pair_classifier

    try:
        return await open_pair_classifier(chosen, supplies)
    except (CannotStart, Unavailable) as error:
        DEGRADED.labels("judge").inc()
        log.warning("goes on without small judge", judge=chosen, why=error.message, hint=error.hint)
        app.degraded += ("judge",)
        return None


def supplies_of(app: "App") -> Supplies:
    """What the settings and the home give an embedder."""
    chosen = app.settings.now.embedding
    return Supplies(
        offline=app.settings.now.offline,
        base_url=chosen.base_url,
        api_key=chosen.api_key.get_secret_value() if chosen.api_key else None,
        batch=chosen.batch,
        timeout_s=chosen.timeout_s,
        models=app.home / "models",
        profiles=installed_profiles(app.home / MEASURED_PROFILES),
    )
