"""How far a statement is trusted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadInput
from festinger.ids import TRUST_ORDER, Origin
from festinger.memory.confidence import DEFAULTS, compute_trust
from festinger.settings.memory_sections import MemorySettings

TRUSTS = st.lists(st.floats(0, 1), min_size=1, max_size=6)


@pytest.mark.requirement("M-11")
def test_trust_falls_from_persons_to_documents():
    numbers = [compute_trust(origin, DEFAULTS) for origin in TRUST_ORDER]

    assert numbers == [1.0, 0.9, 0.6, 0.5, 0.4]
    assert MemorySettings().trusts == {origin.value: DEFAULTS[origin] for origin in TRUST_ORDER}


@pytest.mark.requirement("M-11")
@pytest.mark.parametrize(
    "wrong",
    [
        ("person 0.5", "system 0.9", "model 0.6", "tool 0.5", "document 0.4"),
        ("system 1.0", "person 0.9", "model 0.6", "tool 0.5", "document 0.4"),
        ("person 1.0", "system 0.9", "model 0.6", "tool 0.5"),
        ("person 1.1", "system 0.9", "model 0.6", "tool 0.5", "document 0.4"),
    ],
    ids=["not falling", "turned round", "one missing", "above one"],
)
def test_the_order_of_trust_may_not_be_turned_round(wrong: tuple[str, ...]):
    with pytest.raises(ValueError, match="falling in that order"):
        MemorySettings(trust=wrong)


@pytest.mark.requirement("M-11")
def test_what_a_model_words_from_a_person_and_a_tool_is_trusted_less_than_the_tool():
    assert compute_trust(Origin.MODEL, DEFAULTS, sources=[1.0, 0.5], by_model=True) == 0.45


@pytest.mark.requirement("M-11")
@given(sources=TRUSTS, origin=st.sampled_from([*TRUST_ORDER, Origin.JOB]), by_model=st.booleans())
def test_nothing_derived_is_trusted_more_than_any_of_its_sources(sources: list[float], origin: Origin, by_model: bool):
    assert compute_trust(origin, DEFAULTS, sources=sources, by_model=by_model) <= min(sources) + 1e-6


@pytest.mark.requirement("M-11")
def test_a_job_derives_from_something():
    with pytest.raises(BadInput, match="derives from nothing"):
        compute_trust(Origin.JOB, DEFAULTS)
