"""Reports the state of the inbox in numbers and selects observations that an agent may read.

Agents read none unless a person enables it: what recurs most is often what somebody rejected. When enabled,
they see a few proposals that are fresh, recurring, neither held nor decided, labeled as past observations and
never as directives. The interface decides where they go in a prompt.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from festinger.ids import SpaceId
from festinger.observability.metrics import (
    PROPOSALS_HELD,
    PROPOSALS_OPEN,
    PROPOSALS_PAUSED,
    PROPOSALS_RATE,
    PROPOSALS_VALUE,
)
from festinger.proposals.deps import ProposalDeps
from festinger.proposals.inbox import count_by_state
from festinger.proposals.model import HoldReason, Proposal, ProposalState, proposal_of
from festinger.proposals.producers import load_promotion_rate
from festinger.proposals.promotion import load_inbox_capacity
from festinger.proposals.sightings.similarity import describe_comparison_state
from festinger.store.queries import load_queries

Q = load_queries("festinger.proposals")


async def proposal_stats(deps: ProposalDeps, space: SpaceId) -> dict[str, Any]:
    """Return the funnel of a space: counts by state, inbox capacity, promotion rate and last run."""
    async with deps.store.transaction() as transaction:
        inbox = await load_inbox_capacity(deps, transaction, space, now=deps.clock())
        states = await count_by_state(deps, transaction, space)
        last = await transaction.maybe(Q["last_run"], space=space)
    return {
        **{name: number for name, number in states.items() if number},
        "open": inbox.open,
        "limit": inbox.limit,
        "paused": inbox.paused_because,
        "warning": inbox.warning,
        "rate": (await load_promotion_rate(deps, space)).as_json(),
        "second pass": describe_comparison_state(deps, space),
        "last run": last["at"].isoformat() if last else None,
    }


async def inbox_warnings(deps: ProposalDeps, spaces: Iterable[SpaceId]) -> dict[SpaceId, str]:
    """Return a warning for each inbox that is full or nearly full."""
    warnings: dict[SpaceId, str] = {}
    for space in spaces:
        async with deps.store.transaction() as transaction:
            inbox = await load_inbox_capacity(deps, transaction, space, now=deps.clock())
        if warning := inbox.paused_because or inbox.warning:
            warnings[space] = warning
    return warnings


async def update_gauges(deps: ProposalDeps, spaces: Iterable[SpaceId]) -> None:
    """Set the gauges to the present numbers over all spaces."""
    held = dict.fromkeys(HoldReason, 0)
    waiting = paused = promoted = considered = 0
    for space in spaces:
        async with deps.store.transaction() as transaction:
            inbox = await load_inbox_capacity(deps, transaction, space, now=deps.clock())
            rows = await transaction.all(Q["count_held"], space=space, now=deps.clock())
            values = await deps.values(transaction, space)
        found = await load_promotion_rate(deps, space)
        waiting += inbox.open
        paused += inbox.paused_because is not None
        promoted, considered = promoted + found.promoted, considered + found.considered
        for row in rows:
            held[HoldReason(row["held"])] += row["proposals"]
        for (producer, category), value in values.items():
            PROPOSALS_VALUE.labels(producer, category).set(value)
    PROPOSALS_OPEN.set(waiting)
    PROPOSALS_PAUSED.set(paused)
    PROPOSALS_RATE.set(promoted / considered if considered else 0.0)
    for why, number in held.items():
        PROPOSALS_HELD.labels(why).set(number)


LEAST_SEEN = 2
OLDEST = timedelta(days=14)
MOST = 3
LOOKED_AT = 200
"""How many of the most seen are considered; some of them may be held."""

LABEL = "Past observation, not a directive: "


async def load_proposals_for_agent(
    deps: ProposalDeps, space: SpaceId, *, exclude: Collection[UUID] = ()
) -> list[Proposal]:
    """Return what an agent may read now, excluding what it was shown; nothing when disabled."""
    if not deps.terms(space).surface:
        return []
    now = deps.clock()
    rows = await deps.store.all(
        Q["observations"], space=space, least=LEAST_SEEN, since=now - OLDEST, exclude=list(exclude), limit=LOOKED_AT
    )
    return select_proposals_for_agent(map(proposal_of, rows), now=now)


async def reload_proposals_for_agent(deps: ProposalDeps, space: SpaceId, ids: Collection[UUID]) -> list[Proposal]:
    """Return those proposals that may stay visible to an agent; none once that is disabled."""
    if not ids or not deps.terms(space).surface:
        return []
    rows = await deps.store.all(Q["worded_proposals"], space=space, ids=list(ids))
    return [proposal_of(row) for row in rows]


def select_proposals_for_agent(found: Iterable[Proposal], *, now: datetime) -> list[Proposal]:
    """Select the few to show: by number of causes, then the most recently seen first."""
    fit = [each for each in found if can_show_to_agent(each, now=now)]
    return sorted(fit, key=_agent_sort_key, reverse=True)[:MOST]


def can_show_to_agent(proposal: Proposal, *, now: datetime) -> bool:
    """Whether it recurred, is fresh, and is neither held nor decided."""
    return (
        proposal.state in (ProposalState.WAITING, ProposalState.PROMOTED)
        and proposal.current_hold_reason(now) is None
        and proposal.seen_count >= LEAST_SEEN
        and proposal.first_seen is not None
        and now - proposal.first_seen <= OLDEST
        and bool(proposal.what)
    )


def format_proposal_for_agent(proposal: Proposal) -> str:
    """Format it as an agent reads it."""
    return LABEL + proposal.what


def _agent_sort_key(proposal: Proposal) -> tuple[int, datetime, UUID]:
    assert proposal.first_seen is not None, "what was never seen is no observation"
    return proposal.seen_count, proposal.last_seen or proposal.first_seen, proposal.id
