"""Neutral values for parsed requests: turns, content hashes, skip reasons, cleaning and caching.

A `RequestTurn` is one message as sent, with its position; tool results beside a person's words make one turn
with several messages. Turns are tuples, because a frozen dataclass takes twice as long to create. The content
hash covers role and stable content: without our blocks and volatile tails and, since many clients put the
date into it, only the beginning of a system text. Read turns are cached by their message, since a
conversation comes again with every request; messages that may carry our block are read again, because whose
block it is depends on more than the text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from operator import itemgetter
from typing import Any, NamedTuple

import orjson
from cachetools import LRUCache

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
    """Kind of the requests on a route; `None` if they are not read."""
    return _KINDS.get(route.label)


Path = tuple[str | int, ...]
"""Path from the root of a body to a value: member names and element indexes."""


class AttributedText(NamedTuple):
    origin: Origin
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionSpan:
    """Position of a section in a flattened prompt: its header, then its text."""

    start: int
    text: int
    end: int


class RequestTurn(NamedTuple):
    role: ChatRole
    path: Path
    """Path of the message, or of the string itself if it is not in a list."""
    messages: tuple[ChatMessage, ...]
    content: bytes
    """Hash of the stable content."""
    sayings: tuple[AttributedText, ...] = ()
    """Its text by origin, without our blocks, volatile tails and thinking."""
    others: bytes = b""
    """Non-text content, to tell messages apart."""
    span: SectionSpan | None = None
    carries: bool = False
    """Whether it came with a block of ours."""
    transient: bool = False
    """Whether it was only a volatile tail, which later histories omit."""

    @property
    def text(self) -> str:
        return "\n".join(message.text for message in self.messages if message.text)

    @property
    def by_person(self) -> bool:
        return any(message.by_person for message in self.messages)

    @property
    def has_only_results(self) -> bool:
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
        """Whether an OpenAI client asked for a usage chunk."""
        options = self.tree.get("stream_options")
        return isinstance(options, dict) and options.get("include_usage") is True

    @property
    def is_structured(self) -> bool:
        """Whether a schema or a format is enforced on the reply."""
        if any(_enforces(self.tree.get(name)) for name in _ENFORCING):
            return True
        text = self.tree.get("text")
        return self.kind is RequestKind.RESPONSES and isinstance(text, dict) and _enforces(text.get("format"))

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        return tuple(message for turn in self.turns for message in turn.messages)

    @property
    def newest_user_turn(self) -> RequestTurn | None:
        """The last user turn that is more than tool results."""
        return next(
            (turn for turn in reversed(self.turns) if turn.role is ChatRole.USER and not turn.has_only_results), None
        )

    def at(self, path: Path) -> Any:
        found: Any = self.tree
        for step in path:
            found = found[step]
        return found


_ENFORCING = (
    "format",
    "response_format",
    "grammar",
    "json_schema",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "structured_outputs",
)


def _enforces(value: Any) -> bool:
    return bool(value) and not (isinstance(value, dict) and value.get("type") == "text")


SYSTEM_CHARS = 50
HASH_BYTES = 16


def short_sha256(data: bytes) -> bytes:
    return sha256(data).digest()[:HASH_BYTES]


_WRITTEN = {role: b"%d:%b" % (len(role), role.encode()) for role in ChatRole}


def content_hash(messages: Iterable[ChatMessage], others: bytes = b"") -> bytes:
    """Hash of what was said. Parts are length-prefixed, so that different contents never serialize alike."""
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
    """Why nothing of ours goes into a request; shown in the response header."""

    UNREADABLE = "unreadable"
    """Not JSON, or with numbers or characters that JSON does not allow."""
    SHAPE = "shape"
    """JSON, but not what its route takes."""
    KEY_CASE = "key_case"
    """A key has other letter case (`Messages`): servers differ in whether they accept it."""
    DUPLICATE_KEY = "duplicate_key"
    """A duplicate key: servers differ in which one they take."""
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    ENCODED = "encoded"
    """Compressed in a way that cannot be decoded here."""
    ROUTE = "route"
    """This route is never edited."""
    EMPTY = "empty"
    """It only loads or unloads a model."""
    RAW = "raw"
    SUFFIX = "suffix"
    TEMPLATE = "template"
    CONTEXT = "context"
    DEBUG = "debug"
    NO_USER = "no_user"
    SIDE = "side"
    """The client asks for a title, tags or a summary, outside the conversation."""
    ASKED = "asked"
    """The client opted out of memory."""
    CLOUD = "cloud"
    """The model runs elsewhere."""
    BREAKER = "breaker"
    ALREADY = "already"
    """Its newest user message already carries a block."""
    TOOL_TURN = "tool_turn"
    """It ends with a tool result: new notes wait for the next user turn."""
    FORWARDED = "forwarded"
    """The message that would carry the block was already forwarded without one."""
    NO_PLACE = "no_place"
    """The position for the block is uncertain."""
    FULL = "full"
    """The blocks of this history have used up their share."""


MOST_CHARS = 32 * 2**20
COST = 512
"""Approximate cost of an entry beside its text."""
COPIES = 3
"""The text is in the key, in the turn, and again in the sayings if it was split."""
PLAIN_KEYS = 2
"""Number of members of a message that is only a role and a text."""

_OPEN = OPEN.encode()

Key = tuple[str, int, str, str | bytes]


class TurnCache:
    """Read turns by message, bounded by their approximate size."""

    def __init__(self, *, most_chars: int = MOST_CHARS) -> None:
        self._turns: LRUCache[Key, tuple[RequestTurn, int]] = LRUCache(most_chars, getsizeof=itemgetter(1))

    def __len__(self) -> int:
        return len(self._turns)

    def find(self, key: Key) -> RequestTurn | None:
        """The turn read from this message, if cached."""
        found = self._turns.get(key)
        return None if found is None else found[0]

    def put(self, key: Key, turn: RequestTurn) -> None:
        text = key[-1]
        size = COPIES * len(text) + COST
        if size <= self._turns.maxsize and not (_OPEN in text if isinstance(text, bytes) else OPEN in text):
            self._turns[key] = (turn, size)


def turn_cache_key(message: dict[str, Any], listed: str, index: int) -> Key:
    content = message.get("content")
    if len(message) == PLAIN_KEYS and type(content) is str and type(role := message.get("role")) is str:
        return listed, index, role, content
    return listed, index, "", orjson.dumps(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningRules:
    mark: BlockMarker = NO_MARK
    volatile: re.Pattern[str] | None = None
    """Matches the line that begins a volatile tail."""
    markers: tuple[str, ...] = ()
    memo: TurnCache | None = None
    """Turns read before by these very rules."""


class CleanedText(NamedTuple):
    text: str
    carries: bool = False
    """Whether it contained a block of ours."""
    transient: bool = False
    """Whether it was only a volatile tail."""


def build_cleaning_rules(mark: BlockMarker, markers: Iterable[str], *, memo: TurnCache | None = None) -> CleaningRules:
    named = tuple(marker for marker in markers if marker)
    if not named:
        return CleaningRules(mark=mark, memo=memo)
    either = "|".join(map(re.escape, named))
    line = re.compile(rf"^(?:{either})[ \t\r]*$", re.MULTILINE)
    return CleaningRules(mark=mark, markers=named, volatile=line, memo=memo)


def clean_text(text: str, rules: CleaningRules) -> CleanedText:
    """Remove our blocks, and the volatile tail that a framework rewrites at each step."""
    bare = strip_blocks(text, rules.mark) if OPEN in text else text
    carries = bare is not text and bare != text
    tail = _find_volatile_tail(bare, rules)
    if tail is None:
        return CleanedText(bare, carries)
    # Frameworks separate the tail by empty lines, which later histories omit with it.
    stable = bare[:tail].rstrip()
    return CleanedText(text=stable, carries=carries, transient=not stable)


def _find_volatile_tail(text: str, rules: CleaningRules) -> int | None:
    for marker in rules.markers:
        # Most texts have no marker, and searching for one is much faster than matching lines.
        if marker in text:
            assert rules.volatile is not None
            found = rules.volatile.search(text)
            return None if found is None else found.start()
    return None


KEYS = ("tools", "functions")
"""Members that list tools; the second is OpenAI's old name."""
SAYS = "description"
MOST_DESCRIPTION_CHARS = 20_000
"""Characters read of all descriptions together."""
MOST_VALUES = 5_000
"""Maximum values examined; a client may send anything."""


def join_tool_descriptions(tree: Mapping[str, Any]) -> str:
    """The tool descriptions of a body, one per line. Like a system text, they are nobody's statement."""
    listed = [tree[key] for key in KEYS if isinstance(tree.get(key), list)]
    if not any(listed):
        return ""
    said = dict.fromkeys(text for tools in listed for text in _iter_descriptions(tools))
    return "\n".join(said)[:MOST_DESCRIPTION_CHARS]


def descriptions_hash(said: str) -> bytes:
    return short_sha256(said.encode())


def _iter_descriptions(tools: list[Any]) -> Iterator[str]:
    """Yield descriptions in order."""
    waiting: list[Any] = [tools]
    for _ in range(MOST_VALUES):
        if not waiting:
            return
        value = waiting.pop()
        if type(value) is dict:
            # A parameter may itself be named `description`; its value is then not a text.
            if type(text := value.get(SAYS)) is str and text.strip():
                yield text.strip()
            waiting.extend(reversed(value.values()))
        elif type(value) is list:
            waiting.extend(reversed(value))
