from pathlib import Path

import pytest
from tests.cli.shell import Shell


@pytest.mark.requirement("X-92")
def test_rotating_seals_every_secret_with_a_new_key(shell: Shell):
    shell("models", "add", "openai", "tiny", "--key", typed="sk-abcdefghijklmnop1234\n")
    file = Path(shell("settings", "get", "secrets.key_file").out.strip()).expanduser()
    before = file.read_text()
    rotated = shell("secrets", "rotate", "--json").json

    assert rotated == {"moved": 1, "unreadable": 0, "file": str(file)}
    assert file.read_text() != before
    assert "…1234" in shell("models").out
    assert "master_key_rotated" in shell("events").out
    file.write_text(before)
    assert "…1234" not in shell("models").out


def test_rotating_says_that_running_servers_must_be_restarted(shell: Shell):
    said = shell("secrets", "rotate")

    assert "Restart every running server" in said.err
