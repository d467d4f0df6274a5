"""What the suite of proposals measures: labelled pairs, forged votes, and sightings kept."""

import pytest
from benchmarks.proposals import COSINE, FALSE, METRICS, RECALL, at_fixed_moment, forged, labelled, meaning
from benchmarks.suite import PRODUCT
from tests.memory.remembering import bundled
from tests.proposals.proposing import Room

from festinger.proposals.sightings.fingerprint import normalize_suggestion
from festinger.store.pool import Store


@pytest.mark.requirement("H-25")
def test_there_are_enough_pairs_of_both_kinds_and_none_is_known_by_its_fingerprint():
    pairs = labelled()

    assert len([each for each in pairs if each.is_same]) >= 25
    assert len([each for each in pairs if not each.is_same]) >= 24
    assert len({each.id for each in pairs}) == len(pairs)
    assert [each.id for each in pairs if normalize_suggestion(each.a) == normalize_suggestion(each.b)] == []


@pytest.mark.requirement("H-25")
async def test_the_bundled_embedder_and_rules_reach_the_bar_without_a_model():
    embedder = await bundled()
    try:
        found = {(tally.metric, tally.system): tally.value for tally in await meaning(embedder, labelled())}
    finally:
        await embedder.close()

    assert found[RECALL, PRODUCT] >= 0.85
    assert found[FALSE, PRODUCT] <= 0.10
    assert found[FALSE, COSINE] > found[FALSE, PRODUCT]


@pytest.mark.requirement("H-11")
@pytest.mark.requirement("H-12")
@pytest.mark.requirement("H-13")
async def test_forged_votes_come_to_what_the_specification_says(store: Store):
    samples = await forged(at_fixed_moment(Room(store).deps), repeats=12)

    assert {each.metric: each.value for each in samples} == {
        "proposals.repeats": 1, "proposals.sessions": 3, "proposals.planted": 0,
    }  # fmt: skip


def test_every_metric_has_a_name_of_the_suite():
    assert [metric.name for metric in METRICS if not metric.name.startswith("proposals.")] == []
