"""What of a conversation does the loop detector read?

The readers of the protocols make these values; whoever wrote a message is decided there, never from its text.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call: `arguments` is JSON text as the model wrote it."""

    name: str
    arguments: str = ""
    id: str = ""


class Message(NamedTuple):
    """One message. A tuple, because it is made for each message of each new history."""

    role: Role
    text: str = ""
    """What is visible, without thinking, our blocks and volatile tails."""
    calls: tuple[Call, ...] = ()
    answers: str = ""
    """The id of the call whose result this is, where the protocol says so."""
    is_error: bool = False
    by_person: bool = False
    """A real user message; tool results and a framework's warnings come in the role of the user too."""
