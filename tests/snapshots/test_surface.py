"""What users, clients and operators see is as recorded."""

from pathlib import Path

import pytest
from tests.runtime.server import opened
from tests.snapshots.surface import EXPECTED, SURFACE, as_text, jobs, recorded

AGAIN = "if the change is meant, run `python -m tests.snapshots` and look at the difference"


@pytest.mark.parametrize("name", SURFACE)
def test_the_outward_surface_is_as_recorded(name: str):
    assert as_text(SURFACE[name]()) == recorded(name), AGAIN


async def test_jobs_and_subscribers_are_as_recorded(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        assert as_text(jobs(app)) == recorded("jobs"), AGAIN


def test_every_recorded_file_is_compared():
    assert {path.stem for path in EXPECTED.iterdir()} == {*SURFACE, "jobs"}
