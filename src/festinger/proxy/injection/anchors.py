"""Which blocks stand in this history already, and may a new one join them?

A block belongs to its anchor: the history up to and with the message that carries it. Whenever that history comes
again, the same bytes go in at the same place, so that what the server has read stays the beginning of what it is
sent. A new block goes only into a message that was never forwarded.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from festinger.proxy.injection.block import Block, Line
from festinger.proxy.loops.message import Role
from festinger.proxy.requests.turn import Request, Turn
from festinger.proxy.requests.untouched import Untouched


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A block that goes into a turn."""

    turn: Turn
    anchor: bytes
    block: Block


def standing_in(
    request: Request, links: tuple[bytes, ...], blocks: Mapping[bytes, Block]
) -> tuple[Standing, ...]:
    """The blocks that this history already has, each with the turn that carries it."""
    if not blocks:
        return ()
    return tuple(
        Standing(turn=turn, anchor=link, block=blocks[link])
        for turn, link in zip(request.turns, links, strict=True)
        # A turn that brings its block along needs no second one.
        if link in blocks and not turn.transient and not turn.carries and turn.role is not Role.ASSISTANT
    )


def carrier(
    request: Request,
    links: tuple[bytes, ...],
    *,
    forwarded: Collection[bytes],
    tools_may_carry: bool = False,
) -> tuple[Turn, bytes] | Untouched:
    """The turn that may carry a new block, with its anchor, or why none may."""
    user = request.newest_user
    if user is None:
        return Untouched.NO_USER
    turn: Turn = user
    if ends_with_results(request):
        if not tools_may_carry or request.turns[-1].transient:
            return Untouched.TOOL_TURN
        turn = request.turns[-1]
    if turn.carries:
        return Untouched.ALREADY
    anchor = links[_index(request.turns, turn)]
    return Untouched.FORWARDED if anchor in forwarded else (turn, anchor)


def _index(turns: Sequence[Turn], turn: Turn) -> int:
    """Where this very turn stands; it is one of the last."""
    return next(at for at in reversed(range(len(turns))) if turns[at] is turn)


def ends_with_results(request: Request) -> bool:
    last = request.turns[-1]
    return last.role is Role.TOOL or (last.role is Role.USER and last.only_results)


def shown_lines(blocks: Iterable[Block]) -> dict[str, Line]:
    """The lines that stand in these blocks by what they tell of; of two about the same the later one."""
    return {line.about: line for block in blocks for line in block.lines if line.about}


def system_block(
    before: Block | None, now: Block | None, *, new_person_turn: bool
) -> tuple[Block | None, bool]:
    """The block of the system text, and whether it changed.

    It is reused until a person has spoken *and* there are other notes, because each change makes the server
    read the whole prompt again.
    """
    if before is None:
        return now, False
    if not new_person_turn or now is None or _words(now) == _words(before):
        return before, False
    return now, True


def _words(block: Block) -> set[str]:
    return {line.text for line in block.lines}
