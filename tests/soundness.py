"""Whether every rule about rows holds, for tests to ask after their own scenario."""

from festinger.ids import SpaceId
from festinger.observability.checks import Check
from festinger.store.health import check_invariants
from festinger.store.pool import Store
from tests.jobs.deps import rows


def silent(_done: int, _total: int | None, _note: str) -> None:
    """Nobody watches."""


async def broken_rules(store: Store, *spaces: SpaceId, besides: tuple[str, ...] = ()) -> list[Check]:
    """The rules that do not hold, in all spaces if none is named, but for `besides`."""
    named = spaces or [SpaceId(row["id"]) for row in await rows(store, "select id from space order by id")]
    _, *broken = await check_invariants(store, named, silent)
    return [check for check in broken if check.name.removeprefix("rows.") not in besides]


async def assert_sound(store: Store, *, besides: tuple[str, ...] = ()) -> None:
    """Fail and name the rows if a rule does not hold, but for `besides`, which a test breaks on purpose."""
    assert [(check.name, check.details["rows"]) for check in await broken_rules(store, besides=besides)] == []
