"""What does an outcome do to the edge that a note showed?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.world.worldly import Bench, apply_outcome, kept, table

from festinger.ids import MAIN_SPACE, Origin
from festinger.store.pool import Store
from festinger.world.edge_statements import apply_statement
from festinger.world.model import NoteOutcome, confidence_after_corroboration, confidence_after_outcome, confidence_cap
from festinger.world.recollection import ShownEdge

NOTE = ShownEdge(concept="gnommoweb", dimension="type", parent="repo", version=1)


@pytest.mark.requirement("W-95")
async def test_acting_speaks_for_an_edge_and_contradiction_against_it_once_a_cause(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))
    seen = []
    for outcome, session in (("acted", "s1"), ("acted", "s1"), ("contradicted", "s2"), ("acted", "s3")):
        await apply_outcome(bench.deps, MAIN_SPACE, NOTE, NoteOutcome(outcome), cause=bench.because(session=session))
        ((*_, confidence),) = await table(store)
        seen.append(confidence)

    assert seen == pytest.approx([0.775, 0.775, 0.4375, 0.66875])
    assert kept(bench) == await table(store)


@pytest.mark.requirement("W-95")
@pytest.mark.parametrize("outcome", [NoteOutcome.USED, NoteOutcome.DISMISSED, NoteOutcome.DEFERRED])
async def test_other_outcomes_say_nothing(store: Store, outcome: NoteOutcome):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))

    moved = await apply_outcome(bench.deps, MAIN_SPACE, NOTE, outcome, cause=bench.because())

    assert moved is None
    assert await table(store) == {("gnommoweb", "repo", "type", True, 0.65)}


@pytest.mark.requirement("W-95")
async def test_inferred_outcomes_move_a_quarter_and_never_beyond_their_span(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo", confidence=0.5))
    before = bench.world().edges(bench.world().soas_by_token["gnommoweb"].id)[0].last_confirmed
    seen = []
    for number in range(8):
        edge = await apply_outcome(
            bench.deps,
            MAIN_SPACE,
            NOTE,
            NoteOutcome.ACTED,
            cause=bench.because(session=f"s{number}"),
            weight=1.0,
            is_explicit=False,
        )
        assert edge is not None
        assert edge.last_confirmed == before
        seen.append(round(edge.confidence, 4))

    assert seen[0] == 0.55
    assert seen[-1] == 0.6


@pytest.mark.requirement("W-95")
async def test_a_note_whose_edge_stands_no_more_moves_nothing(store: Store):
    bench = await Bench(store).open()

    assert await apply_outcome(bench.deps, MAIN_SPACE, NOTE, NoteOutcome.ACTED, cause=bench.because()) is None


@pytest.mark.requirement("W-36", "W-95")
@given(
    confidence=st.floats(0, 1),
    evidence=st.integers(0, 50),
    weight=st.floats(0, 1),
    origin=st.sampled_from(Origin),
    outcome=st.sampled_from(NoteOutcome),
)
def test_confidence_stays_within_bounds_and_nothing_lifts_it_above_its_cap(
    confidence: float, evidence: int, weight: float, origin: Origin, outcome: NoteOutcome
):
    said = confidence_after_corroboration(confidence, evidence=evidence, origin=origin)
    seen = confidence_after_outcome(confidence, outcome, evidence=evidence, weight=weight, origin=origin)

    assert confidence <= said <= max(confidence, confidence_cap(origin))
    assert 0 <= seen <= max(confidence, confidence_cap(origin))
    assert seen <= confidence or outcome is NoteOutcome.ACTED or confidence < 0.1


@pytest.mark.requirement("W-95", "P-46")
async def test_what_was_inferred_counts_no_more_once_the_same_conversation_tells_otherwise(store: Store):
    bench = await Bench(store).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo", confidence=0.5))
    seen = []
    for outcome, is_explicit in (
        ("acted", False),
        ("contradicted", False),
        ("acted", False),
        ("acted", True),
        ("contradicted", False),
    ):
        await apply_outcome(
            bench.deps,
            MAIN_SPACE,
            NOTE,
            NoteOutcome(outcome),
            cause=bench.because(session="s1"),
            is_explicit=is_explicit,
        )
        ((*_, confidence),) = await table(store)
        seen.append(round(confidence, 4))

    assert seen[0] > 0.5 > seen[1] == seen[2]
    assert seen[3] == seen[4] == 0.7  # as if nothing had been inferred
    assert kept(bench) == await table(store)
