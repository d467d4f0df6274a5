"""What is one message of a request, and what is the whole?

A `RequestTurn` is a message as the client sent it, with the neutral values that the loop detector reads and the place
where it stands. A request whose parts have several authors (tool results beside a person's words) is one turn
with several messages. Who wrote which part is `origins`' matter.

What is made for each message of each new history is a tuple: a frozen dataclass takes twice as long to make.

What of a message stays the same wherever and whenever it comes?

Role and stable content, as one hash. Our blocks and volatile tails are off already; of a system text only the
beginning counts, since many clients write the date into it.

Which of the requests that are read here is this one?

Why is a request forwarded as it came?

Every way of leaving a request alone has its own word. People read it in the answer's header.

Which part of a message stays the same when the message comes again?

Our own blocks come off, and so does everything from the first line that marks a tail which a framework writes
anew at each step. What is left is hashed, counted, scanned and captured.

Was this message read before?

A conversation comes again with every turn, longer by a few messages. What was read of a message is kept by the
message itself, so that only new ones are read. Bounded by the characters that it holds; what was not used for the
longest time goes first. A message that may carry a block of ours is read anew each time: whose block it is depends
on more than its text.

What do the tools of a request say of themselves?

Every vendor writes tools in a shape of its own, but all call what they tell the model a `description`, of a tool as of
its parameters. What stands there was written for the model like a system text, and is nobody's statement.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from festinger.ids import Origin
from festinger.proxy.loops.keys import ChatMessage, ChatRole
from festinger.proxy.routes import ApiProtocol, ProxyRoute
from festinger.text.blocks import NO_MARK, OPEN, BlockMarker, strip_blocks


class RequestKind(StrEnum):
    CHAT = "/api/chat"
    GENERATE = "/api/generate"
    COMPLETIONS = "/v1/chat/completions"
    MESSAGES = "/v1/messages"
    RESPONSES = "/v1/responses"
    TEXT = "/v1/completions"

    @property
    def protocol(self) -> ApiProtocol:
        return _PROTOCOLS[self]

    @property
    def is_native(self) -> bool:
        return self.protocol is ApiProtocol.NATIVE


_PROTOCOLS = {
    RequestKind.CHAT: ApiProtocol.NATIVE,
    RequestKind.GENERATE: ApiProtocol.NATIVE,
    RequestKind.COMPLETIONS: ApiProtocol.OPENAI,
    RequestKind.MESSAGES: ApiProtocol.ANTHROPIC,
    RequestKind.RESPONSES: ApiProtocol.OPENAI,
    RequestKind.TEXT: ApiProtocol.OPENAI,
}
_KINDS = {kind.value: kind for kind in RequestKind}


def request_kind(route: ProxyRoute) -> RequestKind | None:
    """The kind of the requests on a route; none where nothing is read."""
    return _KINDS.get(route.label)


Path = tuple[str | int, ...]
"""The way from the root of a body to a value: names of members and indexes of elements."""


class AttributedText(NamedTuple):
    """A stretch of text and who said it."""

    origin: Origin
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionSpan:
    """Where a section of a flattened prompt stands in it: its header, then its text."""

    start: int
    text: int
    end: int


class RequestTurn(NamedTuple):
    role: ChatRole
    path: Path
    """Of the message; of the string itself where the text is no message of a list."""
    messages: tuple[ChatMessage, ...]
    content: bytes
    """The hash of its stable content."""
    sayings: tuple[AttributedText, ...] = ()
    """Its text by author, without our blocks and volatile tails; nothing of what the model only thought."""
    others: bytes = b""
    """What is not text, for telling two messages apart."""
    span: SectionSpan | None = None
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
        return all(message.role is ChatRole.TOOL for message in self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    kind: RequestKind
    body: bytes
    tree: dict[str, Any]
    turns: tuple[RequestTurn, ...]
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
    def messages(self) -> tuple[ChatMessage, ...]:
        return tuple(message for turn in self.turns for message in turn.messages)

    @property
    def newest_user(self) -> RequestTurn | None:
        """The last turn of the user that is more than results of tools."""
        return next(
            (turn for turn in reversed(self.turns) if turn.role is ChatRole.USER and not turn.only_results), None
        )

    def at(self, path: Path) -> Any:
        found: Any = self.tree
        for step in path:
            found = found[step]
        return found


SYSTEM_CHARS = 50
HASH_BYTES = 16


def short_sha256(data: bytes) -> bytes:
    return sha256(data).digest()[:HASH_BYTES]


_WRITTEN = {role: b"%d:%b" % (len(role), role.encode()) for role in ChatRole}


def content_hash(messages: Iterable[ChatMessage], others: bytes = b"") -> bytes:
    """The hash of what was said. Lengths stand before the parts, so that no two contents are written alike."""
    parts = [b"%d:%b" % (len(others), others)]
    for message in messages:
        text = message.text[:SYSTEM_CHARS] if message.role is ChatRole.SYSTEM else message.text.rstrip()
        said = text.encode()
        parts.append(b"%b%d:%b" % (_WRITTEN[message.role], len(said), said))
        for call in message.calls:
            name, arguments = call.name.encode(), call.arguments.encode()
            parts.append(b"4:call%d:%b%d:%b" % (len(name), name, len(arguments), arguments))
    return short_sha256(b"".join(parts))


class SkipReason(StrEnum):
    """Nothing of ours goes into the request, because…"""

    UNREADABLE = "unreadable"
    """it is not JSON, or holds numbers or characters that JSON cannot."""
    SHAPE = "shape"
    """it is JSON, but not what its route takes."""
    KEY_CASE = "key_case"
    """a key is written in other letters (`Messages`): servers differ in whether they take it."""
    DUPLICATE_KEY = "duplicate_key"
    """a key stands twice: servers differ in which one they take."""
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    ENCODED = "encoded"
    """it is compressed in a way that cannot be undone here."""
    ROUTE = "route"
    """this route is never written into."""
    EMPTY = "empty"
    """it only loads or unloads a model."""
    RAW = "raw"
    SUFFIX = "suffix"
    TEMPLATE = "template"
    CONTEXT = "context"
    DEBUG = "debug"
    NO_USER = "no_user"
    SIDE = "side"
    """the client asks for a title, tags or a summary, not for itself."""
    ASKED = "asked"
    """the client asked for no memory."""
    CLOUD = "cloud"
    """the model runs elsewhere."""
    BREAKER = "breaker"
    ALREADY = "already"
    """its newest user message carries a block already."""
    TOOL_TURN = "tool_turn"
    """it ends with the result of a tool: what there is to say waits for the next user turn."""
    FORWARDED = "forwarded"
    """the message that would carry the block was forwarded without one before."""
    NO_PLACE = "no_place"
    """where the block would stand cannot be told for sure."""
    FULL = "full"
    """the blocks that stand in this history have used up their share."""


MOST_CHARS = 32 * 2**20
COST = 512
"""What an entry takes beside its text, about."""
COPIES = 3
"""The text stands in the key, in the turn, and there once more where it was cut into sayings."""
PLAIN_KEYS = 2
"""The members of a message that is nothing but a role and a text."""

_OPEN = OPEN.encode()

Key = tuple[str, int, str, str | bytes]


class TurnCache:
    def __init__(self, *, most_chars: int = MOST_CHARS) -> None:
        self._most = most_chars
        self._kept: OrderedDict[Key, tuple[RequestTurn, int]] = OrderedDict()
        self._chars = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Key) -> RequestTurn | None:
        """The turn that was read from this message."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def keep(self, key: Key, turn: RequestTurn) -> None:
        said = key[-1]
        size = COPIES * len(said) + COST
        if size > self._most or (_OPEN in said if isinstance(said, bytes) else OPEN in said):
            return
        self._kept[key] = (turn, size)
        self._chars += size
        while self._chars > self._most:
            _, (_, gone) = self._kept.popitem(last=False)
            self._chars -= gone


def turn_cache_key(message: dict[str, Any], listed: str, index: int) -> Key:
    """By which a message is known at its place of a list."""
    content = message.get("content")
    if len(message) == PLAIN_KEYS and type(content) is str and type(role := message.get("role")) is str:
        return listed, index, role, content
    return listed, index, "", orjson.dumps(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningRules:
    mark: BlockMarker = NO_MARK
    volatile: re.Pattern[str] | None = None
    """Finds the line that begins a volatile tail."""
    markers: tuple[str, ...] = ()
    memo: TurnCache | None = None
    """What was read before by these very rules."""


class CleanedText(NamedTuple):
    text: str
    carries: bool = False
    """Whether there was a block of ours in it."""
    transient: bool = False
    """Whether a volatile tail was all there was."""


def build_cleaning_rules(mark: BlockMarker, markers: Iterable[str], *, memo: TurnCache | None = None) -> CleaningRules:
    named = tuple(marker for marker in markers if marker)
    if not named:
        return CleaningRules(mark=mark, memo=memo)
    either = "|".join(map(re.escape, named))
    line = re.compile(rf"^(?:{either})[ \t\r]*$", re.MULTILINE)
    return CleaningRules(mark=mark, markers=named, volatile=line, memo=memo)


def clean_text(text: str, rules: CleaningRules) -> CleanedText:
    """The stable part of a text."""
    bare = strip_blocks(text, rules.mark) if OPEN in text else text
    carries = bare is not text and bare != text
    tail = _find_volatile_tail(bare, rules)
    if tail is None:
        return CleanedText(bare, carries)
    # A framework sets the tail off by empty lines, which later histories leave out with it.
    stable = bare[:tail].rstrip()
    return CleanedText(text=stable, carries=carries, transient=not stable)


def _find_volatile_tail(text: str, rules: CleaningRules) -> int | None:
    for marker in rules.markers:
        # Most texts hold none, and looking for one is much faster than matching lines.
        if marker in text:
            assert rules.volatile is not None
            found = rules.volatile.search(text)
            return None if found is None else found.start()
    return None


KEYS = ("tools", "functions")
"""Where tools stand in a body; the second is OpenAI's old name."""
SAYS = "description"
MOST_DESCRIPTION_CHARS = 20_000
"""What is read of all descriptions together."""
MOST_VALUES = 5_000
"""Values that are looked at; a client may send whatever it likes."""


def tool_descriptions(tree: Mapping[str, Any]) -> str:
    """All that the tools of a body say of themselves, one line each; empty if there are none."""
    listed = [tree[key] for key in KEYS if isinstance(tree.get(key), list)]
    if not any(listed):
        return ""
    said = dict.fromkeys(text for tools in listed for text in _iter_descriptions(tools))
    return "\n".join(said)[:MOST_DESCRIPTION_CHARS]


def descriptions_hash(said: str) -> bytes:
    """By what the same descriptions are known again."""
    return short_sha256(said.encode())


def _iter_descriptions(tools: list[Any]) -> Iterator[str]:
    """In the order in which they stand."""
    waiting: list[Any] = [tools]
    for _ in range(MOST_VALUES):
        if not waiting:
            return
        value = waiting.pop()
        if type(value) is dict:
            # A parameter may itself be called so, and is then no text.
            if type(text := value.get(SAYS)) is str and text.strip():
                yield text.strip()
            waiting.extend(reversed(value.values()))
        elif type(value) is list:
            waiting.extend(reversed(value))
