"""The jobs of the house itself keep the contract: run twice, or killed midway, they leave the rows of one run."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.contract import Case, rows_after
from tests.jobs.deps import run_sql
from tests.runtime.server import Hands, fixed_tools, opened, told

from festinger.jobs.queue import JobRegistry
from festinger.runtime import jobs as runtime_jobs
from festinger.runtime.settings import change_setting

OLD_EVENTS = """
insert into event (space_id, id, name, version, subject, payload, at)
select 'main', md5(n::text)::uuid, case when n %% 2 = 0 then 'provider_up' else 'setting_changed' end, 1, 's', '{}',
       %(at)s from generate_series(1, 20) as n
"""


@pytest.mark.requirement("X-55")
@pytest.mark.parametrize(("runs", "kill_first"), [(1, False), (2, False), (1, True)])
async def test_pruning_events_leaves_the_same_rows_however_often_it_runs(
    runs: int, kill_first: bool, database_url: str, tmp_path: Path
):
    hands = Hands()
    async with opened(database_url, tmp_path, tools=fixed_tools(hands)) as app:

        async def prepare(_jobs: JobRegistry) -> dict[str, Any]:
            await run_sql(app.store, OLD_EVENTS, at=hands.now - timedelta(days=60))
            return {}

        look = "select name, count(*) as n from event group by name order by name"
        case = Case(name="prune_events", prepare=prepare, look=look)

        assert await rows_after(app.store, app.jobs, case, runs=runs, kill_first=kill_first) == [
            {"name": "setting_changed", "n": 10}
        ]


async def test_pruning_jobs_runs_twice_and_removes_what_is_old(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:

        async def prepare(jobs: JobRegistry) -> dict[str, Any]:
            return {}

        case = Case(name="prune_jobs", prepare=prepare, look="select count(*) as n from procrastinate_jobs")

        assert await rows_after(app.store, app.jobs, case, runs=2, kill_first=False) == [{"n": 2}]


async def test_an_automatic_backup_is_made_where_it_belongs_and_told(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[tuple[Path, int]] = []

    async def made(url: str, folder: Path, *, keep: int, clock: object) -> Path:
        asked.append((folder, keep))
        return folder / "auto"

    class Manifest:
        bytes = 7
        sha256 = "ab"

    monkeypatch.setattr(runtime_jobs, "create_automatic_backup", made)
    monkeypatch.setattr(runtime_jobs, "read_manifest", lambda _: Manifest)
    async with opened(database_url, tmp_path) as app:
        await change_setting(app, "store.backup_keep", "3", by="me")
        await app.jobs["backup"].operation(None)

        (event,) = await told(app, "backup_made")
        assert asked == [(tmp_path / "home" / "backups", 3)]
        assert event.payload == {"file": "auto", "bytes": 7, "sha256": "ab"}


async def test_every_job_of_the_house_is_periodic(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        assert {work.name for work in app.jobs.periodic} >= {"prune_events", "prune_jobs", "backup"}
