"""Decides whether a verdict may be carried out and what follows from it.

Covers which of several verdicts counts, whether a proposal can still be decided, how long a rejection
suppresses it, until when it is deferred, and whether its targets are still what the person saw. Pure: rows,
time and settings are passed in.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from festinger.errors import (
    AlreadyDecided,
    BadInput,
    FestingerError,
    OneByOne,
    Outdated,
    Refused,
    Stale,
    TooDeep,
    Unseen,
)
from festinger.proposals.deps import ONE_BY_ONE, WORDS_NEEDED, EffectPreview
from festinger.proposals.model import ORDER, Proposal, ProposalState, ProposalType, Verdict, VerdictKind, VerdictResult
from festinger.settings.proposals import ProposalsSettings

OPEN = frozenset({ProposalState.PROMOTED, ProposalState.DEEPENING, ProposalState.DEFERRED})
"""Before a person, and undecided."""

REOPENED = frozenset({ProposalState.REJECTED, ProposalState.UNDONE, ProposalState.DUPLICATE})
"""States from which a person may reopen a proposal."""

THOUGHT_AGAIN = frozenset({VerdictKind.DEEPEN, VerdictKind.TOO_VAGUE})

EDITED = frozenset({"what", "why", "how", "payload"})

LONGEST_NOTE = 4000
MOST_AT_ONCE = 50
MOST_SEEN = 200
FURTHEST = timedelta(days=3650)


def select_verdict(waiting: Iterable[Verdict]) -> Verdict:
    """Select the verdict that counts for one proposal: the most cautious, then the first received."""
    return min(waiting, key=lambda each: (ORDER[each.kind], each.received_at, str(each.id)))


def require_decidable(proposal: Proposal, verdict: Verdict, terms: ProposalsSettings) -> None:
    """Refuse a verdict that cannot be carried out in the present state of the proposal."""
    seen = verdict.fields.get("version")
    if seen is not None and seen != proposal.version:
        raise Stale(f"This proposal has version {proposal.version} by now, not {seen}.", version=proposal.version)
    if verdict.kind is VerdictKind.REOPEN:
        _require_reopenable(proposal)
    elif proposal.state is ProposalState.WAITING:
        raise Refused(
            "This proposal was not put before anybody yet.",
            hint="It waits until it has recurred and lasted; propose it yourself to decide it now.",
            state=proposal.state.value,
        )
    elif proposal.state not in OPEN:
        raise AlreadyDecided(f"This proposal is {proposal.state.value} already.", state=proposal.state.value)
    if verdict.kind in THOUGHT_AGAIN and proposal.reevaluations >= terms.max_reevaluations:
        raise TooDeep(
            f"This proposal was thought about {proposal.reevaluations} times; that is as often as it may be.",
            hint="Approve, reject or defer it.",
            reevaluations=proposal.reevaluations,
        )


def _require_reopenable(proposal: Proposal) -> None:
    if proposal.state not in REOPENED:
        raise Refused(
            f"What is {proposal.state.value} cannot be taken up once more.",
            hint="Undo it first." if proposal.state is ProposalState.APPLIED else "It can still be decided.",
            state=proposal.state.value,
        )


def require_valid_verdict_fields(verdict: Verdict, proposal: Proposal) -> None:
    """Refuse a verdict that lacks a required field or has one it may not have."""
    if len(verdict.note) > LONGEST_NOTE:
        raise BadInput(f"A note has at most {LONGEST_NOTE:,} characters.")
    if verdict.kind is VerdictKind.DUPLICATE and verdict.of in (None, proposal.id):
        raise BadInput("Say of which other proposal this is a duplicate.")
    edits = verdict.fields.get("edits", {})
    if unknown := sorted(set(edits) - EDITED):
        raise BadInput(f"`{unknown[0][:40]}` of a proposal cannot be edited.")
    if edits and verdict.kind is not VerdictKind.APPROVE:
        raise BadInput("Only an approval can come with edits.")
    needed = WORDS_NEEDED.get(proposal.type) if verdict.kind is VerdictKind.APPROVE else None
    if needed and verdict.fields.get("word", "").strip().casefold() != needed:
        raise BadInput(
            "This cannot be undone.", hint=f"Write the word `{needed}` to say that you mean it.", word=needed
        )


def require_opposites_seen(verdict: Verdict, opposites: Mapping[UUID, str]) -> None:
    """Refuse an approval by somebody who has not seen the opposites; `opposites` maps ids to text."""
    unseen = {str(id_): what for id_, what in opposites.items() if id_ not in verdict.seen}
    if verdict.kind is VerdictKind.APPROVE and unseen:
        raise Unseen(
            f"{_format_count(len(unseen))} for the opposite of this.",
            hint=f"Look at {', '.join(f'`{id_}`' for id_ in unseen)}, and name it as `seen` when you approve.",
            opposites=unseen,
        )


def _format_count(number: int) -> str:
    return "Another proposal asks" if number == 1 else f"{number} other proposals ask"


def require_targets_unchanged(proposal: Proposal, look: EffectPreview) -> None:
    """Refuse to act if the targets are not as proposed."""
    if look.gone:
        raise Outdated("What this would touch is not there any more.", gone=list(look.gone), changed=[])
    wanted = proposal.target
    moved = {name for name, version in wanted.items() if look.versions.get(name) != version}
    if changed := sorted(moved | set(look.changed)):
        raise Outdated("What this would touch has changed since it was proposed.", gone=[], changed=changed)
    if look.is_done:
        raise Outdated("There is nothing left to change: it is so already.", gone=[], changed=[])


def suppression_period(rejections: int, days: Sequence[int]) -> timedelta:
    """Return how long a rejection suppresses a proposal with so many earlier rejections."""
    return timedelta(days=days[min(rejections, len(days) - 1)])


def resolve_defer_until(until: datetime | None, *, now: datetime, terms: ProposalsSettings) -> datetime:
    """Return when a deferred proposal comes back."""
    if until is None:
        return now + timedelta(days=terms.defer_days)
    if not now < until <= now + FURTHEST:
        raise BadInput("A proposal is put off until a moment that lies ahead, within ten years.")
    return until


def refuse_batch_approval(types: Iterable[ProposalType]) -> None:
    """Refuse to approve in a batch what a person must look at one by one."""
    alone = sorted({each.value for each in types if each in ONE_BY_ONE})
    if alone:
        raise OneByOne(f"Proposals of the type `{alone[0]}` are approved one by one.", types=alone)


def result_for_error(error: FestingerError) -> VerdictResult:
    if isinstance(error, Stale):
        return VerdictResult.STALE
    return VerdictResult.ALREADY if isinstance(error, AlreadyDecided) else VerdictResult.REFUSED
