"""Long texts are read in slices, and only their beginning and end."""

from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.deps import rows
from tests.proxy.capture.test_queue import capture
from tests.proxy.store_recorder import recording
from tests.runtime.server import opened

from festinger.clock import system_stopwatch
from festinger.ids import MAIN_SPACE
from festinger.observability.metrics import STORE_ROUND_TRIPS
from festinger.proxy.capture.write import READ_CHARS, SLICE_CHARS, WorkPacer, iter_readable_slices, write_entries

FILLER = "The river rose again in the night. " * 40_000


@given(st.text(alphabet="ab .\n", max_size=3 * SLICE_CHARS))
def test_the_slices_of_a_text_are_the_text(text: str):
    parts = list(iter_readable_slices(text))

    assert "".join(parts) == text
    assert all(0 < len(part) <= SLICE_CHARS for part in parts)


def test_of_a_long_text_both_ends_are_read():
    parts = "".join(iter_readable_slices("begin " + FILLER + " end"))

    assert parts.startswith("begin ")
    assert parts.endswith(" end")
    assert len(parts) <= READ_CHARS + 1


@pytest.mark.requirement("P-43")
async def test_what_a_long_text_states_at_its_end_is_learnt_and_no_job_dies_of_it(database_url: str, tmp_path: Path):
    said = f"{FILLER}\nNote that gnommoweb is a repository."
    async with opened(database_url, tmp_path) as app, recording(app, tmp_path) as at:
        at.writer.put(capture(1, said))
        await at.kept()
        claims = await rows(app.store, "select task_name from procrastinate_jobs where task_name = 'write_claims'")
        kept = await rows(app.store, "select length(text) as chars from exchange_message")

    assert len(said) > 1_000_000
    assert [row["chars"] <= 1_000_000 for row in kept] == [True]
    assert len(claims) == 1


@pytest.mark.requirement("W-58")
async def test_without_a_model_no_job_is_made_for_a_name_and_the_name_is_wanted(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app, recording(app, tmp_path) as at:
        for number in range(1, 21):
            at.writer.put(capture(number, f"Tell me about gnommoweb, part {number}.", session=f"s{number}"))
        await at.kept()
        await app.world.write_counts()
        jobs = await rows(app.store, "select id from procrastinate_jobs where task_name = 'write_concept'")
        wanted = await rows(app.store, "select token from soas where wanted_at is not null")

    assert jobs == []
    assert [row["token"] for row in wanted] == ["gnommoweb"]


ROUND_TRIPS = 16
"""Of a batch that continues conversations: at eight exchanges, two each."""


@pytest.mark.parametrize("exchanges", [1, 8])
async def test_the_round_trips_of_a_batch_do_not_grow_with_its_exchanges(
    exchanges: int, database_url: str, tmp_path: Path
):
    async with opened(database_url, tmp_path) as app:
        pace = WorkPacer(system_stopwatch)
        begun = [capture(each, f"What about part {each}?", session=f"s{each}") for each in range(exchanges)]
        await write_entries(app, begun, pace=pace)
        for each in range(exchanges):  # as the reader of turns does at once
            app.memory.claim_turn(MAIN_SPACE, UUID(int=100 + each))
        before = STORE_ROUND_TRIPS._value.get()
        going_on = [capture(100 + each, f"And part {each}?", session=f"s{each}") for each in range(exchanges)]
        await write_entries(app, going_on, pace=pace)
        spent = STORE_ROUND_TRIPS._value.get() - before
        kept = await rows(app.store, "select count(*) as turns from episode_turn where role = 'user'")

    assert spent <= ROUND_TRIPS
    assert kept == [{"turns": 2 * exchanges}]
