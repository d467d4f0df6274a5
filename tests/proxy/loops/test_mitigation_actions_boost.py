import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.loops.mitigation import SamplingParameters, boost_sampling
from festinger.proxy.routes import ApiProtocol
from festinger.settings.tree import LoopSettings

USUAL = LoopSettings()


def at(level: int, protocol: ApiProtocol, settings: LoopSettings = USUAL, **asked: float) -> dict[str, float]:
    return boost_sampling(SamplingParameters(parameters=asked), protocol, level=level, settings=settings)


@pytest.mark.parametrize("level", [0, 1])
def test_below_the_second_level_nothing_changes(level: int):
    assert at(level, ApiProtocol.NATIVE) == {}


def test_native_gets_a_higher_temperature_and_a_repeat_penalty():
    assert at(2, ApiProtocol.NATIVE) == {"temperature": 1.0, "repeat_penalty": 1.15, "repeat_last_n": 256}
    assert at(3, ApiProtocol.NATIVE)["temperature"] == 1.2


def test_openai_gets_both_penalties_and_more_at_the_third_level():
    assert at(2, ApiProtocol.OPENAI) == {"temperature": 1.2, "frequency_penalty": 0.3, "presence_penalty": 0.3}
    assert at(3, ApiProtocol.OPENAI) == {"temperature": 1.2, "frequency_penalty": 0.6, "presence_penalty": 0.6}


def test_anthropic_gets_only_a_temperature_and_none_above_one():
    assert at(2, ApiProtocol.ANTHROPIC) == {"temperature": 1.0}
    assert at(3, ApiProtocol.ANTHROPIC, temperature=0.2) == {"temperature": 0.6}


def test_the_base_is_the_request_then_the_model_file_then_what_is_usual():
    of_file = SamplingParameters(parameters={}, of_model=0.1)

    assert boost_sampling(of_file, ApiProtocol.NATIVE, level=2, settings=USUAL)["temperature"] == 0.3
    assert at(2, ApiProtocol.NATIVE, temperature=0.5)["temperature"] == 0.7


def test_it_goes_no_more_than_half_a_degree_above_the_base():
    tall = LoopSettings(ladder=("temperature", "nudge", "prune", "breaker"))

    assert at(4, ApiProtocol.OPENAI, tall, temperature=0.1)["temperature"] == 0.6


def test_a_fixed_seed_changes_from_level_to_level():
    seeds = {at(level, ApiProtocol.OPENAI, seed=7)["seed"] for level in (2, 3)}

    assert 7 not in seeds
    assert len(seeds) == 2
    assert "seed" not in at(2, ApiProtocol.OPENAI)


def test_where_a_schema_is_enforced_nothing_changes():
    strict = SamplingParameters(parameters={}, structured=True)

    assert boost_sampling(strict, ApiProtocol.OPENAI, level=3, settings=USUAL) == {}


def test_a_temperature_of_zero_stays_only_where_that_is_wanted():
    assert at(2, ApiProtocol.NATIVE, temperature=0)["temperature"] == 0.2
    assert at(2, ApiProtocol.NATIVE, LoopSettings(keep_zero_temperature=True), temperature=0) == {}


@given(
    st.sampled_from(ApiProtocol),
    st.integers(2, 4),
    st.dictionaries(
        st.sampled_from(["temperature", "repeat_penalty", "frequency_penalty"]), st.floats(0, 2), max_size=3
    ),
)
def test_what_the_client_asked_for_is_never_lowered(protocol: ApiProtocol, level: int, asked: dict[str, float]):
    changed = at(level, protocol, USUAL, **asked)

    assert all(value >= asked[name] for name, value in changed.items() if name in asked)
