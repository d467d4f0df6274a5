"""What else waits for a person?"""

from festinger.ids import MAIN_SPACE, SpaceId
from festinger.proposals.inbox import PendingGroup, PendingItem, count_everything_waiting, list_pending_groups

CONFLICTS = PendingGroup(kind="conflicts", count=12, items=(PendingItem(id="1", title="a / b"),))
TASKS = PendingGroup(kind="tasks", count=2)


async def conflicts(_space: SpaceId, _limit: int) -> PendingGroup:
    return CONFLICTS


async def nothing(_space: SpaceId, _limit: int) -> PendingGroup:
    return PendingGroup(kind="pairs", count=0)


async def tasks(_space: SpaceId, limit: int) -> PendingGroup:
    return TASKS


async def test_every_room_with_something_is_listed_and_one_number_counts_all():
    found = await list_pending_groups((conflicts, nothing, tasks), MAIN_SPACE)

    assert found == [CONFLICTS, TASKS]
    assert count_everything_waiting(3, found) == 17
    assert {each.kind: each.count for each in found} == {"conflicts": 12, "tasks": 2}
