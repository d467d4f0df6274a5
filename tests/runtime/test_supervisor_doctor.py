"""Each check of the house itself: what makes it fail, and what it says to do."""

from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.server import Hands, fixed_tools, opened, settings_of

from festinger.errors import StoreUnfit
from festinger.observability.checks import Check, CheckSeverity
from festinger.runtime.app import StartOptions
from festinger.runtime.settings import change_setting
from festinger.runtime.supervisor import check_files, check_settings, checks_without_store, run_checks

NAMES = {
    "settings", "files.disk", "files.home", "files.key", "store.server", "store.clock", "store.pool",
    "store.last_stop", "store.backup", "store.listen", "jobs.dead", "jobs.stalled", "jobs.behind", "events.lag",
    "events.dead", "embedder.answers", "embedder.profile", "reranker.answers", "llm.write", "llm.resolve",
    "llm.judge", "llm.chat", "llm.system2",
    "memory.censors", "memory.refusals", "memory.vectors", "outcomes.loop", "retrieval.words", "world.cache",
}  # fmt: skip

Usage = namedtuple("Usage", "total used free")


def by_name(checks: list[Check]) -> dict[str, Check]:
    assert len({check.name for check in checks}) == len(checks)
    return {check.name: check for check in checks}


def assert_told(check: Check, severity: CheckSeverity, *words: str) -> None:
    assert check.severity is severity
    assert check.remedy
    assert all(word in check.message + check.remedy for word in words)


async def test_a_house_in_order_has_every_check_and_none_fails(database_url: str, tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    flags: dict[str, Any] = {"embedding__model": "hashed:64", "rerank__model": "lexical:"}
    async with opened(database_url, tmp_path, start=StartOptions(providers=True), **flags) as app:
        checks = by_name(await run_checks(app, ask_models=True))

        assert set(checks) == NAMES
        assert [check for check in checks.values() if check.severity is CheckSeverity.FAIL] == []


async def test_a_setting_that_waits_for_a_restart_is_named(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        await change_setting(app, "jobs.workers", "7", by="me")

        assert_told(check_settings(app.settings)[0], CheckSeverity.WARN, "`jobs.workers`", "Restart")


@pytest.mark.requirement("X-15")
def test_a_refused_edit_fails_with_its_file(tmp_path: Path):
    settings = settings_of(None, tmp_path)
    (tmp_path / "festinger.yaml").write_text("store: [")
    settings.reload_file()

    assert_told(check_settings(settings)[0], CheckSeverity.FAIL, "festinger.yaml")


@pytest.mark.parametrize(("mode", "fine"), [(0o700, True), (0o710, True), (0o750, False), (0o701, False)])
def test_a_home_that_others_can_read_fails(mode: int, fine: bool, tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    check = by_name(check_files(settings_of(None, tmp_path), home))["files.home"]

    if fine:
        assert check.severity is CheckSeverity.OK
    else:
        assert_told(check, CheckSeverity.FAIL, f"{mode:04o}", "chmod go-rwx")


@pytest.mark.parametrize(("mode", "fine"), [(0o600, True), (0o400, True), (0o640, False), (0o610, False)])
def test_a_key_that_others_can_read_fails(mode: int, fine: bool, tmp_path: Path):
    key = tmp_path / "key"
    key.write_text("x")
    key.chmod(mode)
    check = by_name(check_files(settings_of(None, tmp_path), tmp_path))["files.key"]

    if fine:
        assert check.severity is CheckSeverity.OK
    else:
        assert_told(check, CheckSeverity.FAIL, f"{mode:04o}", "chmod go-rwx")


@pytest.mark.parametrize(
    ("free_mb", "severity"), [(5000, CheckSeverity.OK), (1023, CheckSeverity.WARN), (255, CheckSeverity.FAIL)]
)
def test_a_disk_that_fills_warns_and_then_fails(
    free_mb: int, severity: CheckSeverity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("festinger.runtime.supervisor.shutil.disk_usage", lambda _: Usage(0, 0, free_mb * 2**20))
    check = by_name(check_files(settings_of(None, tmp_path), tmp_path / "not" / "yet"))["files.disk"]

    assert check.severity is severity
    assert check.details == {"free_mb": free_mb}
    if severity is not CheckSeverity.OK:
        assert_told(check, severity, "Free some space")


async def test_an_embedder_and_a_reranker_that_cannot_be_opened_fail(database_url: str, tmp_path: Path):
    gone = f"onnx:{tmp_path}/nowhere/"
    flags: dict[str, Any] = {"embedding__model": gone, "rerank__model": gone}
    async with opened(database_url, tmp_path, start=StartOptions(providers=True), **flags) as app:
        checks = by_name(await run_checks(app))

        assert_told(checks["embedder.answers"], CheckSeverity.FAIL, "nowhere")
        assert_told(checks["reranker.answers"], CheckSeverity.FAIL, "nowhere", "rerank.model")


@pytest.mark.requirement("X-85")
async def test_a_model_that_was_chosen_and_cannot_be_had_fails_and_none_is_fine(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path, llm__judge="openai:gpt-5") as app:
        checks = by_name(await run_checks(app, ask_models=True))

        assert_told(checks["llm.judge"], CheckSeverity.FAIL, "offline")
        assert checks["llm.write"].severity is CheckSeverity.OK


async def test_clocks_that_are_apart_are_told(database_url: str, tmp_path: Path):
    hands = Hands()
    async with opened(database_url, tmp_path, tools=fixed_tools(hands)) as app:
        check = by_name(await run_checks(app))["store.clock"]

        assert_told(check, CheckSeverity.WARN, "time server")


async def test_a_database_that_does_not_answer_is_the_one_thing_told_of_the_store(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        await app.store.pool.close()
        checks = by_name(await run_checks(app))

        assert_told(checks["store.server"], CheckSeverity.FAIL)
        assert "jobs.dead" not in checks
        assert "settings" in checks


def test_a_store_that_is_not_open_is_told_with_the_reason(tmp_path: Path):
    settings = settings_of(None, tmp_path)

    starting = by_name(checks_without_store(settings, tmp_path, None))["store.server"]
    unfit = by_name(checks_without_store(settings, tmp_path, StoreUnfit()))["store.server"]

    assert_told(starting, CheckSeverity.WARN, "starting")
    assert_told(unfit, CheckSeverity.FAIL, "pgvector", "Upgrade")
