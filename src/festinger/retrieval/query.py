"""Validates recall queries and parses cues.

A query holds everything that a caller may specify besides the cue, checked before any search; filters become
search parameters here, once for all arms. In a cue, quoted words must be adjacent and `-word` must be absent.
Some cues ask for what the assistant itself said, some for the past. Speakers are matched by name in any case;
other names are words capitalized inside a sentence. `text.spans` finds times, the database stems and
stopwords.
"""

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from festinger.clock import aware, iso
from festinger.errors import BadInput
from festinger.ids import Origin
from festinger.memory.learn.statement import subject_key
from festinger.memory.model import Kind, Status, parse_kind
from festinger.text.time_spans import TimeSpan, find_time_span

TURN = "turn"
"""The kind of turns, which can be searched for but not learned."""
MEMORY_KINDS = frozenset(kind.value for kind in Kind)
MOST_ITEMS = 100
MOST_HOPS = 2
LONGEST_CUE = 8_000
CUE_CUT = "cue_cut"

Choice = TypeVar("Choice", bound=StrEnum)


class IncludableStatus(StrEnum):
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    HELD = "held"
    DORMANT = "dormant"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """A cue and what is wanted for it; built by `parse_recall_query`, which rejects invalid input."""

    cue: str
    limit: int = 5
    kinds: tuple[str, ...] | None = None
    as_of: datetime | None = None
    valid_at: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None
    subject: str | None = None
    tags: tuple[str, ...] = ()
    origins: tuple[Origin, ...] | None = None
    include: tuple[IncludableStatus, ...] = ()
    exclude: tuple[UUID, ...] = ()
    tokens: int | None = None
    strict: bool = False
    explain: bool = False
    hurried: bool = False
    """Whether the caller's deadline leaves no time for reranking."""
    ungated: bool = False
    """Return the best hits however weak, for callers that judge them."""
    by_words: bool = False
    """Search by words alone, for callers that cannot wait for the embedder."""
    active: tuple[UUID, ...] = ()
    """Memories already in mind, from which others are associated."""
    hops: int = 1
    """Association steps beyond a partner."""
    degraded: tuple[str, ...] = field(default=())

    @property
    def with_turns(self) -> bool:
        """Whether turns qualify: they have no subject, no tags and no validity."""
        is_asked = self.kinds is None or TURN in self.kinds
        return is_asked and not (self.subject or self.tags or self.valid_at)

    @property
    def has_filters(self) -> bool:
        """Whether it may exclude most candidates."""
        named = (self.memory_kinds, self.since, self.until, self.subject, self.origins, self.as_of, self.valid_at)
        return bool(self.tags) or any(each is not None for each in named)

    @property
    def memory_kinds(self) -> list[str] | None:
        """The kinds that memories must have; `None` if any will do, as beside every message of a chat."""
        if self.kinds is None or MEMORY_KINDS.issubset(self.kinds):
            return None
        return [kind for kind in self.kinds if kind != TURN]

    @property
    def with_memories(self) -> bool:
        return self.memory_kinds is None or bool(self.memory_kinds)

    @property
    def statuses(self) -> list[str]:
        """Allowed memory statuses; for a moment in the past, any current status."""
        wanted = {Status.ACTIVE, *(Status(each.value) for each in self.include if each is not IncludableStatus.DORMANT)}
        if self.as_of is not None:
            wanted |= {Status.SUPERSEDED, Status.ARCHIVED, Status.HELD, Status.MERGED}
        if self.valid_at is not None:
            wanted.add(Status.SUPERSEDED)
        return sorted(status.value for status in wanted)

    def parameters(self) -> dict[str, Any]:
        """The filters as parameters of every search arm."""
        return {
            "statuses": self.statuses,
            "disputing": self.as_of is None and self.valid_at is None,
            "with_memories": self.with_memories,
            "with_turns": self.with_turns,
            "kinds": self.memory_kinds,
            "since": self.since,
            "until": self.until,
            "subject": self.subject,
            "tags": list(self.tags) or None,
            "origins": [origin.value for origin in self.origins] if self.origins is not None else None,
            "exclude": list(self.exclude) or None,
            "as_of": self.as_of,
            "valid_at": self.valid_at,
        }

    def as_json(self) -> dict[str, Any]:
        """The query without its cue, as recorded and replayed."""
        shown: dict[str, Any] = {
            "limit": self.limit,
            "kinds": list(self.kinds) if self.kinds is not None else None,
            "subject": self.subject,
            "tags": list(self.tags),
            "origins": [origin.value for origin in self.origins] if self.origins is not None else None,
            "include": [each.value for each in self.include],
            "exclude": [str(each) for each in self.exclude],
            "tokens": self.tokens,
            "strict": self.strict,
            "active": [str(each) for each in self.active],
            "hops": self.hops,
        }
        moments = {name: getattr(self, name) for name in MOMENTS}
        return shown | {name: iso(at) if at else None for name, at in moments.items()}


MOMENTS = ("as_of", "valid_at", "since", "until")


def parse_recall_query(cue: str, *, now: datetime, **wanted: Any) -> RecallQuery:
    """Build the query from fields of `RecallQuery` as callers have them: names as text, any sequences.

    Raises `BadInput` naming what is wrong.
    """
    if not cue.strip():
        raise BadInput("`cue` is blank.", hint="Say what should come to mind.")
    raw = RecallQuery(cue=cue[-LONGEST_CUE:], **wanted)
    _check_numbers(raw)
    moments: dict[str, Any] = {name: _parse_moment(name, getattr(raw, name)) for name in MOMENTS}
    if moments["as_of"] and moments["as_of"] > now:
        raise BadInput("`as_of` lies in the future.", hint="Give a moment in the past.")
    if moments["since"] and moments["until"] and moments["since"] > moments["until"]:
        raise BadInput("`since` lies after `until`.")
    return replace(
        raw,
        kinds=_parse_kinds(raw.kinds),
        subject=subject_key(raw.subject),
        tags=tuple(raw.tags),
        origins=_parse_origins(raw.origins),
        include=tuple(_parse_choice("include", each, IncludableStatus) for each in raw.include),
        exclude=tuple(raw.exclude),
        active=tuple(raw.active),
        degraded=(CUE_CUT,) if len(cue) > LONGEST_CUE else (),
        **moments,
    )


def _check_numbers(query: RecallQuery) -> None:
    if not 1 <= query.limit <= MOST_ITEMS:
        raise BadInput(f"`limit` must be from 1 to {MOST_ITEMS}, not {query.limit}.")
    if not 0 <= query.hops <= MOST_HOPS:
        raise BadInput(f"`hops` must be from 0 to {MOST_HOPS}, not {query.hops}.")
    if query.tokens is not None and query.tokens < 0:
        raise BadInput(f"`tokens` must be 0 or more, not {query.tokens}.")


def _parse_moment(name: str, at: datetime | None) -> datetime | None:
    if at is None:
        return None
    try:
        return aware(at)
    except BadInput as error:
        raise BadInput(f"`{name}`: {error.message}", hint=error.hint) from error


def _parse_kinds(kinds: Sequence[str] | None) -> tuple[str, ...] | None:
    if kinds is None:
        return None
    try:
        return tuple(TURN if kind.strip().lower() == TURN else parse_kind(kind).value for kind in kinds)
    except BadInput as error:
        raise BadInput(f"`kinds`: {error.message}", hint=error.hint) from error


def _parse_origins(origins: Sequence[str] | None) -> tuple[Origin, ...] | None:
    return None if origins is None else tuple(_parse_choice("origins", each, Origin) for each in origins)


def _parse_choice(name: str, value: str, choices: type[Choice]) -> Choice:
    try:
        return choices(value)
    except ValueError as error:
        known = ", ".join(f"`{choice}`" for choice in choices)
        raise BadInput(f"`{name}`: `{value[:40]}` is none of {known}.") from error


_QUOTED = re.compile(r'["“”]([^"“”]{1,200})["“”]')
_WITHOUT = re.compile(r"(?:(?<=\s)|^)-([A-Za-z][\w.@-]*)")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_INSIDE = re.compile(r"(?<=[^\s.!?:])\s+([^\W\d_][^\W_]*)")
"""A word that does not begin a sentence."""
_TIMES = frozenset(
    name.lower()
    for names in (calendar.month_name, calendar.month_abbr, calendar.day_name, calendar.day_abbr)
    for name in names
)

LISTS = Path(__file__).parent / "lists"


def load_phrase_pattern(name: str) -> re.Pattern[str]:
    """Compile the phrases of one list into a pattern that matches them as whole words."""
    lines = (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, wanted))})\b", re.IGNORECASE)


_OWN_WORDS = load_phrase_pattern("own_words")
_PAST = load_phrase_pattern("past")
_SUMMARY = load_phrase_pattern("summary")
_ORDER = load_phrase_pattern("order")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCue:
    text: str
    """Without the excluded words."""
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    """Its words in lowercase, to match speakers."""
    proper: frozenset[str] = frozenset()
    """Its words capitalized inside a sentence, in lowercase and without time words."""
    asks_model: bool = False
    asks_past: bool = False
    asks_summary: bool = False
    asks_order: bool = False
    span: TimeSpan | None = None
    goes_on: bool = False
    """Whether the time that it names has not ended: this year, today."""

    @property
    def asks_summary_or_order(self) -> bool:
        """Whether it asks for many things, each of which covers a little of the question."""
        return self.asks_summary or self.asks_order

    @property
    def wants_newest(self) -> bool:
        """Whether the newer of two differing hits is meant."""
        return not self.asks_past and (self.span is None or self.goes_on)


def is_time_word(term: str) -> bool:
    """Whether a stem names a day, a month or a number, as in dates."""
    return term.isdigit() or any(name.startswith(term) for name in _TIMES if name and len(term) >= SHORTEST_TIME)


SHORTEST_TIME = 3


def cue_hash(cue: str) -> bytes:
    """Hash the words of a cue, ignoring case and spacing."""
    return sha256(" ".join(cue.casefold().split()).encode()).digest()


def parse_cue(text: str, *, now: datetime) -> ParsedCue:
    without = tuple(_WITHOUT.findall(text))
    plain = _WITHOUT.sub(" ", text).strip() if without else text
    span = find_time_span(plain, now=now)
    words = {word.lower() for word in _WORD.findall(plain)}
    return ParsedCue(
        text=plain or text,
        phrases=tuple(_QUOTED.findall(plain)),
        without=without if plain else (),
        names=frozenset(words | {word.removesuffix("'s").removesuffix("’s") for word in words}),
        proper=_proper_names(plain),
        asks_model=_OWN_WORDS.search(plain) is not None,
        asks_past=_PAST.search(plain) is not None,
        asks_summary=_SUMMARY.search(plain) is not None,
        asks_order=_ORDER.search(plain) is not None,
        span=span,
        goes_on=span is not None and span.start <= now < span.end,
    )


def _proper_names(text: str) -> frozenset[str]:
    words = _INSIDE.findall(text)
    capital = {word.lower() for word in words if word[0].isupper() and word != "I"}
    # If most words are capitalized it is a headline or shouting.
    return frozenset(capital - _TIMES) if 2 * len(capital) <= len(words) else frozenset()
