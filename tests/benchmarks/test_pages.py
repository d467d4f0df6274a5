"""The suite `pages`: on a small store every page answers, and every number comes out."""

from pathlib import Path

import pytest
from benchmarks.pages import AMOUNTS, METRICS, fill, measure_pages, samples
from benchmarks.recalling import MODEL
from tests.runtime.server import opened

from festinger.runtime.app import StartOptions


@pytest.mark.postgres
async def test_every_page_is_measured_on_a_store_that_the_suite_fills_itself(database_url: str, tmp_path: Path):
    start = StartOptions(providers=True)
    async with opened(database_url, tmp_path, start=start, embedding__model=MODEL) as app:
        found = samples(await measure_pages(app, AMOUNTS["quick"], await fill(app, AMOUNTS["quick"], seed=1)))

    assert {sample.metric for sample in found} == {metric.name for metric in METRICS}
    assert all(sample.value > 0 for sample in found)
