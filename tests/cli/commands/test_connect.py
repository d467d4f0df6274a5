"""`festinger connect` and `festinger disconnect`."""

import json

import pytest
from tests.cli.shell import Shell


@pytest.mark.requirement("I-20")
def test_connecting_makes_one_key_that_only_serves_hooks_and_disconnecting_revokes_it(shell: Shell):
    folder = shell.home / "festinger" / "hooks"
    first = shell("connect", "claude-code", "--json")
    made = json.loads((folder / "connection.json").read_bytes())
    shell("connect", "cursor")
    keys = shell("keys", "--json").json
    shell("disconnect", "claude-code")
    still = shell("keys", "--json").json
    last = shell("disconnect", "cursor", "--json")

    assert first.code == 0
    assert {each["change"] for each in first.json} == {"created"}
    assert (folder / "connection.json").exists() is False
    assert [(key["name"], key["role"], key["space"]) for key in keys] == [("hooks", "hook", "main")]
    assert keys[0]["id"] == made["id"]
    assert still[0]["revoked_at"] is None
    assert {each["change"] for each in last.json} == {"removed"}
    assert shell("keys", "--json").json[0]["revoked_at"]


@pytest.mark.requirement("I-20")
def test_all_connects_what_is_installed_and_a_broken_file_stops_only_its_own_tool(shell: Shell):
    (shell.home / ".codex").mkdir()
    (shell.home / ".cursor").mkdir()
    (shell.home / ".cursor" / "mcp.json").write_text("{broken")
    said = shell("connect", "all", "--json")
    single = shell("connect", "cursor")

    assert said.code == 2
    assert {each["tool"] for each in said.json} == {"codex"}
    assert "claude-code: not installed here." in said.err
    assert "mcp.json` is left as it is: This is not JSON." in said.err
    assert "open `/hooks` there" in said.err
    assert single.code == 2
    assert [path.name for path in (shell.home / ".cursor").iterdir()] == ["mcp.json"]


@pytest.mark.requirement("I-20")
def test_a_dry_run_shows_the_changes_and_makes_none(shell: Shell):
    said = shell("connect", "opencode", "--dry-run", "--json")

    assert {each["change"] for each in said.json} == {"created"}
    assert '+    "festinger": {' in said.err
    assert not (shell.home / ".config").exists()
    assert shell("keys", "--json").json == []


@pytest.mark.requirement("I-20")
def test_a_lost_connection_gets_a_new_key_and_a_project_is_connected_alone(shell: Shell):
    project = shell.home / "project"
    project.mkdir()
    shell("connect", "claude-code", "--project", "project")
    (shell.home / "festinger" / "hooks" / "connection.json").unlink()
    shell("connect", "claude-code", "--project", str(project))
    keys = shell("keys", "--json").json
    rows = shell("connect", "status", "--json").json
    shell("disconnect", "claude-code", "--project", "project")

    assert [bool(key["revoked_at"]) for key in keys] == [True, False]
    assert str(project / ".mcp.json") in rows[0]["files"]
    assert rows[0]["answered"] == 0
    assert not (shell.home / ".claude").exists()
    assert [path for path in project.rglob("*") if path.is_file()] == []


def test_status_cannot_be_disconnected(shell: Shell):
    assert shell("disconnect", "status").code == 2
