"""Which settings are in force now?"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog

from festinger.errors import BadSetting, SettingPinned
from festinger.ids import SpaceId
from festinger.observability.metrics import SETTINGS_REFUSED
from festinger.settings.deployment import Deployment
from festinger.settings.live import LiveSettings, SettingChange, SettingsProblem
from festinger.settings.sources import ConfigTableRow, SourceKind

LAB = SpaceId("lab")
CANARY = "canary-5f1e6c-9921"


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    return Deployment(environment={}, folder=tmp_path, config_folder=tmp_path / "config")


def edit(deployment: Deployment, text: str) -> None:
    (deployment.folder / "festinger.yaml").write_text(text)


def row(key: str, value: str, space: str = "*") -> ConfigTableRow:
    return ConfigTableRow(space=SpaceId(space), key=key, value=value)


def refused(source: str) -> float:
    return float(SETTINGS_REFUSED.labels(source)._value.get())


@pytest.mark.requirement("X-14")
def test_an_edited_file_is_in_force_after_it_is_read_again(deployment: Deployment):
    live = LiveSettings(deployment)
    edit(deployment, "llm:\n  max_parallel: 9\n")

    assert live.now.llm.max_parallel == 4
    assert live.reload_file() is None
    assert live.now.llm.max_parallel == 9


@pytest.mark.requirement("X-14")
def test_a_file_that_was_taken_away_gives_its_keys_back(deployment: Deployment):
    edit(deployment, "llm: {max_parallel: 9}")
    live = LiveSettings(deployment)
    (deployment.folder / "festinger.yaml").unlink()

    live.reload_file()

    assert live.now.llm.max_parallel == 4


@pytest.mark.requirement("X-16")
def test_a_snapshot_stays_as_it_was_taken(deployment: Deployment):
    live = LiveSettings(deployment)
    taken = live.now
    live.apply_rows([row("llm.max_parallel", "9")])

    assert (taken.llm.max_parallel, live.now.llm.max_parallel) == (4, 9)
    assert live.now is live.now


@pytest.mark.requirement("X-15")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("llm:\n  max_parallel: 7\n  max_paralel: 9\n", 3),
        ("llm:\n  max_parallel: many\n", 2),
        ("llm:\n  max_parallel: [1\n", 3),
        ("llm:\n  write: !!python/name:os.system x\n", 2),
    ],
)
def test_a_bad_edit_changes_nothing_and_is_told_once_with_file_and_line(deployment: Deployment, text: str, line: int):
    edit(deployment, "llm:\n  max_parallel: 5\n")
    live = LiveSettings(deployment)
    told: list[SettingsProblem] = []
    live.on_refusal(told.append)
    before, taken = refused("file"), live.now
    edit(deployment, text)

    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            live.reload_file()

    assert live.now == taken
    assert [(entry["event"], entry["line"], entry["log_level"]) for entry in logs] == [
        ("settings refused", line, "error")
    ]
    assert logs[0]["file"].endswith("festinger.yaml")
    assert told == [live.problem]
    assert refused("file") == before + 1


@pytest.mark.requirement("X-15")
def test_a_problem_stays_until_it_is_mended(deployment: Deployment):
    live = LiveSettings(deployment)
    edit(deployment, "llm: {max_parallel: 0}")
    live.reload_file()
    live.apply_rows([row("events.retention_days", "3")])

    assert live.problem is not None
    assert live.problem.source is SourceKind.FILE
    assert live.now.events.retention_days == 3

    edit(deployment, "llm: {max_parallel: 6}")
    live.reload_file()

    assert live.problem is None
    assert live.now.llm.max_parallel == 6


@pytest.mark.requirement("X-15")
def test_a_bad_row_leaves_its_key_as_it_was_and_the_others_count(deployment: Deployment):
    live = LiveSettings(deployment)
    live.apply_rows([row("llm.max_parallel", "9"), row("llm.chat", "ollama:a")])

    problem = live.apply_rows([row("llm.max_parallel", "none"), row("llm.chat", "ollama:b"), row("gone", "1")])

    assert live.now.llm.max_parallel == 9
    assert live.now.llm.chat == "ollama:b"
    assert problem is not None
    assert "llm.max_parallel" in problem.message
    assert live.apply_rows([]) is None
    assert live.problems == ()


@pytest.mark.requirement("X-14")
def test_a_key_that_needs_a_restart_keeps_its_value_and_says_so(deployment: Deployment):
    live = LiveSettings(deployment)
    told: list[SettingChange] = []
    live.on_change(told.extend)
    edit(deployment, "server:\n  port: 4000\n  shutdown_seconds: 5\n")

    live.reload_file()

    assert live.now.server.port == 11435
    assert live.now.server.shutdown_seconds == 5
    [waiting] = live.needs_restart
    assert (waiting.key, waiting.old, waiting.new) == ("server.port", "11435", "4000")
    assert {(change.key, change.needs_restart) for change in told} == {
        ("server.port", True),
        ("server.shutdown_seconds", False),
    }

    edit(deployment, "server:\n  shutdown_seconds: 5\n")
    live.reload_file()
    assert live.needs_restart == ()


@pytest.mark.requirement("X-12")
def test_a_row_of_a_space_counts_in_that_space_alone(deployment: Deployment):
    live = LiveSettings(deployment)
    live.apply_rows([row("llm.chat", "ollama:all"), row("llm.chat", "ollama:lab", space="lab")])

    assert live.now.llm.chat == "ollama:all"
    assert live.for_space(LAB).llm.chat == "ollama:lab"
    assert live.for_space(SpaceId("main")).llm.chat == "ollama:all"
    assert live.loaded(LAB).setting("llm.chat").source.place == "row `llm.chat` of space `lab`"

    live.apply_rows([], space=LAB)
    assert live.for_space(LAB).llm.chat == "ollama:all"


@pytest.mark.requirement("X-12")
def test_a_key_that_is_not_per_space_has_no_row_of_a_space(deployment: Deployment):
    live = LiveSettings(deployment)

    problem = live.apply_rows([row("llm.max_parallel", "9", space="lab")])

    assert problem is not None
    assert "same for all spaces" in problem.message
    assert live.for_space(LAB).llm.max_parallel == 4


@pytest.mark.requirement("X-14")
def test_subscribers_hear_each_changed_key_once_with_old_new_and_source(deployment: Deployment):
    live = LiveSettings(deployment)
    told: list[SettingChange] = []
    live.on_change(told.extend)
    rows = [row("llm.max_parallel", "9"), row("llm.chat", "ollama:lab", space="lab")]

    live.apply_rows(rows)
    live.apply_rows(rows)

    assert [(change.key, change.old, change.new, change.space) for change in told] == [
        ("llm.max_parallel", "4", "9", "*"),
        ("llm.chat", "", "ollama:lab", "lab"),
    ]
    assert {change.source.kind for change in told} == {SourceKind.TABLE}


@pytest.mark.requirement("X-14")
def test_a_space_without_rows_of_its_own_is_not_told_apart(deployment: Deployment):
    live = LiveSettings(deployment)
    live.apply_rows([row("llm.judge", "ollama:j", space="lab")])
    told: list[SettingChange] = []
    live.on_change(told.extend)

    live.apply_rows([row("llm.chat", "ollama:all"), row("llm.judge", "ollama:j", space="lab")])

    assert [(change.key, change.space) for change in told] == [("llm.chat", "*")]
    assert live.for_space(LAB).llm.chat == "ollama:all"


def test_a_changed_secret_is_never_told(deployment: Deployment):
    live = LiveSettings(deployment)
    told: list[SettingChange] = []
    live.on_change(told.extend)
    edit(deployment, f"proxy: {{upstream_key: {CANARY}}}")

    with structlog.testing.capture_logs() as logs:
        live.reload_file()

    assert [(change.key, change.new) for change in told] == [("proxy.upstream_key", "set (…9921)")]
    assert CANARY not in repr(told) + repr(logs) + repr(live.loaded().settings())


@pytest.mark.requirement("X-12")
def test_rows_of_a_starting_process_are_taken_whole(deployment: Deployment):
    live = LiveSettings(deployment)
    live.apply_rows_at_start([row("embedding.model", "hashed:64"), row("llm.chat", "ollama:x")])

    assert live.now.embedding.model == "hashed:64"
    assert live.now.llm.chat == "ollama:x"
    assert live.needs_restart == ()


@pytest.mark.requirement("X-15")
def test_a_row_that_does_not_fit_is_told_and_the_others_count_at_a_start(deployment: Deployment):
    live = LiveSettings(deployment)

    problem = live.apply_rows_at_start([row("llm.chatt", "x"), row("llm.chat", "ollama:x")])

    assert problem is not None
    assert "llm.chat" in problem.message
    assert live.problem == problem
    assert live.now.llm.chat == "ollama:x"


@pytest.mark.requirement("X-13")
@pytest.mark.parametrize(
    ("pins", "named"),
    [
        ({"environment": {"FESTINGER_LLM__CHAT": "ollama:env"}}, "environment FESTINGER_LLM__CHAT"),
        ({"command_line": {"llm.chat": "ollama:env"}}, "command line llm.chat"),
    ],
)
def test_what_the_deployment_pins_cannot_be_changed(deployment: Deployment, pins: dict[str, Any], named: str):
    live = LiveSettings(replace(deployment, **pins))

    with pytest.raises(SettingPinned, match=named) as refusal:
        live.change("chat", "ollama:other")
    live.apply_rows([row("llm.chat", "ollama:row"), row("llm.chat", "ollama:lab", space="lab")])

    assert refusal.value.http == 409
    assert live.now.llm.chat == "ollama:env"
    assert live.for_space(LAB).llm.chat == "ollama:env"


@pytest.mark.requirement("X-12")
def test_a_change_is_checked_and_named_in_full_but_in_force_only_when_its_row_comes_back(deployment: Deployment):
    live = LiveSettings(deployment)

    checked = live.change("max_parallel", "9")

    assert checked == row("llm.max_parallel", "9")
    assert live.now.llm.max_parallel == 4
    live.apply_rows([checked])
    assert live.now.llm.max_parallel == 9


@pytest.mark.requirement("X-12")
@pytest.mark.parametrize(
    ("name", "text", "space"),
    [
        ("llm.max_parallel", "0", "*"),
        ("llm.max_parallel", "9", "lab"),
        ("store.pool_max", "9", "*"),
        ("proxy.upstream_key", CANARY, "*"),
        ("store.backup_schedule", "61 * * * *", "*"),
    ],
)
def test_an_unfit_change_is_refused(deployment: Deployment, name: str, text: str, space: str):
    with pytest.raises(BadSetting):
        LiveSettings(deployment).change(name, text, space=SpaceId(space))


def test_a_list_goes_through_a_row_and_back(deployment: Deployment):
    live = LiveSettings(deployment)
    live.apply_rows([live.change("server.hosts", ["a.example", "b.example"])])

    assert live.now.server.hosts == ("a.example", "b.example")
