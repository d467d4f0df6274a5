"""Where do the sampling parameters and limits of a request stand, and what does it enforce?"""

from collections.abc import Mapping
from typing import Any

from festinger.proxy.loops.boost import Sampling, boosted
from festinger.proxy.mitigation.patching import PutMembers
from festinger.proxy.requests.kind import Kind
from festinger.proxy.requests.turn import Request
from festinger.settings.tree import LoopSettings

LIMIT = 4_096
"""Tokens that the reply after a cut one may have, where the client set no limit."""

_LIMITS = {
    Kind.CHAT: ("num_predict",),
    Kind.GENERATE: ("num_predict",),
    Kind.COMPLETIONS: ("max_tokens", "max_completion_tokens"),
    Kind.MESSAGES: ("max_tokens",),
    Kind.RESPONSES: ("max_output_tokens",),
    Kind.TEXT: ("max_tokens",),
}
"""The names of a limit, the one that is put in first."""

_NAMES = (
    "temperature",
    "seed",
    "repeat_penalty",
    "repeat_last_n",
    "frequency_penalty",
    "presence_penalty",
)
_ENFORCING = (
    "format",
    "response_format",
    "grammar",
    "json_schema",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "structured_outputs",
)


def is_structured(request: Request) -> bool:
    """Whether a schema or a format is enforced on the reply."""
    tree = request.tree
    if any(_enforces(tree.get(name)) for name in _ENFORCING):
        return True
    text = tree.get("text")
    return request.kind is Kind.RESPONSES and isinstance(text, dict) and _enforces(text.get("format"))


def _enforces(value: Any) -> bool:
    return bool(value) and not (isinstance(value, dict) and value.get("type") == "text")


def boost_of(
    request: Request, *, level: int, settings: LoopSettings, of_model: float | None = None
) -> dict[str, float]:
    """The parameters that shake a model out of a loop, by the names of this kind of request."""
    given = _holder(request)
    if given is None:
        return {}
    sampling = Sampling(
        parameters={name: given[name] for name in _NAMES if _is_number(given.get(name))},
        of_model=of_model,
        structured=is_structured(request),
    )
    changed = boosted(sampling, request.kind.protocol, level=level, settings=settings)
    if request.kind is Kind.RESPONSES:
        # It knows no penalties and refuses what it does not know.
        return {name: value for name, value in changed.items() if name == "temperature"}
    return changed


def limit_of(request: Request) -> dict[str, float]:
    """A limit for a reply that has none."""
    given, names = _holder(request), _LIMITS[request.kind]
    if given is None or any(_is_number(given.get(name)) and given[name] > 0 for name in names):
        return {}
    return {names[0]: LIMIT}


def put(request: Request, parameters: Mapping[str, float]) -> PutMembers | None:
    """The change that gives a request these parameters."""
    if not parameters:
        return None
    if not request.kind.is_native:
        return PutMembers(path=(), members=parameters)
    if isinstance(request.tree.get("options"), dict):
        return PutMembers(path=("options",), members=parameters)
    return PutMembers(path=(), members={"options": dict(parameters)})


def _holder(request: Request) -> Mapping[str, Any] | None:
    """Where this kind of request keeps its parameters; none if something else stands there."""
    if not request.kind.is_native:
        return request.tree
    options = request.tree.get("options")
    return {} if options is None else options if isinstance(options, dict) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
