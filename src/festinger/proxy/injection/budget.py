"""How much room do notes have in a prompt?

A block takes a small share of the context, and all blocks that stand in a history a larger one. What does not fit
is left out by whole lines from the end; what already stands stays, because taking it out would move the prefix.
"""

from collections.abc import Iterable
from dataclasses import replace

from festinger.proxy.injection.block import Block
from festinger.proxy.requests.turn import Request
from festinger.settings.tree import ProxySettings

NATIVE_CONTEXT = 4096
OTHER_CONTEXT = 32_768
VISIBLE_SHARE = 0.15


def context_of(request: Request, *, known: int | None = None) -> int:
    """Tokens that the model can read: what the request asks for, else what is known of the model."""
    options = request.tree.get("options")
    asked = options.get("num_ctx") if isinstance(options, dict) else None
    if isinstance(asked, int) and asked > 0:
        return asked
    return known or (NATIVE_CONTEXT if request.kind.is_native else OTHER_CONTEXT)


def room(settings: ProxySettings, *, context: int, standing: Iterable[Block] = ()) -> int:
    """Tokens that a new block may have; 0 if the standing ones have used up their share."""
    left = int(context * VISIBLE_SHARE) - sum(block.tokens for block in standing)
    most = min(settings.recollection_max_tokens, int(context * settings.recollection_max_share))
    return max(0, min(most, left))


def fitted(block: Block, tokens: int) -> Block | None:
    """The block with as many of its lines as fit; none if not even the first does."""
    low, high = 0, len(block.lines)
    while low < high:
        middle = (low + high + 1) // 2
        if replace(block, lines=block.lines[:middle]).tokens <= tokens:
            low = middle
        else:
            high = middle - 1
    return replace(block, lines=block.lines[:low]) if low else None
