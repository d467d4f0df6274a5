"""Opens the embedder that a `provider:model` string names.

Built-in and third-party providers use the same interface: an entry point that names a function
`open_engine(model, supplies)`, imported only when chosen. An installed package cannot take over the name of a
built-in provider.
"""

from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import EntryPoint, entry_points

import structlog

from festinger.embedding.embedder import CachedEmbedder, CheckedEmbedder, Embedder, EmbedderOptions, Engine
from festinger.embedding.profiles import find_profile
from festinger.embedding.providers.none import NullEngine
from festinger.errors import BadSetting, CannotStart, Unavailable
from festinger.observability.metrics import DEGRADED

GROUP = "festinger.embedders"

OpenEngine = Callable[[str, EmbedderOptions], Awaitable[Engine]]

BUILT_IN = tuple(
    EntryPoint(name=name, value=f"festinger.embedding.providers.{where}", group=GROUP)
    for name, where in {
        "onnx": "onnx:open_engine",
        "ollama": "remote:open_ollama",
        "openai": "remote:open_openai",
        "gemini": "remote:open_gemini",
        "hashed": "hashed:open_engine",
        "none": "none:open_engine",
    }.items()
)

log = structlog.get_logger()


def find_embedding_providers() -> Mapping[str, EntryPoint]:
    """Return every available provider by name, without importing any."""
    others = {entry.name: entry for entry in entry_points(group=GROUP)}
    return {**others, **{entry.name: entry for entry in BUILT_IN}}


async def open_embedder(choice: str, supplies: EmbedderOptions) -> Embedder:
    """Open the embedder that `choice` names, with its profile and a cache."""
    provider, model = split_choice(choice)
    open_engine: OpenEngine = _provider(provider, choice=choice).load()
    return _wrap_engine(await open_engine(model, supplies), supplies)


async def open_embedder_or_null(choice: str, supplies: EmbedderOptions) -> Embedder:
    """Like `open_embedder`; when it is unavailable, return the null embedder, which says why.

    A wrong choice is still refused: it is a mistake in the settings, not something missing.
    """
    try:
        return await open_embedder(choice, supplies)
    except (CannotStart, Unavailable) as error:
        DEGRADED.labels("embedder").inc()
        log.warning("goes on without embedder", embedder=choice, why=error.message, hint=error.hint)
        return _wrap_engine(NullEngine(error), supplies)


def is_semantic(name: str) -> bool:
    """Whether vectors of this embedder carry meaning; the toy's do not, and the null embedder has none."""
    return not name.startswith(("none:", "hashed:"))


def _wrap_engine(engine: Engine, supplies: EmbedderOptions) -> Embedder:
    profile = find_profile(engine.name, supplies.profiles)
    return CachedEmbedder(CheckedEmbedder(engine, profile, supplies=supplies))


def split_choice(choice: str) -> tuple[str, str]:
    """Split `ollama:nomic-embed-text:latest` into (`ollama`, `nomic-embed-text:latest`)."""
    provider, colon, model = choice.partition(":")
    if not colon:
        raise BadSetting(f"`{choice}` is not of the form `provider:model`.", hint=_list(find_embedding_providers()))
    return provider, model


def _provider(provider: str, *, choice: str) -> EntryPoint:
    known = find_embedding_providers()
    if provider not in known:
        raise BadSetting(f"`{choice}` names no provider of embeddings.", hint=_list(known))
    return known[provider]


def _list(known: Mapping[str, EntryPoint]) -> str:
    return "The providers are " + ", ".join(f"`{name}:`" for name in sorted(known)) + "."
