"""Checks that the configured models answer, with one tiny call each.

For `festinger doctor`, the console and the test button of a model. Having no model is a supported state, not
a fault.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from festinger.clock import Stopwatch
from festinger.errors import FestingerError, Overloaded
from festinger.llm.model import MessageRole, Model, ModelPurpose, PromptMessage
from festinger.observability.checks import Check, failed_check, ok_check, warning_check

HELLO = (PromptMessage(role=MessageRole.USER, text="Answer with the single word: ready."),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProbeResult:
    """The result of one tiny call: its latency, or the error."""

    model: str
    latency_ms: int | None
    error: FestingerError | None = None


async def probe_model(model: Model, stopwatch: Stopwatch) -> ModelProbeResult:
    """Ask for one word, through the same guards and into the same ledger as any call."""
    began = stopwatch()
    try:
        async for _ in model.chat(HELLO):
            pass
    except FestingerError as error:
        return ModelProbeResult(model=model.name, latency_ms=None, error=error)
    return ModelProbeResult(model=model.name, latency_ms=round((stopwatch() - began) * 1000))


async def check_models(
    models: Mapping[ModelPurpose, Model | FestingerError | None], stopwatch: Stopwatch
) -> list[Check]:
    """Build one check per purpose. A model that serves several purposes is asked once; one that could not
    even be chosen is passed as its error."""
    probes: dict[str, ModelProbeResult] = {}
    checks = []
    for purpose, model in models.items():
        if model is not None and not isinstance(model, FestingerError) and model.name not in probes:
            probes[model.name] = await probe_model(model, stopwatch)
        checks.append(_check(purpose, model, probes))
    return checks


def _check(
    purpose: ModelPurpose, model: Model | FestingerError | None, probes: Mapping[str, ModelProbeResult]
) -> Check:
    name = f"llm.{purpose}"
    if model is None:
        return ok_check(name, "No model is configured; rules and the small model decide, the rest waits.")
    if isinstance(model, FestingerError):
        return _failing(name, model)
    seen = probes[model.name]
    if seen.error is not None:
        return _failing(name, seen.error, model=seen.model)
    return ok_check(name, f"`{seen.model}` answers.", model=seen.model, latency_ms=seen.latency_ms)


def _failing(name: str, error: FestingerError, **details: str) -> Check:
    if isinstance(error, Overloaded):
        return warning_check(name, error.message, error.hint, **details)
    return failed_check(name, error.message, error.hint, **details)
