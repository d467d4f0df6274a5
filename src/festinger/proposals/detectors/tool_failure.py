"""Detects tools that fail repeatedly in the same way within an episode.

Runs when an episode has ended. The exchanges say which tool a result came from: results answer the calls of
the previous exchange, in order; a result of an unknown tool is skipped. A failure is reduced to a class and
to its message without the parts that vary. The class is only ever an exception name, a status number or an
entry of a short list, so that tool output never becomes the wording of a proposal.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

from festinger.events.catalogue import Event
from festinger.ids import SpaceId
from festinger.memory.episodes.episode import Episode, TurnRole
from festinger.memory.episodes.store import find_episode, list_turns
from festinger.proposals.deps import ProposalDeps
from festinger.proposals.detectors.patterns import DetectorFinding, DetectorName, slugify_scope
from festinger.store.pool import Transaction
from festinger.store.repositories.exchanges import PastExchange, StoredMessage, load_messages, recent_exchanges

READ = 4_000
"""Characters searched for a failure at each end of a result."""
LONGEST_MESSAGE = 120
PLAIN = "error"
"""The class of a failure that names none."""

_RAISED = re.compile(r"\b(?:[a-zA-Z_]\w{0,40}\.){0,6}([A-Z][A-Za-z0-9]{1,50}(?:Error|Exception|Timeout|Interrupt))\b")
_STATUS = re.compile(r"\b(?:HTTP(?:/\d(?:\.\d)?)?|status(?:[ _]code)?)\s*[:=]?\s*([45]\d\d)\b", re.IGNORECASE)
_ERRNO = re.compile(r"\b(E[A-Z]{4,14})\b")
_EXIT = re.compile(r"\b(?:exit(?:ed)?(?:[ _](?:with|code|status))+|returncode)\s*[:=]?\s*(-?\d{1,3})\b", re.IGNORECASE)
_PHRASES = {
    "timeout": re.compile(r"\btime[d -]*out\b", re.IGNORECASE),
    "permission denied": re.compile(r"\b(?:permission|access) denied\b", re.IGNORECASE),
    "connection refused": re.compile(r"\bconnection refused\b", re.IGNORECASE),
    "command not found": re.compile(r"\bcommand not found\b", re.IGNORECASE),
    "missing file": re.compile(r"\bno such file or directory\b", re.IGNORECASE),
    "rate limit": re.compile(r"\b(?:rate limit|too many requests)", re.IGNORECASE),
}
_SAYS_SO = re.compile(r"\A\W{0,3}(?:error|fatal|failed|failure|exception|traceback|panic|unhandled)\b", re.IGNORECASE)
_TRACEBACK = "Traceback (most recent call last)"

_CHANGES = re.compile(
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|0x[0-9a-fA-F]+|(?:/[\w.+-]+){2,}|\d+"
    r"|'[^'\n]{1,200}'|\"[^\"\n]{1,200}\""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFailure:
    """A failure, equal for the same problem."""

    kind: str
    message: str
    """The message without ids, numbers, paths and quotes."""


def parse_failure(result: str) -> ToolFailure | None:
    """Parse how a tool failed; None if the result reports no failure."""
    output = result.strip()
    found = _parse_error_object(output)
    if found is None:
        text = output if len(output) <= 2 * READ else f"{output[:READ]}\n{output[-READ:]}"
        found = text if _is_failure(text) else ""
    if not found:
        return None
    return ToolFailure(kind=_failure_kind(found), message=_mask_variable_parts(_find_error_line(found)))


def _parse_error_object(text: str) -> str | None:
    """Return the error of a JSON object: empty if it reports none, None if this is not an object."""
    if not text.startswith("{"):
        return None
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _format_error_object(read) if isinstance(read, Mapping) else None


def _format_error_object(read: Mapping[str, Any]) -> str:
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


def _is_failure(text: str) -> bool:
    if _TRACEBACK in text or _SAYS_SO.match(text):
        return True
    first = text.partition("\n")[0]
    raised = _RAISED.match(first.lstrip())
    is_status = _STATUS.match(first.lstrip()) is not None
    return raised is not None or is_status or _find_exit_code(text) is not None


def _find_exit_code(text: str) -> str | None:
    """Return the last nonzero exit code."""
    found = [code for code in _EXIT.findall(text) if int(code) != 0]
    return found[-1] if found else None


def _failure_kind(text: str) -> str:
    raised = _RAISED.findall(text)
    if raised:
        # The last one escaped the traceback; those above it were caught on the way.
        return str(raised[-1])
    if status := _STATUS.search(text):
        return f"HTTP {status[1]}"
    if errno := _ERRNO.search(text):
        return errno[1]
    if phrase := next((name for name, pattern in _PHRASES.items() if pattern.search(text)), None):
        return phrase
    code = _find_exit_code(text)
    return f"exit code {code}" if code else PLAIN


def _find_error_line(text: str) -> str:
    """Return the line that states the error: the last of a traceback, otherwise the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if _TRACEBACK in text:
        return next((line for line in reversed(lines) if _RAISED.match(line)), lines[-1])
    return lines[0] if lines else PLAIN


def _mask_variable_parts(line: str) -> str:
    return _CHANGES.sub("#", line).casefold()[:LONGEST_MESSAGE]


MOST_EXCHANGES = 1_000
"""Number of exchanges of a session searched for a call."""
MOST_CITED = 20

_NAME = re.compile(r"[A-Za-z][\w.-]{0,59}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    turn: UUID
    tool: str
    text: str
    at: datetime


async def find_tool_failures(deps: ProposalDeps, transaction: Transaction, event: Event) -> list[DetectorFinding]:
    """Find frequent failures in the episode that ended. Raises `NotFound` if it was forgotten meanwhile."""
    episode = await find_episode(transaction, event.space, UUID(event.payload["episode"]))
    turns = [
        each
        for each in await list_turns(transaction, event.space, episode.id)
        if each.role is TurnRole.TOOL and parse_failure(each.content) is not None
    ]
    threshold = deps.terms(event.space).detectors.tool_failure.threshold
    if len(turns) < threshold:
        return []
    tools = await _load_tools_by_turn(transaction, event.space, episode)
    results = [
        ToolResult(turn=each.turn_id, tool=tools[each.turn_id], text=each.content, at=each.at)
        for each in turns
        if each.turn_id in tools
    ]
    return list(tool_failure_findings(episode, results, threshold=threshold))


def tool_failure_findings(
    episode: Episode, results: Sequence[ToolResult], *, threshold: int
) -> Iterator[DetectorFinding]:
    """Yield a finding for each tool that failed in the same way often enough."""
    alike: defaultdict[tuple[str, ToolFailure], list[ToolResult]] = defaultdict(list)
    for each in results:
        failure = parse_failure(each.text)
        if failure is not None and _NAME.fullmatch(each.tool):
            alike[each.tool, failure].append(each)
    for (tool, failure), seen in alike.items():
        if len(seen) >= threshold:
            yield _tool_failure_finding(episode, tool, failure.kind, seen)


def match_results_to_tools(
    results: Mapping[UUID, StoredMessage], exchanges: Sequence[PastExchange], order: Sequence[UUID]
) -> dict[UUID, str]:
    """Return the tool behind each result; `exchanges` must be in order.

    With as many results as calls, each answers the call at its position; otherwise the tool is known only if
    all calls were of one tool.
    """
    before = {after.id: call for call, after in pairwise(exchanges)}
    brought: defaultdict[UUID, list[UUID]] = defaultdict(list)
    for id_ in order:
        if id_ in results:
            brought[results[id_].exchange].append(id_)
    found: dict[UUID, str] = {}
    for exchange, ids in brought.items():
        calls = before[exchange].tool_calls if exchange in before else ()
        names = [str(call.get("name", "")) for call in calls]
        if len(names) == len(ids):
            found |= dict(zip(ids, names, strict=True))
        elif len(set(names)) == 1:
            found |= dict.fromkeys(ids, names[0])
    return found


async def _load_tools_by_turn(transaction: Transaction, space: SpaceId, episode: Episode) -> dict[UUID, str]:
    """Return the tool behind each tool turn of an episode, where it is known."""
    turns = await list_turns(transaction, space, episode.id)
    results = [each.turn_id for each in turns if each.role is TurnRole.TOOL]
    messages = await load_messages(transaction, space, results)
    past = await recent_exchanges(transaction, space, episode.session_id, limit=MOST_EXCHANGES)
    return match_results_to_tools(messages, past, results)


def _tool_failure_finding(episode: Episode, tool: str, kind: str, seen: Sequence[ToolResult]) -> DetectorFinding:
    return DetectorFinding(
        by=DetectorName.TOOL_FAILURE,
        category="reliability",
        scope=slugify_scope(tool, otherwise="tools"),
        what=f"Handle {kind} of {tool}",
        why=f"It failed so {len(seen)} times in one episode.",
        at=max(each.at for each in seen),
        agent=episode.agent_id,
        session=episode.session_id,
        source=f"{episode.source}:{tool}:{kind}"[:200],
        evidence={"episodes": [str(episode.id)], "turns": [str(each.turn) for each in seen[:MOST_CITED]]},
    )
