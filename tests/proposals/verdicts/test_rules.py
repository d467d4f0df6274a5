"""May this be decided so, and what follows from it?"""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import (
    AlreadyDecided,
    BadInput,
    FestingerError,
    NotFound,
    OneByOne,
    Outdated,
    Refused,
    Stale,
    TooDeep,
    Unseen,
)
from festinger.ids import MAIN_SPACE
from festinger.proposals.deps import EffectPreview
from festinger.proposals.model import (
    Proposal,
    ProposalId,
    ProposalPriority,
    ProposalState,
    ProposalType,
    Verdict,
    VerdictKind,
    VerdictResult,
    parse_verdict_kind,
)
from festinger.proposals.verdicts.rules import (
    refuse_batch_approval,
    require_decidable,
    require_opposites_seen,
    require_targets_unchanged,
    require_valid_verdict_fields,
    resolve_defer_until,
    result_for_error,
    select_verdict,
    suppression_period,
)
from festinger.settings.proposals import ProposalsSettings

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
TERMS = ProposalsSettings()
ONE, TWO = ProposalId(UUID(int=1)), ProposalId(UUID(int=2))


def proposal(state: ProposalState = ProposalState.PROMOTED, **more: Any) -> Proposal:
    values: dict[str, Any] = {
        "space_id": MAIN_SPACE,
        "id": ONE,
        "fingerprint": "f",
        "normalised": "retry",
        "category": "reliability",
        "scope": "tools",
        "type": ProposalType.ADVICE,
        "what": "Retry",
        "why": "",
        "how": "",
        "payload": {},
        "target": {},
        "state": state,
        "held": None,
        "seen_count": 2,
        "days_seen": 2,
        "sightings": 2,
        "first_seen": MONDAY,
        "last_seen": MONDAY,
        "counted_since": None,
        "evaluated_at": None,
        "promoted_at": MONDAY,
        "priority": ProposalPriority.LOW,
        "producer": "reflection",
        "suppressed_until": None,
        "deferred_until": None,
        "seen_after": 0,
        "decided_at": None,
        "rejections": 0,
        "reevaluations": 0,
        "duplicate_of": None,
        "created_at": MONDAY,
        "version": 3,
    }
    return Proposal(**values | more)


def verdict(
    kind: VerdictKind = VerdictKind.APPROVE, *, number: int = 1, at: datetime = MONDAY, **fields: Any
) -> Verdict:
    return Verdict(
        id=UUID(int=number),
        proposal_id=ONE,
        kind=kind,
        author="Ada",
        verified=True,
        channel="console",
        channel_ref=str(number),
        note=fields.pop("note", ""),
        fields=fields,
        received_at=at,
        processed_at=None,
        result=None,
    )


def refusal(of: Proposal, said: Verdict) -> FestingerError | None:
    """Why a proposal cannot be decided so, if it cannot."""
    try:
        require_decidable(of, said, TERMS)
    except FestingerError as error:
        return error
    return None


@pytest.mark.requirement("H-48")
@given(st.permutations([kind for kind in VerdictKind if kind is not VerdictKind.REOPEN]))
def test_of_several_verdicts_the_most_careful_counts_whatever_their_order(kinds: list[VerdictKind]):
    order = [
        VerdictKind.REJECT,
        VerdictKind.DUPLICATE,
        VerdictKind.APPROVE,
        VerdictKind.DEEPEN,
        VerdictKind.TOO_VAGUE,
        VerdictKind.DEFER,
    ]
    waiting = [verdict(kind, number=place) for place, kind in enumerate(kinds)]

    picked = []
    while waiting:
        picked.append(select_verdict(waiting))
        waiting.remove(picked[-1])

    assert [each.kind for each in picked] == order


def test_of_two_equal_verdicts_the_first_that_came_counts():
    late, early = verdict(number=1, at=MONDAY + timedelta(seconds=1)), verdict(number=2)

    assert select_verdict([late, early]) is early


@pytest.mark.requirement("H-48")
@pytest.mark.parametrize(
    "state",
    [
        ProposalState.APPROVED,
        ProposalState.APPLIED,
        ProposalState.UNDONE,
        ProposalState.REJECTED,
        ProposalState.DUPLICATE,
    ],
)
def test_what_is_decided_is_not_decided_again(state: ProposalState):
    with pytest.raises(AlreadyDecided) as caught:
        require_decidable(proposal(state), verdict(), TERMS)

    assert caught.value.details == {"state": state.value}


@pytest.mark.parametrize("state", [ProposalState.PROMOTED, ProposalState.DEEPENING, ProposalState.DEFERRED])
def test_what_is_before_a_person_can_be_decided(state: ProposalState):
    assert refusal(proposal(state), verdict(version=3)) is None


def test_what_waits_for_the_gate_is_not_decided():
    with pytest.raises(Refused, match="not put before anybody"):
        require_decidable(proposal(ProposalState.WAITING), verdict(), TERMS)


def test_a_verdict_on_another_version_is_stale():
    with pytest.raises(Stale) as caught:
        require_decidable(proposal(), verdict(version=2), TERMS)

    assert (caught.value.http, caught.value.details) == (412, {"version": 3})


@pytest.mark.requirement("H-48")
@pytest.mark.parametrize("state", list(ProposalState), ids=str)
def test_only_what_was_turned_down_undone_or_joined_can_be_reopened(state: ProposalState):
    can = state in (ProposalState.REJECTED, ProposalState.UNDONE, ProposalState.DUPLICATE)

    assert (refusal(proposal(state), verdict(VerdictKind.REOPEN)) is None) == can


@pytest.mark.requirement("H-46")
@pytest.mark.parametrize("kind", [VerdictKind.DEEPEN, VerdictKind.TOO_VAGUE], ids=str)
def test_the_third_time_of_thinking_again_is_too_deep(kind: VerdictKind):
    require_decidable(proposal(reevaluations=1), verdict(kind), TERMS)

    with pytest.raises(TooDeep) as caught:
        require_decidable(proposal(reevaluations=2), verdict(kind), TERMS)

    assert (caught.value.http, caught.value.exit) == (409, 4)


@pytest.mark.requirement("H-46")
@pytest.mark.parametrize("kind", [VerdictKind.APPROVE, VerdictKind.REJECT, VerdictKind.DEFER], ids=str)
def test_what_was_thought_over_as_often_as_it_may_can_still_be_decided(kind: VerdictKind):
    assert refusal(proposal(reevaluations=2), verdict(kind)) is None


def test_a_duplicate_names_another_proposal():
    require_valid_verdict_fields(verdict(VerdictKind.DUPLICATE, of=str(TWO)), proposal())
    for incomplete in (verdict(VerdictKind.DUPLICATE), verdict(VerdictKind.DUPLICATE, of=str(ONE))):
        with pytest.raises(BadInput, match="which other"):
            require_valid_verdict_fields(incomplete, proposal())


def test_edits_come_with_an_approval_and_name_what_can_be_edited():
    require_valid_verdict_fields(verdict(edits={"what": "Retry twice", "payload": {}}), proposal())
    with pytest.raises(BadInput, match="`state`"):
        require_valid_verdict_fields(verdict(edits={"state": "applied"}), proposal())
    with pytest.raises(BadInput, match="Only an approval"):
        require_valid_verdict_fields(verdict(VerdictKind.REJECT, edits={"what": "Retry twice"}), proposal())


@pytest.mark.requirement("H-55")
def test_what_cannot_be_undone_needs_its_word():
    asked = proposal(type=ProposalType.FORGET_REQUEST)

    require_valid_verdict_fields(verdict(word=" Forget "), asked)
    require_valid_verdict_fields(verdict(VerdictKind.REJECT), asked)
    with pytest.raises(BadInput) as caught:
        require_valid_verdict_fields(verdict(word="yes"), asked)

    assert caught.value.details == {"word": "forget"}


@pytest.mark.requirement("H-49")
def test_a_target_of_another_version_is_outdated_and_says_which():
    wanted = proposal(target={"memory:a": 1, "memory:b": 2})
    require_targets_unchanged(wanted, EffectPreview(versions={"memory:a": 1, "memory:b": 2, "memory:c": 9}))

    with pytest.raises(Outdated) as caught:
        require_targets_unchanged(wanted, EffectPreview(versions={"memory:a": 1, "memory:b": 3}))

    assert (caught.value.http, caught.value.name) == (409, "stale")
    assert caught.value.details == {"gone": [], "changed": ["memory:b"]}


@pytest.mark.requirement("H-49")
@pytest.mark.parametrize(
    ("look", "words"),
    [
        (EffectPreview(gone=("censor:a",)), "not there any more"),
        (EffectPreview(changed=("setting:a",)), "has changed"),
        (EffectPreview(is_done=True), "so already"),
    ],
    ids=["gone", "changed", "done"],
)
def test_what_is_gone_changed_or_done_is_outdated(look: EffectPreview, words: str):
    with pytest.raises(Outdated, match=words):
        require_targets_unchanged(proposal(), look)


@pytest.mark.requirement("H-45")
def test_a_no_silences_for_thirty_days_then_ninety_then_a_year():
    days = [suppression_period(before, TERMS.reject_suppress_days).days for before in range(5)]

    assert days == [30, 90, 365, 365, 365]


@pytest.mark.requirement("H-45")
def test_what_is_deferred_comes_back_after_fourteen_days_or_when_it_was_said():
    assert resolve_defer_until(None, now=MONDAY, terms=TERMS) == MONDAY + timedelta(days=14)
    assert resolve_defer_until(MONDAY + timedelta(days=2), now=MONDAY, terms=TERMS) == MONDAY + timedelta(days=2)


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_nothing_is_deferred_into_the_past_or_for_ever(days: int):
    with pytest.raises(BadInput):
        resolve_defer_until(MONDAY + timedelta(days=days), now=MONDAY, terms=TERMS)


@pytest.mark.requirement("H-50")
def test_what_changes_behaviour_is_approved_one_by_one():
    together = {ProposalType.MEMORY_CHANGE, ProposalType.DIMENSION_DECOMPOSITION, ProposalType.ADVICE}
    refuse_batch_approval(together)
    for each in set(ProposalType) - together:
        with pytest.raises(OneByOne):
            refuse_batch_approval([ProposalType.ADVICE, each])


@pytest.mark.parametrize(
    ("error", "result"),
    [(Outdated(), VerdictResult.STALE), (AlreadyDecided(), VerdictResult.ALREADY), (NotFound(), VerdictResult.REFUSED)],
    ids=["stale", "already", "refused"],
)
def test_each_refusal_has_a_name_in_the_list_of_results(error: FestingerError, result: VerdictResult):
    assert result_for_error(error) is result


@pytest.mark.parametrize("text", ["too_vague", "Too Vague", "TOO-VAGUE", " too  vague "])
def test_a_verdict_is_read_in_any_case_and_with_any_separator(text: str):
    assert parse_verdict_kind(text) is VerdictKind.TOO_VAGUE


def test_what_is_no_verdict_is_refused_with_a_list():
    with pytest.raises(BadInput) as caught:
        parse_verdict_kind("maybe")

    assert "`approve`" in caught.value.hint


@pytest.mark.requirement("H-21")
def test_a_yes_names_every_opposite_that_was_looked_at_and_any_other_verdict_none():
    opposites = {TWO: "Never retry", UUID(int=3): "Retry less"}

    with pytest.raises(Unseen, match="2 other proposals ask") as refused:
        require_opposites_seen(verdict(VerdictKind.APPROVE), opposites)
    with pytest.raises(Unseen, match="Another proposal asks") as partly:
        require_opposites_seen(verdict(VerdictKind.APPROVE, seen=[str(TWO)]), opposites)

    assert refused.value.details["opposites"] == {str(id_): what for id_, what in opposites.items()}
    assert list(partly.value.details["opposites"]) == [str(UUID(int=3))]
    assert f"`{UUID(int=3)}`" in partly.value.hint
    require_opposites_seen(verdict(VerdictKind.APPROVE, seen=[str(id_) for id_ in opposites]), opposites)
    require_opposites_seen(verdict(VerdictKind.REJECT), opposites)
