"""What is one message of a request, and what is the whole?

A `Turn` is a message as the client sent it, with the neutral values that the loop detector reads and the place
where it stands. A request whose parts have several authors (tool results beside a person's words) is one turn
with several messages. Who wrote which part is `origins`' matter.

What is made for each message of each new history is a tuple: a frozen dataclass takes twice as long to make.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from festinger.ids import Origin
from festinger.proxy.loops.message import Message, Role
from festinger.proxy.requests.kind import Kind

Path = tuple[str | int, ...]
"""The way from the root of a body to a value: names of members and indexes of elements."""


class Saying(NamedTuple):
    """A stretch of text and who said it."""

    origin: Origin
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Where a section of a flattened prompt stands in it: its header, then its text."""

    start: int
    text: int
    end: int


class Turn(NamedTuple):
    role: Role
    path: Path
    """Of the message; of the string itself where the text is no message of a list."""
    messages: tuple[Message, ...]
    content: bytes
    """The hash of its stable content."""
    sayings: tuple[Saying, ...] = ()
    """Its text by author, without our blocks and volatile tails; nothing of what the model only thought."""
    others: bytes = b""
    """What is not text, for telling two messages apart."""
    span: Span | None = None
    carries: bool = False
    """Whether a block of ours came in with it."""
    transient: bool = False
    """Whether all of it was a volatile tail, so that later histories leave it out."""

    @property
    def text(self) -> str:
        return "\n".join(message.text for message in self.messages if message.text)

    @property
    def by_person(self) -> bool:
        return any(message.by_person for message in self.messages)

    @property
    def only_results(self) -> bool:
        return all(message.role is Role.TOOL for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    kind: Kind
    body: bytes
    tree: dict[str, Any]
    turns: tuple[Turn, ...]
    flattened: bool = False
    """Whether its prompt is a conversation written as one text."""

    @property
    def model(self) -> str:
        named = self.tree.get("model")
        return named if isinstance(named, str) else ""

    @property
    def streams(self) -> bool:
        wanted = self.tree.get("stream")
        return wanted if isinstance(wanted, bool) else self.kind.is_native

    @property
    def wants_usage(self) -> bool:
        """Whether an OpenAI client asked for a chunk of counts."""
        options = self.tree.get("stream_options")
        return isinstance(options, dict) and options.get("include_usage") is True

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(message for turn in self.turns for message in turn.messages)

    @property
    def newest_user(self) -> Turn | None:
        """The last turn of the user that is more than results of tools."""
        return next(
            (turn for turn in reversed(self.turns) if turn.role is Role.USER and not turn.only_results), None
        )

    def at(self, path: Path) -> Any:
        found: Any = self.tree
        for step in path:
            found = found[step]
        return found
