"""What waits for a person, in a few numbers?"""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from tests.proposals.hearing import Court
from tests.proposals.verdicts.test_rules import MONDAY, proposal

from festinger.ids import MAIN_SPACE
from festinger.proposals.inbox import build_digest, send_digest
from festinger.proposals.model import ProposalId, ProposalPriority, VerdictKind
from festinger.store.pool import Store


@pytest.mark.requirement("H-86")
def test_the_first_five_are_told_by_priority_and_count_and_the_oldest_by_its_day():
    waiting = [
        replace(
            proposal(),
            id=ProposalId(UUID(int=number)),
            seen_count=number,
            promoted_at=MONDAY - timedelta(days=number),
            priority=ProposalPriority.HIGH if number == 2 else ProposalPriority.LOW,
        )
        for number in range(1, 8)
    ]

    digest = build_digest(waiting)

    assert (digest.open, digest.oldest) == (7, MONDAY - timedelta(days=7))
    assert [each.seen_count for each in digest.top] == [2, 7, 6, 5, 4]


@pytest.mark.requirement("H-86")
async def test_a_reminder_is_told_only_where_something_waits(store: Store):
    court = Court(store)
    assert (await send_digest(court.deps, MAIN_SPACE)).open == 0
    assert await court.events("inbox_digest") == []
    open_, later = [await court.promoted(what) for what in ("Retry the query", "Wait longer")]
    await court.decide(later, VerdictKind.DEFER)

    await send_digest(court.deps, MAIN_SPACE)

    (told,) = await court.events("inbox_digest")
    assert told["open"] == 1
    assert [each["proposal"] for each in told["top"]] == [str(open_.id)]
