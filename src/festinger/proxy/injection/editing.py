"""What is forwarded in the place of a request?

All blocks of the history at their anchors, at most one new one, and the assistant's echoes of ours taken out. If
there is nothing to change, or no place is certain, the original bytes go.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from festinger.proxy.injection.anchors import Standing
from festinger.proxy.injection.block import Block
from festinger.proxy.injection.places import Modelfile, Position, in_system, in_turn
from festinger.proxy.injection.splicing import Edit, TextEdit, spliced
from festinger.proxy.loops.message import Role
from festinger.proxy.requests.exact import NotPlain
from festinger.proxy.requests.turn import Path, Request, Turn
from festinger.text.blocks import Mark, blocks_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    body: bytes
    placed: int = 0
    """How many blocks were put in."""
    in_system: bool = False
    is_certain: bool = True
    """False if a place was not to be found for sure, so that nothing was changed."""


def edited(
    request: Request,
    standing: Iterable[Standing] = (),
    *,
    mark: Mark,
    system: Block | None = None,
    position: Position = Position.TURN,
    modelfile: Modelfile | None = None,
) -> Edited:
    """The request with these blocks: `standing` in their turns, `system` in the system text."""
    edits: list[Edit] = [*echoes(request, mark)]
    echoed = len(edits)
    in_turns = [in_turn(request, each.turn, each.block.text) for each in standing]
    edits += (edit for edit in in_turns if edit is not None)
    above = None
    if system is not None:
        above = in_system(request, system.text, position=position, modelfile=modelfile)
        edits += () if above is None else (above,)
    if not edits:
        return Edited(body=request.body)
    try:
        body = spliced(request.body, request.tree, edits)
    except NotPlain:
        return Edited(body=request.body, is_certain=False)
    return Edited(body=body, placed=len(edits) - echoed, in_system=above is not None)


def echoes(request: Request, mark: Mark) -> Iterator[TextEdit]:
    """Edits that take our blocks out of what the assistant said."""
    for turn in request.turns:
        if turn.role is Role.ASSISTANT and turn.carries:
            for path, text, offset in _texts(request, turn):
                for start, end in blocks_in(text, mark):
                    yield TextEdit(path=path, at=offset + start, until=offset + end, text="")


def lines_brought_along(request: Request, mark: Mark) -> frozenset[str]:
    """The lines of our blocks that came in with what others than the assistant said: a door before this one."""
    return frozenset(
        line
        for turn in request.turns
        if turn.carries and turn.role is not Role.ASSISTANT
        for _, text, _ in _texts(request, turn)
        for start, end in blocks_in(text, mark)
        for line in text[start:end].splitlines()
    )


def _texts(request: Request, turn: Turn) -> Iterator[tuple[Path, str, int]]:
    """The strings of a turn's text, each with its path and where it begins there."""
    value: Any = request.at(turn.path)
    if turn.span is not None:
        yield turn.path, value[turn.span.text : turn.span.end].rstrip(), turn.span.text
        return
    if isinstance(value, str):
        yield turn.path, value, 0
        return
    content = value.get("content") if isinstance(value, dict) else value
    if isinstance(content, str):
        yield (*turn.path, "content"), content, 0
    for index, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part.get("text"), str):
            yield (*turn.path, "content", index, "text"), part["text"], 0
