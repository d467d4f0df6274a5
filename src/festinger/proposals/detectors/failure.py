"""Did a tool fail, and how?

Tools say so in many ways: a traceback, a status, an exit code, an object with an error in it. Read here is of which
class a failure is, and its message without what changes from call to call, so that the same failure is known again.
Only names of classes, numbers of statuses and words of a short list come out as a class: what a tool writes never
becomes the words of a proposal. Pure.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

READ = 4_000
"""Characters of a result, from both its ends, in which a failure is looked for."""
LONGEST_MESSAGE = 120
PLAIN = "error"
"""The class of a failure that names none."""

_RAISED = re.compile(
    r"\b(?:[a-zA-Z_]\w{0,40}\.){0,6}([A-Z][A-Za-z0-9]{1,50}(?:Error|Exception|Timeout|Interrupt))\b"
)
_STATUS = re.compile(r"\b(?:HTTP(?:/\d(?:\.\d)?)?|status(?:[ _]code)?)\s*[:=]?\s*([45]\d\d)\b", re.IGNORECASE)
_ERRNO = re.compile(r"\b(E[A-Z]{4,14})\b")
_EXIT = re.compile(
    r"\b(?:exit(?:ed)?(?:[ _](?:with|code|status))+|returncode)\s*[:=]?\s*(-?\d{1,3})\b", re.IGNORECASE
)
_PHRASES = {
    "timeout": re.compile(r"\btime[d -]*out\b", re.IGNORECASE),
    "permission denied": re.compile(r"\b(?:permission|access) denied\b", re.IGNORECASE),
    "connection refused": re.compile(r"\bconnection refused\b", re.IGNORECASE),
    "command not found": re.compile(r"\bcommand not found\b", re.IGNORECASE),
    "missing file": re.compile(r"\bno such file or directory\b", re.IGNORECASE),
    "rate limit": re.compile(r"\b(?:rate limit|too many requests)", re.IGNORECASE),
}
_SAYS_SO = re.compile(
    r"\A\W{0,3}(?:error|fatal|failed|failure|exception|traceback|panic|unhandled)\b", re.IGNORECASE
)
_TRACEBACK = "Traceback (most recent call last)"

_CHANGES = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|0x[0-9a-fA-F]+|(?:/[\w.+-]+){2,}|\d+"
    r"|'[^'\n]{1,200}'|\"[^\"\n]{1,200}\""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How something failed: equal for the same trouble."""

    kind: str
    message: str
    """What it said, without ids, numbers, paths and quotes."""


def failure_of(result: str) -> Failure | None:
    """How a tool failed; none if its result does not say that it did."""
    said = result.strip()
    found = _in_object(said)
    if found is None:
        text = said if len(said) <= 2 * READ else f"{said[:READ]}\n{said[-READ:]}"
        found = text if _fails(text) else ""
    if not found:
        return None
    return Failure(kind=_kind(found), message=_steady(_telling_line(found)))


def _in_object(said: str) -> str | None:
    """What an object says of its failure: empty if it says that there was none, none if this is no object."""
    if not said.startswith("{"):
        return None
    try:
        read = json.loads(said)
    except (ValueError, RecursionError):
        return None
    return _told(read) if isinstance(read, Mapping) else None


def _told(read: Mapping[str, Any]) -> str:
    error = read.get("error") or read.get("exception")
    code = next((read[name] for name in ("exit_code", "returncode", "exitCode") if name in read), 0)
    has_failed = (
        bool(error)
        or read.get("is_error") is True
        or read.get("isError") is True
        or read.get("ok") is False
        or read.get("success") is False
        or str(read.get("status", "")).lower() in ("error", "failed", "failure")
        or (isinstance(code, int) and code != 0)
    )
    if not has_failed:
        return ""
    words = error if isinstance(error, str) else json.dumps(error) if error else ""
    rest = str(read.get("message") or read.get("stderr") or read.get("content") or "")
    exited = f"exit code {code}" if isinstance(code, int) and code else ""
    return "\n".join(part for part in (words, rest, exited) if part) or PLAIN


def _fails(text: str) -> bool:
    if _TRACEBACK in text or _SAYS_SO.match(text):
        return True
    first = text.partition("\n")[0]
    raised = _RAISED.match(first.lstrip())
    is_status = _STATUS.match(first.lstrip()) is not None
    return raised is not None or is_status or _exit_code(text) is not None


def _exit_code(text: str) -> str | None:
    """The code with which something ended, unless all was well."""
    found = [code for code in _EXIT.findall(text) if int(code) != 0]
    return found[-1] if found else None


def _kind(text: str) -> str:
    raised = _RAISED.findall(text)
    if raised:
        # The last one is what came out of a traceback; what stands above it was caught on the way.
        return str(raised[-1])
    readings: tuple[Callable[[str], str | None], ...] = (_status, _errno, _phrase, _exited)
    return next((kind for read in readings if (kind := read(text))), PLAIN)


def _status(text: str) -> str | None:
    found = _STATUS.search(text)
    return f"HTTP {found[1]}" if found else None


def _errno(text: str) -> str | None:
    found = _ERRNO.search(text)
    return found[1] if found else None


def _phrase(text: str) -> str | None:
    return next((name for name, pattern in _PHRASES.items() if pattern.search(text)), None)


def _exited(text: str) -> str | None:
    code = _exit_code(text)
    return f"exit code {code}" if code else None


def _telling_line(text: str) -> str:
    """The line that says what happened: the last of a traceback, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if _TRACEBACK in text:
        return next((line for line in reversed(lines) if _RAISED.match(line)), lines[-1])
    return lines[0] if lines else PLAIN


def _steady(line: str) -> str:
    return _CHANGES.sub("#", line).casefold()[:LONGEST_MESSAGE]
