"""Which memories does somebody want to see in a list?

Values only: what a list is narrowed to, and how the names and values of a query, which are the same at every door,
become that. Finding them is left to `history`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from festinger.clock import read_moment
from festinger.errors import BadInput
from festinger.ids import Origin
from festinger.memory.kinds import Kind, Status, kind_of

Name = TypeVar("Name", bound=StrEnum)

EVERY = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which memories a list shows. `words` are looked for as a person types them into a search."""

    statuses: Sequence[Status] | None = (Status.ACTIVE,)
    kinds: Sequence[Kind] = ()
    origins: Sequence[Origin] = ()
    subject: str | None = None
    words: str | None = None
    as_of: datetime | None = None
    valid_at: datetime | None = None
    everybodys: bool = False
    """Whether other agents' own are listed too: for people, never for an agent."""

    @property
    def is_dated(self) -> bool:
        return self.as_of is not None or self.valid_at is not None


STANDING = Wanted()


def wanted_in(asked: Mapping[str, str]) -> Wanted:
    """What a query asks for; several values of a name stand with commas between. Without a status it asks for what
    stands, with `all` for every status."""
    status = asked.get("status")
    statuses = None if status == EVERY else _several(Status, status) if status else STANDING.statuses
    return Wanted(
        statuses=statuses,
        kinds=[kind_of(each) for each in asked.get("kind", "").split(",") if each],
        origins=_several(Origin, asked.get("origin", "")),
        subject=asked.get("subject"),
        words=asked.get("q"),
        as_of=_moment(asked, "as_of"),
        valid_at=_moment(asked, "valid_at"),
    )


def _moment(asked: Mapping[str, str], name: str) -> datetime | None:
    # A `+` of an offset that was not escaped arrives as a space.
    return read_moment(asked[name].replace(" ", "+")) if asked.get(name) else None


def _several(names: type[Name], given: str) -> list[Name]:
    try:
        return [names(each) for each in given.split(",") if each]
    except ValueError as error:
        known = ", ".join(f"`{each}`" for each in names)
        raise BadInput(f"`{given[:40]}` is no {names.__name__.lower()}.", hint=f"Say {known}.") from error
