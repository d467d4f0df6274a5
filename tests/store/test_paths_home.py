import os
import stat
from pathlib import Path

import pytest

from festinger.errors import CannotStart
from festinger.store.paths import (
    ROOT_HOME,
    config_directory,
    default_home,
    explain_os_errors,
    make_folder,
    open_private_file,
    suggest_remedy,
)

PERSON = Path("/home/ada")


@pytest.mark.requirement("X-22")
def test_root_keeps_its_data_where_services_do_and_everybody_else_at_home() -> None:
    assert default_home(euid=0, person=Path("/root")) == ROOT_HOME == Path("/var/lib/festinger")
    assert default_home(euid=1000, person=PERSON) == PERSON / ".local" / "share" / "festinger"
    assert config_directory(person=PERSON) == PERSON / ".config" / "festinger"


@pytest.mark.requirement("X-22")
def test_missing_parents_get_the_mode_too_and_standing_ones_keep_theirs(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    umask = os.umask(0o077)
    try:
        assert make_folder(tmp_path / "a" / "b", mode=0o710)
    finally:
        os.umask(umask)
    assert not make_folder(tmp_path / "a", mode=0o700)

    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")] == [
        0o755,
        0o710,
        0o710,
    ]


def test_a_link_in_the_place_of_a_private_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic link"):
        open_private_file(tmp_path / "link", 0o102)


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        ("could not write: No space left on device", "Free some space"),
        ("Disk quota exceeded", "Free some space"),
        ("Read-only file system", "read-only"),
        ("Permission denied", "writable"),
        ("Operation not permitted", "writable"),
        ("File name too long", "shorter path"),
        ("something else", "Look at"),
    ],
)
def test_each_complaint_of_a_disk_has_its_advice(reason: str, advice: str) -> None:
    assert advice in suggest_remedy(reason, PERSON)


def test_a_file_system_error_becomes_a_start_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="too long") as refusal, explain_os_errors(tmp_path):
        (tmp_path / ("n" * 300)).mkdir()

    assert "shorter" in refusal.value.hint
