"""The hook command: which project it speaks for, and that nothing it meets disturbs the agent."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from festinger.integrations.hook import find_project_agent

HOOK = Path(sys.executable).with_name("festinger-hook")


def hook(*arguments: str, stdin: str = "", **options: object) -> tuple[int, str, str]:
    done = subprocess.run([HOOK, *arguments], input=stdin, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    return done.returncode, done.stdout, done.stderr


@pytest.mark.requirement("I-21")
def test_worktrees_and_folders_of_a_repository_share_its_root(tmp_path: Path):
    repository, bare, module = tmp_path / "repository", tmp_path / "bare.git", tmp_path / "repository" / "module"
    (repository / ".git" / "worktrees" / "quay").mkdir(parents=True)
    (repository / "src" / "deep").mkdir(parents=True)
    module.mkdir()
    (module / ".git").write_text("gitdir: ../.git/modules/module\n")
    trees = {"quay": "../repository/.git/worktrees/quay", "pier": f"{bare}/worktrees/pier"}
    for name, target in trees.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / ".git").write_text(f"gitdir: {target}\n")
    (tmp_path / "link").symlink_to(repository / "src")

    assert find_project_agent(str(repository / "src" / "deep")) == str(repository)
    assert find_project_agent(str(tmp_path / "quay")) == str(repository)
    assert find_project_agent(str(tmp_path / "pier")) == str(bare)
    assert find_project_agent(str(module)) == str(module)
    assert find_project_agent(str(tmp_path / "link")) == str(repository)
    assert find_project_agent(str(tmp_path)) == str(tmp_path)


@pytest.mark.requirement("I-21")
@pytest.mark.parametrize(
    "stdin",
    ["", "nonsense", "[]", "{}", '{"hook_event_name": "Unknown", "session_id": "s"}', '{"hook_event_name": "Stop"}'],
)
def test_input_that_cannot_be_read_ends_in_silence(stdin: str, tmp_path: Path):
    assert hook("claude-code", str(tmp_path), stdin=stdin) == (0, "", "")
    assert (tmp_path / "claude-code.tally").read_bytes() == b"f"


@pytest.mark.requirement("I-21")
def test_without_arguments_a_folder_or_a_reader_it_ends_in_silence(tmp_path: Path):
    payload = json.dumps({"hook_event_name": "Stop", "session_id": "s", "cwd": "/"})
    (tmp_path / "connection.json").write_text("nonsense")
    read, write = os.pipe()
    os.close(read)
    closed = subprocess.run([HOOK, "codex", tmp_path], input=payload, text=True, stdout=write, check=False)
    os.close(write)

    assert hook() == (0, "", "")
    assert hook("codex", str(tmp_path / "missing"), stdin=payload) == (0, "", "")
    assert hook("codex", str(tmp_path), stdin=payload) == (0, "", "")
    assert closed.returncode == 0


@pytest.mark.requirement("I-21")
def test_a_tool_that_never_closes_its_input_is_not_waited_for(tmp_path: Path):
    with subprocess.Popen([HOOK, "cursor", tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.read() == b""
        assert running.wait() == 0

    assert (tmp_path / "cursor.tally").read_bytes() == b"l"


@pytest.mark.requirement("I-21")
def test_it_imports_next_to_nothing():
    program = (
        "import sys; import festinger.integrations.hook; print(*sorted(n for n in sys.modules if 'festinger' in n))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    heavy = subprocess.run(
        [
            sys.executable,
            "-c",
            program.replace("'festinger' in n", "n in ('asyncio', 'http', 'urllib', 'ssl', 'email')"),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    assert loaded == ["festinger", "festinger.integrations", "festinger.integrations.hook"]
    assert heavy == []
