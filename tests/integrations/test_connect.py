"""Configuration files of coding agents: ours goes in and out, and the rest stays as it was."""

import json
import tomllib
from pathlib import Path

import pytest

from festinger.errors import BadInput
from festinger.integrations.connect import (
    TOOLS,
    InstalledCommands,
    ToolConfigLocation,
    build_edits,
    plan_changes,
    write_config_changes,
)

JSON = '{\n    "theirs": {"keep": [1, 2]},  // a comment\n    "hooks": {},\n}\n'
TOML = '# mine\nmodel = "m"  # small\n\n[mcp_servers.other]\ncommand = "x"\n\n[profiles.a]\nmodel = "n"\n'
SERVERS = {"claude-code": ".claude.json", "codex": ".codex/config.toml", "cursor": ".cursor/mcp.json"}


def change(person: Path, tool: str, *, connect: bool = True, project: Path | None = None, **environment: str):
    """Connect or disconnect; what was changed."""
    place = ToolConfigLocation(tool=tool, person=person, project=project, environment=environment)
    folder = person / "festinger" / "hooks"
    commands = InstalledCommands(
        festinger=Path("/opt/bin/festinger"), hook=Path("/opt/bin/festinger-hook"), folder=folder
    )
    changes = plan_changes(build_edits(place, commands), folder, connect=connect)
    write_config_changes(tool, changes, folder, connect=connect)
    return changes


def contents(person: Path) -> dict[str, bytes]:
    """Every file of a person but ours."""
    found = (path for path in person.rglob("*") if path.is_file() and "festinger/hooks" not in str(path))
    return {str(path.relative_to(person)): path.read_bytes() for path in found}


def write_theirs(person: Path, tool: str) -> None:
    """A configuration that a person already has, in every file that we touch except our own."""
    for each in change(person, tool):
        text = TOML if each.path.suffix == ".toml" else JSON
        each.path.unlink()
        if each.path.suffix not in (".md", ".js"):
            each.path.write_bytes(text.encode())
    (person / "festinger" / "hooks" / "connected.json").unlink()


@pytest.mark.requirement("I-20")
@pytest.mark.parametrize("tool", TOOLS)
def test_files_that_nobody_changed_get_their_bytes_back(tool: str, tmp_path: Path):
    write_theirs(tmp_path, tool)
    before = contents(tmp_path)
    changes = change(tmp_path, tool)
    connected = contents(tmp_path)
    again = change(tmp_path, tool)
    unchanged = contents(tmp_path)
    change(tmp_path, tool, connect=False)

    assert {each.action for each in changes} == {"changed", "created"}
    assert {each.action for each in again} == {"unchanged"}
    assert connected == unchanged != before
    assert contents(tmp_path) == before


@pytest.mark.requirement("I-20")
@pytest.mark.parametrize("tool", TOOLS)
def test_files_that_did_not_exist_are_gone_again(tool: str, tmp_path: Path):
    change(tmp_path, tool)
    assert contents(tmp_path)
    change(tmp_path, tool, connect=False)

    assert contents(tmp_path) == {}


@pytest.mark.requirement("I-20")
@pytest.mark.parametrize("tool", TOOLS)
def test_from_files_that_were_changed_since_only_ours_is_removed(tool: str, tmp_path: Path):
    write_theirs(tmp_path, tool)
    before = contents(tmp_path)
    for each in change(tmp_path, tool):
        text = each.path.read_text()
        if each.path.suffix == ".toml":
            each.path.write_text(text + '\n[added]\nlater = "yes"\n')
        elif each.path.suffix.startswith(".json"):
            each.path.write_text(text.replace('"theirs"', '"added": {"later": "yes"},\n    "theirs"'))
    change(tmp_path, tool)
    again = change(tmp_path, tool)
    change(tmp_path, tool, connect=False)

    left = contents(tmp_path)
    assert {each.action for each in again} == {"unchanged"}
    assert left.keys() == before.keys()
    for path, content in left.items():
        assert b"later" in content
        assert b"festinger" not in content
        assert (b"# mine" if path.endswith(".toml") else b"// a comment") in content


@pytest.mark.requirement("I-20")
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("content", ["{nonsense", '["foreign", 1]', '{"hooks": 1, "mcpServers": 1, "mcp": 1}', "\x80"])
def test_a_broken_or_foreign_file_leaves_every_file_of_the_tool_untouched(tool: str, content: str, tmp_path: Path):
    write_theirs(tmp_path, tool)
    for path in (tmp_path / name for name in contents(tmp_path)):
        good = path.read_bytes()
        path.write_bytes(content.encode("latin-1"))
        before = contents(tmp_path)
        with pytest.raises(BadInput, match=path.name):
            change(tmp_path, tool)
        assert contents(tmp_path) == before
        path.write_bytes(good)


@pytest.mark.requirement("I-20")
def test_a_read_only_file_and_another_server_of_our_name_are_left_alone(tmp_path: Path):
    settings, servers = tmp_path / ".claude" / "settings.json", tmp_path / ".claude.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    settings.chmod(0o444)
    with pytest.raises(BadInput, match="read-only"):
        change(tmp_path, "claude-code")
    settings.chmod(0o644)
    servers.write_text('{"mcpServers": {"festinger": {"command": "npx", "args": ["festinger-mcp"]}}}')
    with pytest.raises(BadInput, match="not ours"):
        change(tmp_path, "claude-code")
    skill = tmp_path / ".cursor" / "skills" / "festinger" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("mine")
    with pytest.raises(BadInput, match="not ours"):
        change(tmp_path, "cursor")

    assert settings.read_text() == "{}"
    assert skill.read_text() == "mine"


def test_a_link_stays_a_link_and_a_mode_stays(tmp_path: Path):
    dotfiles = tmp_path / "dotfiles.json"
    dotfiles.write_text("{}")
    dotfiles.chmod(0o640)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").symlink_to(dotfiles)
    change(tmp_path, "claude-code")

    assert (tmp_path / ".claude" / "settings.json").is_symlink()
    assert "festinger-hook" in dotfiles.read_text()
    assert dotfiles.stat().st_mode & 0o777 == 0o640


def test_backups_are_private(tmp_path: Path):
    write_theirs(tmp_path, "codex")
    change(tmp_path, "codex")

    kept = list((tmp_path / "festinger" / "hooks").iterdir())
    assert len(kept) == 3
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}


@pytest.mark.requirement("I-20")
@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_gets_hooks_a_server_and_a_skill_where_it_looks_for_them(tool: str, tmp_path: Path):
    project = tmp_path / "project"
    change(tmp_path, tool)
    change(tmp_path, tool, project=project)
    found = contents(tmp_path)

    expected = {
        "claude-code": {".claude/settings.json", ".claude.json", ".claude/skills/festinger/SKILL.md"}
        | {"project/.claude/settings.local.json", "project/.mcp.json", "project/.claude/skills/festinger/SKILL.md"},
        "codex": {".codex/hooks.json", ".codex/config.toml", ".agents/skills/festinger/SKILL.md"}
        | {
            f"project/{name}"
            for name in (".codex/hooks.json", ".codex/config.toml", ".agents/skills/festinger/SKILL.md")
        },
        "cursor": {".cursor/hooks.json", ".cursor/mcp.json", ".cursor/skills/festinger/SKILL.md"}
        | {f"project/.cursor/{name}" for name in ("hooks.json", "mcp.json", "skills/festinger/SKILL.md")},
        "opencode": {
            f".config/opencode/{name}"
            for name in ("plugins/festinger.js", "opencode.json", "skills/festinger/SKILL.md")
        }
        | {
            "project/opencode.json",
            "project/.opencode/plugins/festinger.js",
            "project/.opencode/skills/festinger/SKILL.md",
        },
    }[tool]
    assert found.keys() == expected


def test_the_entries_have_the_form_that_each_tool_reads(tmp_path: Path):
    for tool in TOOLS:
        change(tmp_path, tool)
    claude = json.loads((tmp_path / ".claude/settings.json").read_bytes())["hooks"]
    codex = tomllib.loads((tmp_path / ".codex/config.toml").read_text())
    cursor = json.loads((tmp_path / ".cursor/hooks.json").read_bytes())
    opencode = json.loads((tmp_path / ".config/opencode/opencode.json").read_bytes())

    command = f"/opt/bin/festinger-hook claude-code {tmp_path}/festinger/hooks"
    assert claude["Stop"] == [{"hooks": [{"type": "command", "command": command, "timeout": 2}]}]
    assert codex == {"mcp_servers": {"festinger": {"command": "/opt/bin/festinger", "args": ["mcp", "--here"]}}}
    assert cursor["version"] == 1
    assert cursor["hooks"]["stop"] == [{"command": command.replace("claude-code", "cursor"), "timeout": 2}]
    assert opencode["mcp"]["festinger"] == {
        "type": "local",
        "command": ["/opt/bin/festinger", "mcp", "--here"],
        "enabled": True,
    }


def test_folders_that_a_person_moved_are_found(tmp_path: Path):
    change(tmp_path, "claude-code", CLAUDE_CONFIG_DIR=str(tmp_path / "c"))
    change(tmp_path, "codex", CODEX_HOME=str(tmp_path / "x"))
    change(tmp_path, "opencode", XDG_CONFIG_HOME=str(tmp_path / "o"))

    assert {"c/settings.json", "c/.claude.json", "x/config.toml", "o/opencode/opencode.json"} <= contents(
        tmp_path
    ).keys()
