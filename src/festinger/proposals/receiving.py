"""What happens to a verdict when it comes in?

It is written down before anything is done about it, with who said it and whether that is a person who may. The same
message again is known again. What nobody verified is kept, shown and never acted on.
"""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from festinger import errors
from festinger.errors import FestingerError, NotFound, Refused, Replayed
from festinger.ids import SpaceId
from festinger.proposals.effects import ONE_BY_ONE
from festinger.proposals.hidden import storable
from festinger.proposals.keeping import subject_of
from festinger.proposals.office import Office
from festinger.proposals.proposal import Proposal, proposal_of
from festinger.proposals.reviewers import Reviewer, burnt, not_authorised, verified
from festinger.proposals.verdict import Author, Channel, Result, Said, Verdict, verdict_of
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.secrets import without_secrets

Q = queries_of("festinger.proposals")

MOST_VERDICTS = 50
REFUSAL = "refusal"
"""Under which name a verdict keeps why it was not carried out."""


async def receive(office: Office, space: SpaceId, said: Said) -> Verdict:
    """Keep a verdict. Raises `NotFound`, `Replayed`, and `NotAuthorised` for whoever may not decide."""
    async with office.desk.store.transaction() as transaction:
        row = await transaction.maybe(Q["find_proposal"], space=space, id=said.proposal)
        if row is None:
            raise NotFound(f"There is no proposal `{said.proposal}`.")
        await transaction.run(Q["lock_message"], space=space, channel=said.channel, ref=said.ref)
        before = await _told_before(transaction, space, said)
        verdict = before or await _keep(office, transaction, space, said, proposal_of(row))
    if not verdict.verified:
        raise not_authorised(said.author)
    return verdict


async def find_verdict(transaction: Transaction, space: SpaceId, id_: UUID) -> Verdict:
    row = await transaction.maybe(Q["find_verdict"], space=space, id=id_)
    if row is None:
        raise NotFound(f"There is no verdict `{id_}`.")
    return verdict_of(row)


async def verdict_told(transaction: Transaction, space: SpaceId, told: Mapping[str, Any]) -> Verdict | None:
    """The verdict that an event tells of as decided; none if it is gone."""
    rows = await transaction.all(
        Q["verdicts_of"], space=space, proposal=UUID(told["proposal"]), limit=MOST_VERDICTS
    )
    found = map(verdict_of, rows)
    return next((each for each in found if each.kind == told["verdict"] and each.verified), None)


async def close_verdict(
    office: Office,
    transaction: Transaction,
    space: SpaceId,
    verdict: Verdict,
    *,
    result: str,
    error: FestingerError | None = None,
) -> Verdict:
    """Write down what came of a verdict."""
    kept = {REFUSAL: _refusal(error)} if error else {}
    row = await transaction.one(
        Q["close_verdict"],
        space=space,
        id=verdict.id,
        result=result,
        fields=json.dumps(dict(verdict.fields) | kept, default=str),
        at=office.desk.clock(),
    )
    return verdict_of(row)


def refusal_of(verdict: Verdict) -> FestingerError | None:
    """The error with which a verdict was answered, if it was not carried out."""
    kept = verdict.fields.get(REFUSAL)
    if kept is None:
        return None
    error: type[FestingerError] = getattr(errors, kept["error"], Refused)
    return error(kept["message"], hint=kept["hint"], **kept["details"])


def _refusal(error: FestingerError) -> dict[str, Any]:
    return {
        "error": type(error).__name__,
        "message": error.message,
        "hint": error.hint,
        "details": error.details,
    }


async def _told_before(transaction: Transaction, space: SpaceId, said: Said) -> Verdict | None:
    row = await transaction.maybe(Q["verdict_of_message"], space=space, channel=said.channel, ref=said.ref)
    if row is None:
        return None
    before = verdict_of(row)
    kept = {name: value for name, value in before.fields.items() if name != REFUSAL}
    same_fields = kept == json.loads(json.dumps(said.fields))
    if (before.proposal_id, before.kind) != (said.proposal, said.kind) or not same_fields:
        raise Replayed(
            "This message came before with another verdict.", hint="Give it a reference of its own."
        )
    return before


async def _keep(
    office: Office, transaction: Transaction, space: SpaceId, said: Said, proposal: Proposal
) -> Verdict:
    reviewer = await _reviewer(office, transaction, space, said, proposal)
    now = office.desk.clock()
    row = await transaction.one(
        Q["add_verdict"],
        space=space,
        id=office.desk.new_id(),
        proposal=said.proposal,
        kind=said.kind,
        author=_shown_name(reviewer, said.author),
        verified=reviewer is not None,
        channel=said.channel,
        ref=said.ref,
        note=storable(without_secrets(said.note)),
        fields=json.dumps(said.fields),
        at=now,
        processed_at=None if reviewer else now,
        result=None if reviewer else Result.UNVERIFIED,
    )
    verdict = verdict_of(row)
    await office.desk.outbox.emit(
        transaction,
        "verdict_received",
        space=space,
        subject=subject_of(proposal.id),
        payload={
            "proposal": str(proposal.id),
            "verdict": verdict.kind.value,
            "author": verdict.author,
            "verified": verdict.verified,
            "channel": verdict.channel,
        },
    )
    return verdict


async def _reviewer(
    office: Office, transaction: Transaction, space: SpaceId, said: Said, proposal: Proposal
) -> Reviewer | None:
    """Who speaks. A name in a file is not enough for what changes behaviour: it needs a code too."""
    found = await verified(office.desk, transaction, space, said.author)
    if found is None or said.channel is not Channel.FOLDER:
        return found
    has_code = await burnt(transaction, space, found, said.author.code)
    return found if has_code or proposal.type not in ONE_BY_ONE else None


def _shown_name(reviewer: Reviewer | None, author: Author) -> str:
    return reviewer.name if reviewer else storable(author.name)[:200] or "nobody"
