"""Builds the keys by which calls, results and answers are compared, and classifies tool results.

Everything in a call's arguments is meant: another id, number or path is another call. Only results contain
noise, such as the time of day. A weaker call key drops small standalone numbers, comments and space; it only
says that calls look alike. Keys are built once per text, since a history comes again with every request.
Agent Zero and similar agents write calls as JSON text with thoughts, `tool_name` and `tool_args`; thoughts
are ignored. Only one protocol flags errors in results, so the result's text decides between failure, bare
confirmation and content.
"""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from festinger.proposals.detectors.tool_failure import parse_failure

KEPT = 4_096
LETTERS_BESIDE_TIME = 6
"""A result with no more letters beside its times is about time: a clock, a measurement."""
LONGEST = 4_000
"""Characters of a call or an answer whose words are compared."""

_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
_CLOCK = re.compile(
    rf"\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]{_TIME}(?:Z|[+-]\d{{2}}:?\d{{2}})?)?"
    rf"|\b{_TIME}\b"
    r"|\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|secs?|seconds?)\b"
    r"|\b1[5-9]\d{8}(?:\d{3})?\b"
)
"""Dates, times of day, durations and Unix timestamps."""
_COMMENT = re.compile(r"(?:(?<=\s)|^)(?:#|//|--\s)[^\n]*|/\*.*?\*/|<!--.*?-->", re.DOTALL | re.MULTILINE)
_SMALL_NUMBER = re.compile(r"(?<![\w./-])(?<!\w:)\d{1,3}(?![\w.:/-])")
_NUMBER = re.compile(r"\d+")
_NOT_WORD = re.compile(r"[\W_]+")
_NAME = re.compile(r"\w+")
_STRING = re.compile(r'"((?:[^"\\]|\\.){4,200})"')
_WAITING = re.compile(r"(?:\A|[\W_])(?:sleep|wait|poll|watch)", re.IGNORECASE)

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKey:
    exact: bytes
    alike: bytes
    """Equal for calls that differ only in small numbers, comments and space."""
    words: frozenset[str]
    values: tuple[str, ...]
    """Strings that a result may quote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultKey:
    exact: bytes
    steady: bytes
    """Without times and durations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerKey:
    exact: bytes
    pairs: frozenset[tuple[str, str]]
    """All pairs of adjacent words."""
    words: frozenset[str]
    numbers: frozenset[str]


class TextCache(Generic[Made]):
    """Cache of values built from texts, by the text's hash."""

    __slots__ = ("_kept", "_make")

    def __init__(self, make: Callable[[str], Made]) -> None:
        self._make = make
        self._kept: OrderedDict[int, Made] = OrderedDict()

    def __call__(self, text: str) -> Made:
        key = hash(text)
        made = self._kept.get(key)
        if made is None:
            made = self._kept[key] = self._make(text)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return made


def text_digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def split_words(text: str) -> list[str]:
    return _NOT_WORD.sub(" ", text[:LONGEST]).casefold().split()


def call_key(arguments: str) -> CallKey:
    ordered = _sort_json_keys(arguments)
    # A comment ends with its line or its string; JSON escapes line ends.
    lines = ordered[:LONGEST].replace("\\n", "\n").replace('"', "\n")
    bare = _SMALL_NUMBER.sub("0", _COMMENT.sub("", lines))
    return CallKey(
        exact=text_digest(ordered),
        alike=text_digest("".join(bare.split()) + ordered[LONGEST:]),
        words=frozenset(_NAME.findall(bare.casefold())) - {"0"},
        values=tuple(sorted(_STRING.findall(ordered[:LONGEST]), key=len, reverse=True)),
    )


def is_wait_call(tool: str, arguments: str) -> bool:
    """Whether a call explicitly waits."""
    return _WAITING.search(f"{tool} {arguments[:LONGEST]}") is not None


def result_key(result: str) -> ResultKey:
    bare = result.strip()
    timeless = _CLOCK.sub("#", bare)
    is_time = sum(map(str.isalpha, timeless[: LETTERS_BESIDE_TIME * 9])) <= LETTERS_BESIDE_TIME
    return ResultKey(exact=text_digest(bare), steady=text_digest(bare if is_time else timeless))


def answer_key(text: str) -> AnswerKey:
    words = split_words(text)
    return AnswerKey(
        exact=text_digest(" ".join(words)),
        pairs=frozenset(pairwise(words)),
        words=frozenset(words),
        numbers=frozenset(filter(str.isdecimal, words)),
    )


def failure_key(result: str, call: CallKey) -> bytes:
    """Key of how a failed result begins, without numbers, ids and quotes from the call."""
    opening = result.strip().partition("\n")[0][:LONGEST]
    for value in call.values:
        opening = opening.replace(value, "")
    return text_digest(" ".join(word for word in split_words(opening) if not _NUMBER.search(word)))


def _sort_json_keys(arguments: str) -> str:
    """Sort the keys of JSON; other text stays as it is."""
    try:
        return orjson.dumps(orjson.loads(arguments), option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONDecodeError:
        return arguments.strip()


class ChatRole(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call: `arguments` is JSON text as the model wrote it."""

    name: str
    arguments: str = ""
    id: str = ""


class ChatMessage(NamedTuple):
    """One message. A tuple, because one is created for each message of each new history."""

    role: ChatRole
    text: str = ""
    """Visible text, without thinking, our blocks and volatile tails."""
    calls: tuple[ToolCall, ...] = ()
    answers: str = ""
    """Id of the call whose result this is, if the protocol provides it."""
    is_error: bool = False
    by_person: bool = False
    """A real user message; tool results and framework warnings also come in the user role."""


LONGEST_SPOKEN_CALL = 200_000

_FENCE = re.compile(r"\A\s*```\w*\s*\n(.*?)\n?```\s*\Z", re.DOTALL)


def parse_text_call(text: str) -> ToolCall | None:
    """The call that a reply consists of, if it is one."""
    found = parse_text_call_object(text)
    if found is None:
        return None
    return ToolCall(name=found["tool_name"], arguments=orjson.dumps(found.get("tool_args", {})).decode())


def parse_text_call_object(text: str) -> dict[str, Any] | None:
    if '"tool_name"' not in text or len(text) > LONGEST_SPOKEN_CALL:
        return None
    fenced = _FENCE.match(text)
    bare = fenced.group(1) if fenced else text
    start, end = bare.find("{"), bare.rfind("}")
    try:
        found = orjson.loads(bare[start : end + 1])
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("tool_name"), str) else None


READ = 2_000
"""Characters read at each end of a result."""
CONFIRMATION_WORDS = 12

_WORD = re.compile(r"[^\W_]+")
_CONFIRMS = re.compile(
    r"ok|okay|done|succe(?:ss|ssful|ssfully|eded)|true|null|output|finished|completed?|status|result|message|msg|action"
    r"|exit|code|0|was|were|has|have|been|is|the|an?|to|at|on|in|of|by|and|with"
)
"""Words that add nothing to the call if a result consists only of them."""

_ENVELOPE = re.compile(
    r"errors?|exception|message|msg|details?|(?:status_?|exit_?|return)?code|status|type|reason|success|ok|is_?error"
    r"|stdout|stderr|output|content|(?:request|trace)_?id|time(?:stamp)?|path|retry_after"
)
"""Names of fields in which a result describes itself."""

_FAILS = re.compile(
    r"\A\W{0,20}(?:[\w./-]{1,80}: ){1,3}\W{0,20}(?:error|fatal|failed|cannot|can't|could not|unable to|no such|not found)\b"
    r"|\A[^\n]{0,300}(?:no such file or directory|permission denied|command not found|connection refused)\W*(?:\n|\Z)"
    r"|\A\W*(?:could not|cannot|can't|unable to|invalid|unknown|unauthorized|forbidden|access denied|timed out|timeout)\b"
    r"|\A\W*(?-i:[45]\d\d [A-Z][a-z])"
    r"|\A[^\n]{0,200}\berror(?:\[\w+\]:| [A-Z]{0,4}\d)"
    r"|\b[1-9]\d* (?:failed|errors?)\b[^\n]*\Z"
    r"|\A\W*FAILED\b",
    re.IGNORECASE,
)
_STAMP = re.compile(r"\A[\[(]?\d[\d:.,TZ+-]{4,32}[\])]?\s+")
_COMPLAINS = re.compile(
    r"\b(?:error|exception|fatal|fail(?:ed|ure)|denied|refused|timed out|timeout|unavailable|expired|not found|no such|cannot"
    r"|can't|could(?:n't| not)|unable|invalid|rejected|unreachable|aborted|unauthorized|forbidden)\b",
    re.IGNORECASE,
)
COMPLAINT = 200
"""Maximum length of a line that reports a failure."""
_COUNT = re.compile(r"total(?:_\w+)?|\w*count|hits|found|matches|num_?results")
_NOTHING = re.compile(
    r"\A\W{0,20}(?:(?:no|0|zero|without any) (?:[\w'-]+ ){0,4}?"
    r"(?:found|results?|match(?:es)?|hits?|items?|rows?|entries|records?|documents?|files?|answers?|data)\b"
    r"|nothing\b|not found|[\w' -]{1,60}\b(?:not found|did(?: not|n't) (?:match|return|find)|could(?: not|n't) find"
    r"|returned (?:nothing|no|0)|no (?:results?|matches)))"
    r"|\A\s*(?:\[\s*\]|\{\s*\}|null|none)\s*\Z",
    re.IGNORECASE,
)


class ToolOutcome(StrEnum):
    FAILED = "failed"
    """An error, or a report that nothing was found."""
    CONFIRMED = "confirmed"
    """Only a confirmation that the call was carried out."""
    CONTENT = "content"


def classify_outcome(call: str, result: str, *, is_error: bool) -> ToolOutcome:
    """Classify the result of a call; `call` is the tool's name with its arguments."""
    said = _STAMP.sub("", result.strip())
    text = said if len(said) <= 2 * READ else f"{said[:READ]}\n{said[-READ:]}"
    if is_error or _FAILS.search(text) or _NOTHING.search(text):
        return ToolOutcome.FAILED
    read = _parse_object(text)
    if _is_empty_result(read) if _has_more_than_status(read) else parse_failure(text) is not None:
        return ToolOutcome.FAILED
    return ToolOutcome.CONFIRMED if _is_confirmation(call, text) else ToolOutcome.CONTENT


def has_failure_word(result: str) -> bool:
    """Whether a result is one line with a failure word, which may also be its content."""
    said = _STAMP.sub("", result.strip())
    is_line = len(said) <= COMPLAINT and "\n" not in said and not said.startswith(("{", "["))
    return is_line and _COMPLAINS.search(said) is not None


def _parse_object(text: str) -> Mapping[str, Any]:
    if not text.startswith("{"):
        return {}
    try:
        read: Mapping[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return read


def _has_more_than_status(read: Mapping[str, Any]) -> bool:
    """Whether an object contains more than call status: a failed job is not a failed call."""
    return any(_ENVELOPE.fullmatch(name.casefold()) is None for name in read)


def _is_empty_result(read: Mapping[str, Any]) -> bool:
    """Whether an object lists or counts something and has none of it."""
    lists = [value for value in read.values() if isinstance(value, list)]
    counts = [value for name, value in read.items() if _COUNT.fullmatch(name.casefold())]
    return bool(lists or counts) and not any(lists) and not any(counts)


def _is_confirmation(call: str, text: str) -> bool:
    """Whether every word of a short result confirms or is part of the call."""
    words = _WORD.findall(text[:READ].casefold().replace("no output", ""))
    if len(words) > CONFIRMATION_WORDS:
        return False
    stems = {word[:4] for word in _WORD.findall(call[:READ].casefold())}
    return all(_CONFIRMS.fullmatch(word) or word[:4] in stems for word in words)
