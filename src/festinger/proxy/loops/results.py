"""Tells what the result of a tool call brought: a failure, a bare confirmation, or something to read.

Every protocol carries results as text, and only one of them flags errors, so the text itself is read.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import orjson

from festinger.proposals.detectors.tool_failure import failure_of

READ = 2_000
"""Characters at each end of a result that are read."""
CONFIRMATION_WORDS = 12

_WORD = re.compile(r"[^\W_]+")
_CONFIRMS = re.compile(
    r"ok|okay|done|succe(?:ss|ssful|ssfully|eded)|true|null|output|finished|completed?|status|result|message|msg|action"
    r"|exit|code|0|was|were|has|have|been|is|the|an?|to|at|on|in|of|by|and|with"
)
"""Words that add nothing to the call when a result consists of nothing else."""

_ENVELOPE = re.compile(
    r"errors?|exception|message|msg|details?|(?:status_?|exit_?|return)?code|status|type|reason|success|ok|is_?error"
    r"|stdout|stderr|output|content|(?:request|trace)_?id|time(?:stamp)?|path|retry_after"
)
"""Names of what an answer says about itself."""

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
"""Characters of a line that complains of something."""
_COUNT = re.compile(r"total(?:_\w+)?|\w*count|hits|found|matches|num_?results")
_NOTHING = re.compile(
    r"\A\W{0,20}(?:(?:no|0|zero|without any) (?:[\w'-]+ ){0,4}?"
    r"(?:found|results?|match(?:es)?|hits?|items?|rows?|entries|records?|documents?|files?|answers?|data)\b"
    r"|nothing\b|not found|[\w' -]{1,60}\b(?:not found|did(?: not|n't) (?:match|return|find)|could(?: not|n't) find"
    r"|returned (?:nothing|no|0)|no (?:results?|matches)))"
    r"|\A\s*(?:\[\s*\]|\{\s*\}|null|none)\s*\Z",
    re.IGNORECASE,
)


class Outcome(StrEnum):
    FAILED = "failed"
    """An error, or word that nothing was found."""
    CONFIRMED = "confirmed"
    """Nothing but word that the call was carried out."""
    TOLD = "told"


def outcome_of(call: str, result: str, *, is_error: bool) -> Outcome:
    """What the result of this call brought; `call` is the tool's name with its arguments."""
    said = _STAMP.sub("", result.strip())
    text = said if len(said) <= 2 * READ else f"{said[:READ]}\n{said[-READ:]}"
    if is_error or _FAILS.search(text) or _NOTHING.search(text):
        return Outcome.FAILED
    read = _object(text)
    if _is_nothing(read) if _is_record(read) else failure_of(text) is not None:
        return Outcome.FAILED
    return Outcome.CONFIRMED if _confirms(call, text) else Outcome.TOLD


def complains(result: str) -> bool:
    """Whether a result is one line with a word of failure, which may be its content as well as its fate."""
    said = _STAMP.sub("", result.strip())
    is_line = len(said) <= COMPLAINT and "\n" not in said and not said.startswith(("{", "["))
    return is_line and _COMPLAINS.search(said) is not None


def _object(text: str) -> Mapping[str, Any]:
    if not text.startswith("{"):
        return {}
    try:
        read: Mapping[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return read


def _is_record(read: Mapping[str, Any]) -> bool:
    """Whether an object holds more than word of how the call went: a job that failed is no failed call."""
    return any(_ENVELOPE.fullmatch(name.casefold()) is None for name in read)


def _is_nothing(read: Mapping[str, Any]) -> bool:
    """Whether an object lists or counts something and has none of it."""
    lists = [value for value in read.values() if isinstance(value, list)]
    counts = [value for name, value in read.items() if _COUNT.fullmatch(name.casefold())]
    return bool(lists or counts) and not any(lists) and not any(counts)


def _confirms(call: str, text: str) -> bool:
    """Whether every word of a short result is a word of confirmation or stands in the call."""
    words = _WORD.findall(text[:READ].casefold().replace("no output", ""))
    if len(words) > CONFIRMATION_WORDS:
        return False
    stems = {word[:4] for word in _WORD.findall(call[:READ].casefold())}
    return all(_CONFIRMS.fullmatch(word) or word[:4] in stems for word in words)
