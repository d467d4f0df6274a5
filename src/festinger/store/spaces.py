"""Which spaces are there, and how does one begin and end?

A space is the tenant: everything that is remembered belongs to one. Its id is made from its first name and
never changes; its name may. Ending a space erases every row of it: what hangs on `space` by foreign key goes
by itself, and a room whose rows may also belong to all spaces ('*') gives a query `erase_space` that
takes its own away.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count

from festinger.errors import BadInput, NotFound, Refused
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.store.pool import Store, Transaction
from festinger.store.queries import Query, queries_of

Q = queries_of("festinger.store")

NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
ID_CHARS = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    id: SpaceId
    name: str
    created_at: datetime
    settings_version: int


def checked_name(name: str) -> str:
    """`name`, if a space may be called so."""
    if not NAME.fullmatch(name):
        raise BadInput(
            f"`{name[:80]}` cannot name a space.",
            hint="Use up to 63 small letters, digits and hyphens, beginning with a letter.",
        )
    return name


def free_id(name: str, taken: Iterable[str]) -> SpaceId:
    """The id of a new space: its name, with a number behind it if an older space has that id."""
    used = set(taken)
    for number in count(1):
        ending = f"-{number}" if number > 1 else ""
        if (candidate := name[: ID_CHARS - len(ending)] + ending) not in used:
            return SpaceId(candidate)
    raise AssertionError("count never ends")


async def spaces(store: Store) -> list[Space]:
    """Every space, oldest first."""
    return [Space(**row) for row in await store.all(Q["spaces"])]


async def find_space(store: Store, name: str) -> Space:
    """The space that is called so, or has this id."""
    row = await store.maybe(Q["find_space"], name=name)
    if row is None:
        raise NotFound(f"There is no space `{name[:80]}`.", hint="`festinger spaces` lists them.")
    return Space(**row)


async def create_space(transaction: Transaction, name: str, *, at: datetime) -> Space:
    """A new, empty space. A name that is taken is `Refused`."""
    taken = [row["id"] for row in await transaction.all(Q["space_ids"])]
    row = await transaction.one(Q["create_space"], id=free_id(checked_name(name), taken), name=name, at=at)
    return Space(**row)


async def rename_space(transaction: Transaction, space: SpaceId, *, name: str) -> Space:
    """Give a space another name; its id stays."""
    row = await transaction.maybe(Q["rename_space"], space=space, name=checked_name(name))
    if row is None:
        raise NotFound(f"There is no space `{space}`.")
    return Space(**row)


async def delete_space(
    transaction: Transaction, space: SpaceId, *, typed_name: str, erasers: Sequence[Query] = ()
) -> int:
    """Erase a space and every row of it, for ever; how many rows that were.

    The person must have typed its name. `erasers` are the `erase_space` queries of the other rooms. Large
    spaces take long: give a patient transaction.
    """
    if space == MAIN_SPACE:
        raise Refused("`main` cannot be deleted: everything that names no space lives in it.")
    name = await transaction.maybe(Q["lock_space"], space=space)
    if name is None:
        raise NotFound(f"There is no space `{space}`.")
    if typed_name != name["name"]:
        raise Refused("The name that was typed is not that of the space.", hint="Type it exactly.")
    before = await transaction.value(Q["rows_deleted"])
    for eraser in (*erasers, *(Q[name] for name in OWN_ERASERS)):
        await transaction.run(eraser, space=space)
    return int(await transaction.value(Q["rows_deleted"]) - before)


OWN_ERASERS = (
    "forget_cached",
    "erase_config",
    "erase_console_sessions",
    "erase_api_keys",
    "erase_cache_versions",
    "delete_space",
)
"""In this order: the others are told what is gone while it is still counted."""
