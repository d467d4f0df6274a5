"""What may be asked of a recall, and what is refused?

A wish holds everything that a caller may say beside the cue, checked before anything is searched. Filters become
parameters of the search here, once for all ways of searching.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar
from uuid import UUID

from festinger.clock import aware, iso
from festinger.errors import BadInput
from festinger.ids import Origin
from festinger.memory.learn.statement import subject_key
from festinger.memory.model import Status, kind_of

TURN = "turn"
"""The kind of what was said; it can be searched for and not learnt."""
MOST_ITEMS = 100
MOST_HOPS = 2
LONGEST_CUE = 8_000
CUE_CUT = "cue_cut"

Choice = TypeVar("Choice", bound=StrEnum)


class Include(StrEnum):
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    HELD = "held"
    DORMANT = "dormant"


class Blend(StrEnum):
    """How scores are made: always alike, or as the mind of an agent blends today."""

    STEADY = "steady"
    MIND = "mind"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A cue and what is wanted for it. Made by `wished`, which refuses what nobody can mean."""

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
    include: tuple[Include, ...] = ()
    exclude: tuple[UUID, ...] = ()
    tokens: int | None = None
    strict: bool = False
    blend: Blend = Blend.STEADY
    explain: bool = False
    hurried: bool = False
    """Whether the caller has a deadline that leaves no time for a closer reader."""
    ungated: bool = False
    """Give the best hits however weak they are, for callers that judge them by themselves."""
    by_words: bool = False
    """Search by words alone, for callers that cannot wait for the embedder."""
    seed: int | None = None
    """What chance begins with in the blend of a mind; drawn where nobody says."""
    active: tuple[UUID, ...] = ()
    """Memories that are in mind already, from which others come to mind."""
    hops: int = 1
    """Steps beyond a partner that it leads on to."""
    degraded: tuple[str, ...] = field(default=())

    @property
    def with_turns(self) -> bool:
        """Whether turns may come: they have no subject, no tags and no time in which they hold."""
        is_asked = self.kinds is None or TURN in self.kinds
        return is_asked and not (self.subject or self.tags or self.valid_at)

    @property
    def narrows(self) -> bool:
        """Whether it may leave few of many."""
        named = (self.kinds, self.since, self.until, self.subject, self.origins, self.as_of, self.valid_at)
        return bool(self.tags) or any(each is not None for each in named)

    @property
    def memory_kinds(self) -> list[str] | None:
        return None if self.kinds is None else [kind for kind in self.kinds if kind != TURN]

    @property
    def with_memories(self) -> bool:
        return self.kinds is None or bool(self.memory_kinds)

    @property
    def statuses(self) -> list[str]:
        """In which states memories come. For a moment in the past: in whatever state they are by now."""
        wanted = {
            Status.ACTIVE,
            *(Status(each.value) for each in self.include if each is not Include.DORMANT),
        }
        if self.as_of is not None:
            wanted |= {Status.SUPERSEDED, Status.ARCHIVED, Status.HELD, Status.MERGED}
        if self.valid_at is not None:
            wanted.add(Status.SUPERSEDED)
        return sorted(status.value for status in wanted)

    def parameters(self) -> dict[str, Any]:
        """The filters as every way of searching takes them."""
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
        """What was asked for beside the cue, as it is written down and asked again."""
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
        moments = {name: getattr(self, name) for name in ("as_of", "valid_at", "since", "until")}
        return shown | {name: iso(at) if at else None for name, at in moments.items()}


def wished(
    cue: str,
    *,
    now: datetime,
    limit: int = 5,
    kinds: Sequence[str] | None = None,
    as_of: datetime | None = None,
    valid_at: datetime | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    subject: str | None = None,
    tags: Sequence[str] = (),
    origins: Sequence[str] | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[UUID] = (),
    tokens: int | None = None,
    strict: bool = False,
    blend: str = Blend.STEADY,
    explain: bool = False,
    hurried: bool = False,
    by_words: bool = False,
    ungated: bool = False,
    seed: int | None = None,
    active: Sequence[UUID] = (),
    hops: int = 1,
) -> Wish:
    """The wish, or `BadInput` naming what is wrong with it."""
    if not cue.strip():
        raise BadInput("`cue` is blank.", hint="Say what should come to mind.")
    _check_numbers(limit=limit, hops=hops, tokens=tokens)
    moments = {
        name: _moment(name, at)
        for name, at in (("as_of", as_of), ("valid_at", valid_at), ("since", since), ("until", until))
    }
    if moments["as_of"] and moments["as_of"] > now:
        raise BadInput("`as_of` lies in the future.", hint="Give a moment in the past.")
    if moments["since"] and moments["until"] and moments["since"] > moments["until"]:
        raise BadInput("`since` lies after `until`.")
    return Wish(
        cue=cue[-LONGEST_CUE:],
        limit=limit,
        kinds=_kinds(kinds),
        subject=subject_key(subject),
        tags=tuple(tags),
        origins=_origins(origins),
        include=tuple(_chosen("include", each, Include) for each in include),
        exclude=tuple(exclude),
        tokens=tokens,
        strict=strict,
        blend=_chosen("blend", blend, Blend),
        explain=explain,
        hurried=hurried,
        by_words=by_words,
        ungated=ungated,
        seed=seed,
        active=tuple(active),
        hops=hops,
        degraded=(CUE_CUT,) if len(cue) > LONGEST_CUE else (),
        **moments,
    )


def _check_numbers(*, limit: int, hops: int, tokens: int | None) -> None:
    if not 1 <= limit <= MOST_ITEMS:
        raise BadInput(f"`limit` must be from 1 to {MOST_ITEMS}, not {limit}.")
    if not 0 <= hops <= MOST_HOPS:
        raise BadInput(f"`hops` must be from 0 to {MOST_HOPS}, not {hops}.")
    if tokens is not None and tokens < 0:
        raise BadInput(f"`tokens` must be 0 or more, not {tokens}.")


def _moment(name: str, at: datetime | None) -> datetime | None:
    if at is None:
        return None
    try:
        return aware(at)
    except BadInput as error:
        raise BadInput(f"`{name}`: {error.message}", hint=error.hint) from error


def _kinds(kinds: Sequence[str] | None) -> tuple[str, ...] | None:
    if kinds is None:
        return None
    try:
        return tuple(TURN if kind.strip().lower() == TURN else kind_of(kind).value for kind in kinds)
    except BadInput as error:
        raise BadInput(f"`kinds`: {error.message}", hint=error.hint) from error


def _origins(origins: Sequence[str] | None) -> tuple[Origin, ...] | None:
    return None if origins is None else tuple(_chosen("origins", each, Origin) for each in origins)


def _chosen(name: str, given: str, choices: type[Choice]) -> Choice:
    try:
        return choices(given)
    except ValueError as error:
        known = ", ".join(f"`{choice}`" for choice in choices)
        raise BadInput(f"`{name}`: `{given[:40]}` is none of {known}.") from error
