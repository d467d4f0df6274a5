"""The demo of hysteresis tells what the real gate finds, byte for byte."""

import pytest
from examples.hysteresis import WHY_IT_FLAPS, play_flapping, play_hysteresis
from tests.jobs.deps import run_sql
from tests.proposals.proposing import Room

from festinger.ids import MAIN_SPACE, SpaceId
from festinger.store.pool import Store

TABLE = """\
7 incoming reflections -> 4 distinct proposals after dedup
  [c9f0e3b965da5167] seen 3x, 9d old: Add a retry budget for Elasticsearch queries
  [9ba0a61ea162aab0] seen 2x, 3d old: Add a progress bar for long tool calls
  [9438acf3ad8187a2] seen 1x, 1d old: Lower the summarizer temperature
  [f08fc2c3adc235e6] seen 1x, 10d old: Parallelize the health probe
promote if seen_count >= 2 AND age >= 7d:
  PROMOTED  (seen 3x, 9d)  Add a retry budget for Elasticsearch queries
  too new   (seen 2x, 3d)  Add a progress bar for long tool calls
  too few   (seen 1x, 1d)  Lower the summarizer temperature
  too few   (seen 1x, 10d) Parallelize the health probe"""


@pytest.mark.requirement("H-90")
async def test_seven_reflections_are_four_proposals_and_one_is_ripe(store: Store):
    told = await play_hysteresis(Room(store).deps, MAIN_SPACE)

    assert told.text == TABLE


@pytest.mark.requirement("H-91")
async def test_with_one_cause_the_age_alone_decides(store: Store):
    told = await play_hysteresis(Room(store).deps, MAIN_SPACE, min_seen=1)

    assert told.text.splitlines()[5:] == [
        "promote if seen_count >= 1 AND age >= 7d:",
        "  PROMOTED  (seen 3x, 9d)  Add a retry budget for Elasticsearch queries",
        "  too new   (seen 2x, 3d)  Add a progress bar for long tool calls",
        "  too new   (seen 1x, 1d)  Lower the summarizer temperature",
        "  PROMOTED  (seen 1x, 10d) Parallelize the health probe",
    ]


@pytest.mark.requirement("H-91")
async def test_without_a_deadband_the_direction_turns_and_with_one_it_never_does(store: Store):
    await run_sql(store, "insert into space (id, name) values ('one', 'one'), ('two', 'two')")

    told = await play_flapping(Room(store).deps, (SpaceId("one"), SpaceId("two")))

    turns = told.document["turns"]
    assert turns[1] >= 10
    assert turns[2] == 0
    assert told.text.endswith(WHY_IT_FLAPS)
    assert f"N = 1: the promoted direction turned {turns[1]} times" in told.text
