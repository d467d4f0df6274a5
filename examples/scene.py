"""Formats the scenes of a demo as text for a terminal of eighty columns, or as JSON.

A scene is a value: a title, what was said, what the model was sent, and why.
"""

import textwrap
from dataclasses import asdict, dataclass
from typing import Any

WIDTH = 78
INDENT = "    "


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    title: str
    said: str = ""
    """What a person or a program said or did."""
    got: str = ""
    """The result, word for word: what the model was sent, or what was answered."""
    what: str = "The model is sent"
    """What `got` is."""
    why: str = ""


def format_scene(scene: Scene, *, number: int) -> str:
    """A scene as text."""
    parts = [f"{number}. {scene.title}"]
    if scene.said:
        parts.append(_block(scene.said, "  > "))
    if scene.got:
        parts.append(f"  {scene.what}:\n{_block(scene.got, INDENT)}")
    if scene.why:
        parts.append(textwrap.fill(scene.why, WIDTH, initial_indent="  ", subsequent_indent="  "))
    return "\n".join(parts) + "\n"


def scene_document(scene: Scene) -> dict[str, Any]:
    return asdict(scene)


def _block(text: str, indent: str) -> str:
    """The lines as they are; only those wider than the page are folded."""
    room = WIDTH - len(indent)
    folded = (textwrap.wrap(line, room, break_on_hyphens=False) or [""] for line in text.splitlines())
    return "\n".join((indent + piece).rstrip() for lines in folded for piece in lines)
