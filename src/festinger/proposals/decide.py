"""What happens when a person decides?

The one deed that every channel ends in. The verdict is kept first, then carried out in a transaction of its own; of
several that wait for one proposal the most careful counts and the others are overtaken. A refusal is the answer to its
verdict for good. What failed because something was away stays unanswered, and is taken up again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from festinger.errors import BadInput, EffectFailed, FestingerError, Unavailable
from festinger.ids import SpaceId
from festinger.observability.metrics import PROPOSALS_VERDICTS
from festinger.proposals.carrying import Carried, Hearing, carry_out
from festinger.proposals.deciding import (
    MOST_AT_ONCE,
    foremost,
    require_complete,
    require_decidable,
    require_one_by_one,
    require_opposites_seen,
    result_of,
)
from festinger.proposals.effects import Afterwards
from festinger.proposals.family import held
from festinger.proposals.keeping import subject_of
from festinger.proposals.office import Office
from festinger.proposals.pairs import opposites
from festinger.proposals.proposal import Type, proposal_of
from festinger.proposals.receiving import close_verdict, find_verdict, receive, refusal_of
from festinger.proposals.verdict import Decided, Kind, Result, Said, Verdict, effect_of, verdict_of
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.world.write import hold

Q = queries_of("festinger.proposals")

LEFT_ALONE = timedelta(minutes=1)
"""After this time nobody is at work on a verdict any more, and it is taken up by the job."""


async def decide(office: Office, space: SpaceId, said: Said) -> Decided:
    """Keep a verdict and carry it out; the same one again gives the same answer and does nothing.

    Raises `NotFound`, `NotAuthorised`, `Replayed`, `BadInput`, `AlreadyDecided`, `Stale`, `Outdated`, `TooDeep`,
    `Unseen`, `NotProposable`, `EffectFailed`, `Unavailable`.
    """
    verdict = await receive(office, space, said)
    if verdict.processed_at is not None:
        return await _answer(office, space, verdict.id, again=True)
    await settle(office, space, said.proposal)
    return await _answer(office, space, verdict.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Each:
    """What came of one of many verdicts."""

    proposal: UUID
    result: str
    detail: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"id": str(self.proposal), "result": self.result, "detail": self.detail}


async def decide_many(office: Office, space: SpaceId, many: Sequence[Said]) -> list[Each]:
    """Decide many at once, each by itself. What changes behaviour is not approved so: `OneByOne`."""
    if not 1 <= len(many) <= MOST_AT_ONCE:
        raise BadInput(f"1 to {MOST_AT_ONCE} proposals can be decided at once.")
    approved = [each.proposal for each in many if each.kind is Kind.APPROVE]
    rows = await office.desk.store.all(Q["types_of"], space=space, ids=approved)
    require_one_by_one(Type(row["type"]) for row in rows)
    return [await _one_of_many(office, space, each) for each in many]


async def _one_of_many(office: Office, space: SpaceId, said: Said) -> Each:
    try:
        done = await decide(office, space, said)
    except FestingerError as error:
        called = {Result.STALE: "stale", Result.ALREADY: "already"}.get(result_of(error), "failed")
        return Each(proposal=said.proposal, result=called, detail=error.message)
    return Each(proposal=said.proposal, result=done.result)


async def settle(office: Office, space: SpaceId, proposal: UUID) -> None:
    """Carry out what waits for a proposal until nothing waits; each refusal is written down."""
    while True:
        chosen: Verdict | None = None
        try:
            async with office.desk.store.transaction(patient=True) as transaction:
                # What is approved may reach into any room: who does that holds the world first.
                await hold(transaction, space)
                chosen = await _chosen(transaction, space, proposal)
                if chosen is None:
                    return
                afterwards = await _carry_out(office, transaction, space, chosen)
        except Unavailable:
            raise
        except FestingerError as error:
            if chosen is None:
                raise
            await _refuse(office, space, chosen, error)
            continue
        await afterwards()
        return


async def take_up(office: Office, space: SpaceId) -> int:
    """Carry out verdicts that were left unanswered by a process that is gone; how many proposals had some."""
    before = office.desk.clock() - LEFT_ALONE
    rows = await office.desk.store.all(Q["unanswered"], space=space, before=before)
    for row in rows:
        await settle(office, space, row["proposal_id"])
    return len(rows)


async def _chosen(transaction: Transaction, space: SpaceId, proposal: UUID) -> Verdict | None:
    """The verdict that counts of those that wait, once nobody else is at work on the proposal."""
    await held(transaction, space, proposal)
    waiting = [
        verdict_of(row)
        for row in await transaction.all(Q["waiting_verdicts"], space=space, proposal=proposal)
    ]
    return foremost(waiting) if waiting else None


async def _carry_out(
    office: Office, transaction: Transaction, space: SpaceId, verdict: Verdict
) -> Afterwards:
    proposal = await held(transaction, space, verdict.proposal_id)
    require_complete(verdict, proposal)
    require_decidable(proposal, verdict, office.desk.terms(space))
    require_opposites_seen(verdict, await opposites(transaction, space, proposal.id))
    hearing = Hearing(office=office, transaction=transaction, space=space, proposal=proposal, verdict=verdict)
    carried: Carried = await carry_out(hearing)
    await close_verdict(office, transaction, space, verdict, result=carried.result)
    await transaction.run(
        Q["overtake"],
        space=space,
        proposal=proposal.id,
        result=Result.OVERTAKEN,
        at=office.desk.clock(),
    )
    PROPOSALS_VERDICTS.labels(verdict.kind).inc()
    return carried.afterwards


async def _refuse(office: Office, space: SpaceId, verdict: Verdict, error: FestingerError) -> None:
    """Write down why a verdict was not carried out. The proposal stays as it was."""
    failed = isinstance(error, EffectFailed)
    async with office.desk.store.transaction() as transaction:
        result = Result.FAILED if failed else result_of(error)
        await close_verdict(office, transaction, space, verdict, result=result, error=error)
        if failed:
            await office.desk.outbox.emit(
                transaction,
                "proposal_apply_failed",
                space=space,
                subject=subject_of(verdict.proposal_id),
                payload={"proposal": str(verdict.proposal_id), "reason": error.message[:200]},
            )


async def _answer(office: Office, space: SpaceId, id_: UUID, *, again: bool = False) -> Decided:
    """What came of a verdict, as it is written down; a refusal is raised, each time."""
    async with office.desk.store.transaction() as transaction:
        verdict = await find_verdict(transaction, space, id_)
        if (error := refusal_of(verdict)) is not None:
            raise error
        row = await transaction.one(Q["find_proposal"], space=space, id=verdict.proposal_id)
        effect = None
        if verdict.result == Result.APPLIED:
            effect = await transaction.maybe(Q["effect_of_proposal"], space=space, id=verdict.proposal_id)
    return Decided(
        proposal=proposal_of(row),
        verdict=verdict,
        result=verdict.result or "",
        effect=effect_of(effect) if effect else None,
        again=again,
    )
