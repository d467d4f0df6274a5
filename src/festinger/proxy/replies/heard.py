"""What does an answer say, whichever protocol it came in?

Text, thinking and tool calls are kept apart. `Heard` is the whole as far as it came; a `Delta` is what one frame
added, for those who watch while it streams.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from festinger.proxy.framing import Frame
from festinger.proxy.loops.message import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    text: str = ""
    thinking: str = ""
    arguments: str = ""


NOTHING = Delta()


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = ""
    """Why it ended, in the protocol's own word; empty if it did not say."""
    tokens_read: int | None = None
    tokens_written: int | None = None
    errors: tuple[str, ...] = ()
    id: str = ""
    model: str = ""


class Ear(Protocol):
    """Hears the frames of one answer."""

    def hear(self, frame: Frame) -> Delta:
        """What this frame adds. A frame of another shape than the protocol's adds nothing."""

    def heard(self) -> Heard:
        """All so far."""


class CallParts:
    """Tool calls whose arguments come in pieces, in the order in which they began."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._pieces: dict[str, list[str]] = {}

    def begin(self, which: Any, *, name: str = "", call_id: str = "") -> None:
        """`which` is the index that the protocol gives a call; a broken one may be anything."""
        key = repr(which)
        self._pieces.setdefault(key, [])
        self._names[key] = self._names.get(key) or name
        self._ids[key] = self._ids.get(key) or call_id

    def add(self, which: Any, piece: str) -> None:
        self.begin(which)
        self._pieces[repr(which)].append(piece)

    def all(self) -> tuple[Call, ...]:
        return tuple(
            Call(name=self._names[key], arguments="".join(pieces), id=self._ids[key])
            for key, pieces in self._pieces.items()
        )


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def number_of(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def object_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> Iterable[dict[str, Any]]:
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else ()


def error_of(value: Any) -> str:
    """The message of an error, which is a text or an object that holds one."""
    if isinstance(value, dict):
        return text_of(value.get("message")) or orjson.dumps(value).decode()
    return text_of(value)
