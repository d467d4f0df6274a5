"""At which place of a request does a block stand?

In the newest user turn by default, where it leaves what the server has already read alone; or at the start or the
end of the system text. There is never a second system message, and a model's own system text is never hidden: as
long as it is not known, the block goes into the turn.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from festinger.proxy.injection.splicing import Edit, NewElement, NewMember, TextEdit
from festinger.proxy.loops.message import Role
from festinger.proxy.requests.kind import Kind
from festinger.proxy.requests.turn import Path, Request, Turn
from festinger.text.blocks import GAP


class Position(StrEnum):
    TURN = "turn"
    SYSTEM_START = "system_start"
    SYSTEM_END = "system_end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Modelfile:
    """What a model brings along itself."""

    system: str = ""
    has_messages: bool = False
    context: int | None = None
    """Tokens that it asks for, if it does."""
    temperature: float | None = None


PART_TYPES = {Kind.RESPONSES: "input_text"}


def in_turn(request: Request, turn: Turn, block: str) -> Edit | None:
    """The block in a turn, before what was said there; none if that turn has no place for it."""
    if turn.span is not None:
        return TextEdit(path=turn.path, at=turn.span.text, text=block + GAP)
    value = request.at(turn.path)
    if isinstance(value, str):
        return TextEdit(path=turn.path, at=0, text=block + GAP)
    key = "output" if "output" in value and turn.role is Role.TOOL else "content"
    content, path = value.get(key), (*turn.path, key)
    if isinstance(content, str):
        return TextEdit(path=path, at=0, text=block + GAP)
    if isinstance(content, list):
        return NewElement(path=path, index=_after_results(content), element=_part(request.kind, block))
    return None


def in_system(
    request: Request, block: str, *, position: Position, modelfile: Modelfile | None
) -> Edit | None:
    """The block in the system text; none if it must go into the turn instead."""
    system = next((turn for turn in request.turns if turn.role is Role.SYSTEM), None)
    at_end = position is Position.SYSTEM_END
    if system is not None and system.span is not None:
        return _in_section(request, system, block, at_end=at_end)
    if system is not None:
        return _beside(request, system.path, block, at_end=at_end)
    return _new_system(request, block, modelfile)


def _in_section(request: Request, system: Turn, block: str, *, at_end: bool) -> Edit:
    assert system.span is not None
    if not at_end:
        return TextEdit(path=system.path, at=system.span.text, text=block + GAP)
    prompt: str = request.at(system.path)
    # Before the empty line that parts it from the next section.
    apart = prompt.endswith(GAP, system.span.text, system.span.end)
    return TextEdit(path=system.path, at=system.span.end - (len(GAP) if apart else 0), text=GAP + block)


def _beside(request: Request, path: Path, block: str, *, at_end: bool) -> Edit | None:
    if isinstance(request.at(path), dict):
        path = (*path, "content")
    value = request.at(path)
    if isinstance(value, str):
        return (
            TextEdit(path=path, at=len(value), text=GAP + block)
            if at_end
            else TextEdit(path=path, at=0, text=block + GAP)
        )
    if isinstance(value, list):
        return NewElement(path=path, index=len(value) if at_end else 0, element=_part(request.kind, block))
    return None


def _new_system(request: Request, block: str, modelfile: Modelfile | None) -> Edit | None:
    match request.kind:
        case Kind.MESSAGES | Kind.RESPONSES:
            name = "system" if request.kind is Kind.MESSAGES else "instructions"
            return NewMember(name=name, value=block) if name not in request.tree else None
        case Kind.GENERATE | Kind.CHAT | Kind.COMPLETIONS:
            if modelfile is None or modelfile.has_messages:
                return None
            return _over_modelfile(request, block, modelfile.system)
    return None


def _over_modelfile(request: Request, block: str, own: str) -> Edit | None:
    """A system text hides the model's own, so it takes that along."""
    if request.kind is not Kind.GENERATE:
        whole = f"{block}{GAP}{own}" if own else block
        return NewElement(path=("messages",), index=0, element={"role": "system", "content": whole})
    whole = f"{own}{GAP}{block}" if own else block
    if "system" not in request.tree:
        return NewMember(name="system", value=whole)
    return TextEdit(path=("system",), at=0, text=whole) if request.tree["system"] == "" else None


def _after_results(content: list[Any]) -> int:
    results = [
        index
        for index, part in enumerate(content)
        if isinstance(part, dict) and part.get("type") == "tool_result"
    ]
    return results[-1] + 1 if results else 0


def _part(kind: Kind, block: str) -> dict[str, Any]:
    return {"type": PART_TYPES.get(kind, "text"), "text": block}
