import os
import pty
import stat
from pathlib import Path

import pytest
from tests.cli.shell import PATIENCE_S, Shell

from festinger.store.backup.backup import read_manifest


@pytest.mark.requirement("X-37", "X-38")
def test_a_backup_comes_back_by_command_with_what_was_there_before_saved(shell: Shell):
    shell("settings", "set", "jobs.max_waiting", "700")
    saved = shell("backup", "monday.dump")
    told = shell("events", "--name", "backup_made")
    shell("settings", "set", "jobs.max_waiting", "900")
    shell("keys", "make", "later")
    restored = shell("restore", "monday.dump", "--replace", "--yes", "--json")

    assert saved.code == 0, saved.err
    assert "file=monday.dump" in told.out
    assert "master key is not in it" in saved.err
    assert stat.S_IMODE((shell.home / "monday.dump").stat().st_mode) == 0o600
    assert read_manifest(shell.home / "monday.dump").rows > 0
    assert restored.code == 0, restored.err
    assert Path(restored.json["before"]).exists()
    assert shell("settings", "get", "jobs.max_waiting").out == "700\n"
    assert shell("keys", "--json").json == []
    assert "restored" in shell("events", "--name", "restored").out


@pytest.mark.requirement("X-37", "X-38")
def test_a_backup_is_never_replaced_and_a_store_only_on_request(shell: Shell):
    shell("backup", "monday.dump")

    assert shell("backup", "monday.dump").code == 4
    refused = shell("restore", "monday.dump")
    assert refused.code == 4
    assert "--replace" in refused.err
    asked = shell("restore", "monday.dump", "--replace")
    assert asked.code == 2
    assert "rows are replaced by the" in asked.err
    assert shell("restore", "tuesday.dump").code in (2, 3)


def test_a_person_types_replace(shell: Shell):
    shell("backup", "monday.dump")
    shell("keys", "make", "later")
    screen, keyboard = pty.openpty()
    running = shell.process("restore", "monday.dump", "--replace", stdin=keyboard)
    os.write(screen, b"replace\n")
    _out, asked = running.communicate(timeout=PATIENCE_S)
    os.close(screen)
    os.close(keyboard)

    assert running.returncode == 0, asked
    assert "Type `replace` to go on: " in asked
    assert shell("keys", "--json").json == []
