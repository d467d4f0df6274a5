"""What else waits for a person?"""

from festinger.ids import MAIN_SPACE, SpaceId
from festinger.proposals.inbox import Item, Waiting, counts, everything_waiting, in_all

CONFLICTS = Waiting(kind="conflicts", count=12, items=(Item(id="1", title="a / b"),))
TASKS = Waiting(kind="tasks", count=2)


async def conflicts(_space: SpaceId, _limit: int) -> Waiting:
    return CONFLICTS


async def nothing(_space: SpaceId, _limit: int) -> Waiting:
    return Waiting(kind="pairs", count=0)


async def tasks(_space: SpaceId, limit: int) -> Waiting:
    return TASKS


async def test_every_room_with_something_is_listed_and_one_number_counts_all():
    found = await everything_waiting((conflicts, nothing, tasks), MAIN_SPACE)

    assert found == [CONFLICTS, TASKS]
    assert in_all(3, found) == 17
    assert counts(found) == {"conflicts": 12, "tasks": 2}
