"""What a person gets to read when something is wrong before anything runs."""

import stat
from pathlib import Path

import pytest
from tests.cli.shell import Shell

from festinger.store.migration import ServerVersions


def two_lines(err: str) -> tuple[str, str]:
    message, hint = err.splitlines()
    return message, hint


@pytest.mark.requirement("X-106")
def test_a_settings_file_that_is_half_written_is_named_with_its_line(shell: Shell):
    (shell.home / "festinger.yaml").write_text("server:\n  port: 80\n  host: [\n")
    said = shell("status")

    assert said.code == 2
    message, hint = two_lines(said.err)
    assert "festinger.yaml" in message
    assert hint


@pytest.mark.requirement("X-106")
def test_a_key_file_that_others_can_read_stops_every_command(shell: Shell):
    shell("status")
    key = Path(shell("settings", "get", "secrets.key_file").out.strip()).expanduser()
    key.chmod(0o644)

    for path in ("status", "serve --port 1"):
        said = shell(*path.split())
        message, hint = two_lines(said.err)
        assert said.code == 5
        assert str(key) in message
        assert "0600" in hint or "chmod" in hint
    assert stat.S_IMODE(key.stat().st_mode) == 0o644


@pytest.mark.requirement("X-106")
def test_a_key_file_that_is_broken_is_named(shell: Shell):
    shell("status")
    key = Path(shell("settings", "get", "secrets.key_file").out.strip()).expanduser()
    key.write_text("not a key")
    said = shell("status")

    assert said.code == 5 or said.code == 2
    message, hint = two_lines(said.err)
    assert str(key) in message
    assert hint


@pytest.mark.requirement("X-106")
def test_a_home_that_cannot_be_written_is_named_and_nothing_is_left_running(person: Path):
    blocked = person / "blocked"
    blocked.write_text("a file where the home should be")
    shell = Shell(home=person, database=None, environment={"FESTINGER_HOME": str(blocked / "home")})
    said = shell.real("status")

    assert said.code == 5
    message, hint = two_lines(said.err)
    assert str(blocked) in message
    assert "FESTINGER_HOME" in hint
    assert blocked.read_text() == "a file where the home should be"


@pytest.mark.requirement("X-106")
def test_a_server_of_the_wrong_version_is_refused_with_what_would_fit(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    async def old(_connection: object) -> ServerVersions:
        return ServerVersions(postgres=140_012, installed="0.8.0", available="0.8.0")

    monkeypatch.setattr("festinger.store.migration.read_server_versions", old)
    said = shell("status")

    assert said.code == 5
    message, hint = two_lines(said.err)
    assert "14" in message
    assert hint
