import shutil
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.runtime.server import settings_of
from tests.web.asgi import BEYOND, ask
from tests.web.deps import deps

from festinger.errors import StoreUnfit
from festinger.runtime.app import StartOptions
from festinger.runtime.supervisor import Supervisor
from festinger.store.repositories.auth import AccessRole
from festinger.web.app import build_admin_app


def closed(folder: Path) -> Supervisor:
    @asynccontextmanager
    async def never():
        raise StoreUnfit
        yield

    supervisor = Supervisor(settings_of(None, folder), never)
    supervisor.problem = StoreUnfit()
    return supervisor


@pytest.mark.requirement("X-99")
async def test_healthz_answers_without_a_store_and_asks_nobody(tmp_path: Path):
    got = await ask(build_admin_app(closed(tmp_path)), "GET", "/admin/healthz", caller=BEYOND)

    assert (got.status, got.json) == (200, {"ok": True})


@pytest.mark.requirement("X-99", "X-106")
async def test_readyz_is_503_without_a_store_and_says_what_to_do_to_callers_here(tmp_path: Path):
    pages = build_admin_app(closed(tmp_path))

    here, beyond = (await ask(pages, "GET", "/admin/readyz"), await ask(pages, "GET", "/admin/readyz", caller=BEYOND))

    assert (here.status, beyond.status) == (503, 503)
    assert "pgvector" in here.json["problem"]["message"]
    assert here.json["problem"]["hint"] == StoreUnfit.default_hint
    assert beyond.json == {"ready": False}


@pytest.mark.requirement("X-99")
async def test_readyz_is_200_while_the_database_answers_and_503_when_it_stops(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        before = await at.ask("GET", "/admin/readyz")
        await at.app.store.pool.close()
        after = await at.ask("GET", "/admin/readyz", key=None)

        assert (before.status, before.json["ready"]) == (200, True)
        assert (after.status, after.json["problem"]["name"]) == (503, "store_down")


@pytest.mark.requirement("X-99", "X-07")
async def test_what_is_missing_is_listed_and_never_makes_it_unready(database_url: str, tmp_path: Path):
    gone = str(tmp_path / "nowhere")
    async with deps(database_url, tmp_path, start=StartOptions(providers=True), embedding__model=f"onnx:{gone}/") as at:
        got = await at.ask("GET", "/admin/readyz")

        assert got.status == 200
        assert got.json["degraded"] == ["embedder"]
        assert got.json["dead_jobs"] == 0


@pytest.mark.requirement("X-99")
async def test_details_beyond_this_machine_need_a_key(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        proxy = await at.new_key(AccessRole.PROXY)

        bare = await at.ask("GET", "/admin/readyz", key=None, caller=BEYOND)
        told = await at.ask("GET", "/admin/readyz", key=proxy, caller=BEYOND)

        assert bare.json == {"ready": True}
        assert "degraded" in told.json


@pytest.mark.requirement("X-15")
async def test_a_broken_settings_file_changes_nothing_and_is_shown_until_it_is_mended(
    database_url: str, tmp_path: Path
):
    file = tmp_path / "festinger.yaml"
    file.write_text("proxy:\n  upstream: http://127.0.0.1:1\n")
    async with deps(database_url, tmp_path) as at:
        file.write_text("proxy:\n  upstream: [\n")
        at.app.settings.reload_file()
        broken = (await at.ask("GET", "/admin/readyz")).json["settings"]
        upstream = at.app.settings.now.proxy.upstream
        file.write_text("proxy:\n  upstream: http://127.0.0.1:2\n")
        at.app.settings.reload_file()
        mended = (await at.ask("GET", "/admin/readyz")).json["settings"]

        assert str(file) in broken["message"]
        assert broken["details"]["line"] in (2, 3)
        assert upstream == "http://127.0.0.1:1"
        assert mended is None
        assert at.app.settings.now.proxy.upstream == "http://127.0.0.1:2"


@pytest.mark.requirement("X-97")
async def test_the_metrics_page_shows_what_is_counted_and_measured(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        got = await at.ask("GET", "/admin/metrics", key=None)

        assert got.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert "festinger_store_pool_connections " in got.text
        assert 'festinger_events_written_total{name="key_made"}' in got.text


@pytest.mark.requirement("X-97")
async def test_the_metrics_page_can_be_switched_off(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path, metrics__enabled=False) as at:
        assert (await at.ask("GET", "/admin/metrics", key=None)).status == 404


async def test_health_and_doctor_show_the_checks_as_data(database_url: str, tmp_path: Path):
    async with deps(database_url, tmp_path) as at:
        health = (await at.ask("GET", "/admin/health")).json
        doctor = (await at.ask("GET", "/admin/api/doctor")).json
        names = {check["name"] for check in health["checks"]}

        assert {"settings", "store.server", "jobs.dead", "events.lag", "files.disk"} <= names
        assert {check["name"] for check in doctor["checks"]} - names == {
            "llm.write", "llm.resolve", "llm.judge", "llm.chat", "llm.system2",
        }  # fmt: skip
        assert set(health["checks"][0]) == {"name", "severity", "message", "remedy", "details"}


async def test_without_a_store_the_checks_say_so_with_the_remedy(tmp_path: Path):
    checks = await closed(tmp_path).checks()

    store = next(check for check in checks if check.name == "store.server")
    assert (store.severity, store.remedy) == ("fail", StoreUnfit.default_hint)


@pytest.mark.requirement("F-18", "X-99")
async def test_a_full_disk_makes_it_unready_and_says_why(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with deps(database_url, tmp_path) as at:
        before = await at.ask("GET", "/admin/readyz")
        usage = shutil.disk_usage(tmp_path)
        monkeypatch.setattr("festinger.runtime.supervisor.shutil.disk_usage", lambda _: usage._replace(free=2**20))
        full = await at.ask("GET", "/admin/readyz")

    assert (before.status, before.json["disk"]["name"]) == (200, "files.disk")
    assert full.status == 503
    assert full.json["problem"]["message"].startswith("Only 1 MB are free")


@pytest.mark.requirement("F-18", "X-99")
async def test_a_spool_that_cannot_be_written_makes_it_unready(tmp_path: Path):
    supervisor = closed(tmp_path)
    supervisor._disk_fault = lambda: "No space left on device"

    problem = supervisor.disk_problem()

    assert problem is not None
    assert "No space left on device" in problem.message
