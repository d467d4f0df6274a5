"""Which requests never get a block, whatever is remembered?"""

from festinger.proxy.requests.kind import Kind
from festinger.proxy.requests.turn import Request
from festinger.proxy.requests.untouched import Untouched

CLOUD_ENDINGS = (":cloud", "-cloud")

_GIVEN = (
    ("raw", Untouched.RAW),
    ("suffix", Untouched.SUFFIX),
    ("template", Untouched.TEMPLATE),
    ("context", Untouched.CONTEXT),
    ("_debug_render_only", Untouched.DEBUG),
)
"""Fields with which a client writes the prompt itself, so that nothing may be added to it."""


def why_never(
    request: Request,
    *,
    cloud_allowed: bool = False,
    opted_out: bool = False,
    side: bool = False,
    breaker_open: bool = False,
) -> Untouched | None:
    """The first reason against a block in this request, if there is one."""
    if request.kind is Kind.TEXT:
        return Untouched.ROUTE
    if opted_out:
        return Untouched.ASKED
    if not any(turn.text or turn.others for turn in request.turns) and not _has_conversation(request):
        return Untouched.EMPTY
    if request.kind.is_native and (given := _given(request)) is not None:
        return given
    if side:
        return Untouched.SIDE
    if breaker_open:
        return Untouched.BREAKER
    if request.model.endswith(CLOUD_ENDINGS) and not cloud_allowed:
        return Untouched.CLOUD
    return Untouched.NO_USER if request.newest_user is None else None


def _has_conversation(request: Request) -> bool:
    return bool(request.tree.get("messages") or request.tree.get("prompt") or request.tree.get("input"))


def _given(request: Request) -> Untouched | None:
    return next((why for key, why in _GIVEN if request.tree.get(key)), None)
