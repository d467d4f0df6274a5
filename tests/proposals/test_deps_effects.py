"""What can a yes do?"""

from collections.abc import Mapping

import pytest
from tests.proposals.hearing import Court

from festinger.errors import BadInput, Unwired
from festinger.proposals.deps import ONE_BY_ONE, effect_for, require_all_effects, require_text
from festinger.proposals.model import ProposalType
from festinger.store.pool import Store


@pytest.mark.requirement("H-55")
async def test_a_type_that_nobody_carries_out_keeps_the_app_from_starting(store: Store):
    effects = Court(store).office.effects
    assert require_all_effects(effects) is effects

    for missing in ProposalType:
        with pytest.raises(Unwired, match=f"`{missing.value}`"):
            require_all_effects({each: effect for each, effect in effects.items() if each is not missing})


def test_a_type_without_an_effect_is_not_carried_out():
    with pytest.raises(Unwired):
        effect_for({}, ProposalType.ADVICE)


@pytest.mark.requirement("H-55")
def test_what_changes_behaviour_or_cannot_be_undone_is_decided_one_by_one():
    assert {each.value for each in ONE_BY_ONE} == {
        "identity_promotion",
        "censor_rule",
        "censor_escalation",
        "settings_change",
        "forget_request",
    }


@pytest.mark.parametrize(
    "payload", [{}, {"key": ""}, {"key": "  "}, {"key": 5}], ids=["none", "empty", "blank", "number"]
)
def test_a_text_that_a_payload_lacks_is_asked_for(payload: Mapping[str, object]):
    with pytest.raises(BadInput, match="`key`"):
        require_text(payload, "key")
