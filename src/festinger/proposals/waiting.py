"""What else waits for a person?

Other rooms say what nobody but a person can decide there: conflicts, questions of the judges, what is in quarantine,
proposals that may be one, tasks. It needs no hysteresis and takes no place in the inbox; it is only shown beside the
proposals, so that there is one place to look, and one number.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from festinger.ids import SpaceId

SHOWN = 20
"""Things of each kind that are shown; the number counts all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that waits: in which words it is shown, and why it waits."""

    id: str
    title: str
    why: str = ""
    link: str = ""
    """Where it is decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Things of one kind that wait."""

    kind: str
    count: int
    items: tuple[Item, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "count": self.count, "items": [asdict(each) for each in self.items]}


Source = Callable[[SpaceId, int], Awaitable[Waiting]]
"""What waits in one room, with at most so many items."""

Sources = Sequence[Source]


async def everything_waiting(sources: Sources, space: SpaceId, *, limit: int = SHOWN) -> list[Waiting]:
    """What waits in every room that has something, in the order in which the rooms were given."""
    found = [await source(space, limit) for source in sources]
    return [each for each in found if each.count]


def in_all(open_proposals: int, elsewhere: Sequence[Waiting]) -> int:
    """The one number that every page shows."""
    return open_proposals + sum(each.count for each in elsewhere)


def counts(elsewhere: Sequence[Waiting]) -> Mapping[str, int]:
    return {each.kind: each.count for each in elsewhere}
