"""Which sampling parameters shake a model out of a loop?

A higher temperature and penalties on repetition, in the words of each protocol. What the client asked for is
raised and never lowered. Where a schema is enforced nothing changes, since what must be written is fixed there.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from festinger.proxy.loops.ladder import height
from festinger.proxy.routes import Protocol
from festinger.settings.tree import LoopSettings

STEP = 0.2
MOST = 1.2
MOST_ABOVE_BASE = 0.5
ANTHROPIC_MOST = 1.0

USUAL_TEMPERATURE = {Protocol.NATIVE: 0.8, Protocol.ANTHROPIC: 0.8, Protocol.OPENAI: 1.0}
REPEAT_PENALTY = 1.15
REPEAT_LAST_N = 256
OPENAI_PENALTY = 0.3
OPENAI_MOST_PENALTY = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """What the request, or else the Modelfile, says about sampling. Native options count as parameters."""

    parameters: Mapping[str, float]
    """By the protocol's own names, as the client sent them."""
    of_model: float | None = None
    """The Modelfile's temperature."""
    structured: bool = False


def boosted(
    sampling: Sampling, protocol: Protocol, *, level: int, settings: LoopSettings
) -> dict[str, float]:
    """The parameters to change and their new values; empty where nothing is to change."""
    depth = height("temperature", level, settings)
    asked = sampling.parameters.get("temperature")
    if not depth or sampling.structured or (settings.keep_zero_temperature and asked == 0):
        return {}
    changed: dict[str, float] = {"temperature": _temperature(sampling, protocol, depth)}
    if "seed" in sampling.parameters:
        changed["seed"] = int(sampling.parameters["seed"]) + depth
    wanted = _penalties(protocol, depth)
    return changed | {
        name: max(value, sampling.parameters.get(name, value)) for name, value in wanted.items()
    }


def _temperature(sampling: Sampling, protocol: Protocol, depth: int) -> float:
    base = sampling.parameters.get("temperature", sampling.of_model)
    if base is None:
        base = USUAL_TEMPERATURE[protocol]
    most = ANTHROPIC_MOST if protocol is Protocol.ANTHROPIC else min(MOST, base + MOST_ABOVE_BASE)
    return max(base, round(min(base + STEP * depth, most), 4))


def _penalties(protocol: Protocol, depth: int) -> dict[str, float]:
    if protocol is Protocol.NATIVE:
        return {"repeat_penalty": REPEAT_PENALTY, "repeat_last_n": REPEAT_LAST_N}
    if protocol is Protocol.OPENAI:
        penalty = OPENAI_PENALTY if depth == 1 else OPENAI_MOST_PENALTY
        return {"frequency_penalty": penalty, "presence_penalty": penalty}
    return {}
