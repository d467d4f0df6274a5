"""Who and what is meant: ids, origins and causes."""

import dataclasses
import random
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadInput, NotFound
from festinger.ids import (
    TRUST_ORDER,
    AgentId,
    Cause,
    Origin,
    SessionId,
    cause,
    id_maker,
    least_trusted,
    pick,
    prefix,
    read_id,
)

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
ID = UUID("018f3a5e-7b2c-7d10-9a3e-5c6f8b1d2e4f")
OTHER = UUID("018f3a5e-7b2c-7d10-9a3e-5c6f8b1d2e50")


def cause_at(at: datetime, origin: Origin = Origin.PERSON) -> Cause:
    return cause(agent=AgentId("a"), session=SessionId("s"), origin=origin, at=at)


@pytest.mark.requirement("X-04")
def test_an_id_is_a_version_7_uuid_of_its_moment():
    new = id_maker(lambda: MONDAY, random.Random(1))()

    assert new.version == 7
    assert new.variant == "specified in RFC 4122"
    assert new.int >> 80 == int(MONDAY.timestamp() * 1000)


@pytest.mark.requirement("X-04", "X-03")
def test_the_same_clock_and_chance_make_the_same_ids():
    def ids() -> list[UUID]:
        new_id = id_maker(lambda: MONDAY, random.Random(7))
        return [new_id() for _ in range(5)]

    assert ids() == ids()
    assert len(set(ids())) == 5


@pytest.mark.requirement("X-04")
@given(st.lists(st.integers(-5_000, 5_000), min_size=2, max_size=50), st.randoms(use_true_random=False))
def test_ids_rise_also_when_the_clock_stands_still_or_steps_back(steps: list[int], chance: random.Random):
    moments = iter([MONDAY + timedelta(milliseconds=step) for step in steps])
    new_id = id_maker(lambda: next(moments), chance)
    made = [new_id() for _ in steps]

    assert all(earlier < later for earlier, later in pairwise(made))
    assert [str(one) for one in made] == sorted(str(one) for one in made)


@pytest.mark.requirement("X-04")
def test_more_ids_than_a_millisecond_can_count_still_rise():
    new_id = id_maker(lambda: MONDAY, random.Random(1))
    made = [new_id() for _ in range(10_000)]

    assert made == sorted(set(made))


@pytest.mark.requirement("X-04")
@pytest.mark.parametrize("written", [str(ID), str(ID).upper(), f"  {ID}\n", ID.hex, ID.hex.upper()])
def test_an_id_is_read_in_any_case_and_with_or_without_dashes(written: str):
    assert read_id(written) == ID


@pytest.mark.requirement("X-04")
@given(st.uuids(), st.integers(8, 36), st.booleans())
def test_every_prefix_of_an_id_is_read_as_it_is_stored(whole: UUID, length: int, upper: bool):
    written = str(whole)[:length]
    stored = prefix(written.upper() if upper else written)

    assert str(whole).startswith(stored)
    assert len(stored) >= length - 1
    assert str(whole).startswith(prefix(whole.hex[: min(length, 32)]))


@pytest.mark.parametrize(
    "written",
    ["", "018f3a5", "018f3a5g", "018f-3a5e", "%", "018f3a5e%", "01٣f3a5e", str(ID) + "0", "0x018f3a5e", "-" * 12],
)
def test_what_is_no_prefix_is_refused(written: str):
    with pytest.raises(BadInput, match="is not an id"):
        prefix(written)


@given(st.text(max_size=60))
def test_any_text_is_an_id_or_a_named_refusal(text: str):
    for read in (read_id, prefix):
        result: object
        try:
            result = read(text)
        except BadInput as refused:
            result = refused
        assert isinstance(result, UUID | str | BadInput)


@pytest.mark.parametrize("written", [str(ID)[:20], str(ID).replace("-", "_"), "{" + str(ID) + "}", "1_2" + ID.hex[3:]])
def test_what_is_no_whole_id_is_refused(written: str):
    with pytest.raises(BadInput, match="is not an id"):
        read_id(written)


@pytest.mark.requirement("X-04")
def test_a_prefix_means_the_one_id_that_begins_with_it():
    assert pick("018f3a5e", [ID, ID]) == ID


@pytest.mark.requirement("X-04")
def test_a_prefix_of_several_ids_is_refused_with_all_of_them():
    with pytest.raises(BadInput) as refused:
        pick("018f3a5e", [OTHER, ID])

    assert f"`{ID}`, `{OTHER}`" in refused.value.message


def test_a_prefix_of_no_id_is_not_found():
    with pytest.raises(NotFound, match="`018f3a5e`"):
        pick("018f3a5e", [])


@pytest.mark.requirement("X-01")
def test_origins_are_those_of_the_design_and_trust_falls_in_their_order():
    assert set(Origin) == {"person", "model", "tool", "document", "system", "job"}
    assert TRUST_ORDER == ("person", "system", "model", "tool", "document")


@pytest.mark.requirement("X-01")
@given(st.lists(st.sampled_from(Origin)))
def test_what_is_derived_has_the_lowest_trust_of_its_texts(origins: list[Origin]):
    derived = least_trusted(origins)
    texts: list[Origin] = [origin for origin in origins if origin is not Origin.JOB]

    assert derived in (texts or [Origin.JOB])
    assert all(TRUST_ORDER.index(derived) >= TRUST_ORDER.index(origin) for origin in texts)


@pytest.mark.requirement("X-01")
def test_equal_causes_are_one_cause():
    morning, evening = cause_at(MONDAY), cause_at(MONDAY + timedelta(hours=11))

    assert morning == evening
    assert len({morning, evening}) == 1
    assert cause_at(MONDAY + timedelta(days=1)) != morning
    assert cause_at(MONDAY, Origin.TOOL) != morning


@pytest.mark.requirement("X-01")
def test_the_day_of_a_cause_is_the_day_in_utc():
    late = datetime(2026, 1, 6, 1, tzinfo=timezone(timedelta(hours=5)))

    assert cause_at(late).day == MONDAY.date()


@pytest.mark.requirement("X-02")
def test_a_cause_without_a_time_zone_is_refused():
    with pytest.raises(BadInput, match="no time zone"):
        cause_at(datetime(2026, 1, 5))


@pytest.mark.requirement("X-01")
def test_a_cause_is_frozen_slotted_and_named():
    one = cause_at(MONDAY)

    with pytest.raises(dataclasses.FrozenInstanceError):
        one.agent = AgentId("b")  # type: ignore[misc]
    with pytest.raises(TypeError):
        Cause(*dataclasses.astuple(one))  # type: ignore[call-arg]
    assert not hasattr(one, "__dict__")
