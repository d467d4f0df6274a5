"""Where does text stand that is said after everything else of a turn?"""

from collections.abc import Iterator
from typing import Any

from festinger.proxy.injection.places import PART_TYPES
from festinger.proxy.injection.splicing import NewElement, TextEdit
from festinger.proxy.loops.message import Role
from festinger.proxy.mitigation.patching import Patch
from festinger.proxy.requests.turn import Path, Request, Turn
from festinger.text.blocks import GAP


def last_told(request: Request) -> Turn | None:
    """The last turn in which the model is told something, by a user or a tool."""
    return next((turn for turn in reversed(request.turns) if turn.role in (Role.USER, Role.TOOL)), None)


def at_end(request: Request, turn: Turn, text: str) -> Patch | None:
    """This text after what was said in a turn; none if that turn has no place for it."""
    if turn.span is not None:
        prompt: str = request.at(turn.path)
        # Before the empty line that parts it from the next section.
        end = len(prompt[: turn.span.end].rstrip())
        return TextEdit(path=turn.path, at=max(end, turn.span.text), text=GAP + text)
    value = request.at(turn.path)
    if isinstance(value, str):
        return TextEdit(path=turn.path, at=len(value), text=GAP + text)
    if not isinstance(value, dict):
        return None
    key = "output" if "output" in value and turn.role is Role.TOOL else "content"
    content, path = value.get(key), (*turn.path, key)
    if isinstance(content, str):
        return TextEdit(path=path, at=len(content), text=GAP + text)
    if isinstance(content, list):
        part = {"type": PART_TYPES.get(request.kind, "text"), "text": text}
        return NewElement(path=path, index=len(content), element=part)
    return None


def strings_of(request: Request, turn: Turn) -> Iterator[tuple[Path, str, int]]:
    """The strings of a turn's text, each with its path and where it begins there."""
    value: Any = request.at(turn.path)
    if turn.span is not None:
        yield turn.path, value[turn.span.text : turn.span.end].rstrip(), turn.span.text
        return
    content = value.get("content") if isinstance(value, dict) else None
    if isinstance(content, str):
        yield (*turn.path, "content"), content, 0
    for index, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield (*turn.path, "content", index, "text"), part["text"], 0
