"""How do repeated rounds leave a request?

As whole turns of its list, or as sections of a flattened prompt, with one line in their place at the end of what
came before. Thinking that belongs to a turn goes with it. Where a turn would have to be torn apart, nothing goes.
"""

from collections.abc import Iterator
from typing import Any

from festinger.proxy.injection.splicing import TextEdit
from festinger.proxy.loops.prune import Pruning
from festinger.proxy.mitigation.patching import Patch, TakeOut
from festinger.proxy.mitigation.tail import at_end
from festinger.proxy.requests.kind import Kind
from festinger.proxy.requests.spoken import is_thinking
from festinger.proxy.requests.turn import Request, Turn


def shortened(request: Request, plan: Pruning) -> list[Patch]:
    """The changes that carry a plan out; none if it cannot be."""
    owners = [at for at, turn in enumerate(request.turns) for _ in turn.messages]
    gone = sorted({owners[place] for place in plan.left_out})
    told = at_end(request, request.turns[owners[plan.after]], plan.line)
    whole = sum(len(request.turns[at].messages) for at in gone) == len(plan.left_out)
    if not whole or told is None or gone != [*range(gone[0], gone[-1] + 1)]:
        return []
    turns = request.turns[gone[0] : gone[-1] + 1]
    return [_without_sections(turns) if request.flattened else _without_elements(request, turns), told]


def _without_sections(turns: tuple[Turn, ...]) -> Patch:
    first, last = turns[0].span, turns[-1].span
    assert first is not None
    assert last is not None
    return TextEdit(path=turns[0].path, at=first.start, until=last.end, text="")


def _without_elements(request: Request, turns: tuple[Turn, ...]) -> Patch:
    listed, gone = turns[0].path[:1], {int(turn.path[1]) for turn in turns}
    if request.kind is Kind.RESPONSES:
        gone |= set(_thinking_before(request.at(listed), gone))
    return TakeOut(path=listed, indexes=tuple(sorted(gone)))


def _thinking_before(items: list[Any], gone: set[int]) -> Iterator[int]:
    """Thoughts that lead to an item that goes: the server refuses those that lead nowhere."""
    leads_out = False
    for at in range(len(items) - 1, -1, -1):
        if not is_thinking(items[at]):
            leads_out = at in gone
        elif leads_out:
            yield at
