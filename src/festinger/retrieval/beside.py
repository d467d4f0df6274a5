"""What may be read beside what came to mind?

Other rooms may hold something that is no memory and is read like one, where a person allowed that. It never takes the
place of a memory: it comes last, as far as there is room. What it is, and whether it fits the cue, is theirs to say.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from festinger.memory.model import Place
from festinger.retrieval.packing import packed
from festinger.retrieval.recalled import Item, Recalled
from festinger.retrieval.wish import Wish
from festinger.text.budget import count_tokens

Beside = Callable[[Place, Wish], Awaitable[Sequence[Item]]]
"""What other rooms give to read for a wish, the most fitting first."""


async def nothing_beside(_place: Place, _wish: Wish) -> Sequence[Item]:
    """For a wiring in which only memories are read."""
    return ()


def with_beside(recalled: Recalled, beside: Sequence[Item], wish: Wish) -> Recalled:
    """The answer with as much of it as there is room for."""
    left = wish.limit - len(recalled.items)
    if not beside or left <= 0:
        return recalled
    said = sum(count_tokens(item.text) for item in recalled.items)
    tokens = None if wish.tokens is None else max(0, wish.tokens - said)
    fitting = packed([(item.text, None) for item in beside], tokens=tokens, limit=left)
    items = tuple(replace(beside[place], text=text) for place, text in fitting)
    return replace(recalled, items=(*recalled.items, *items), abstained=recalled.abstained and not items)
