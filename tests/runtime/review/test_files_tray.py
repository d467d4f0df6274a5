"""How are the sheets of a folder read and written?"""

import os
from pathlib import Path

import pytest

from festinger.errors import Refused
from festinger.runtime.review.files import LARGEST, InboxFolder


@pytest.fixture
def tray(tmp_path: Path) -> InboxFolder:
    made = InboxFolder(tmp_path / "inbox")
    made.open()
    return made


def why(tray: InboxFolder) -> list[str]:
    return [page.refused for page in tray.pages()]


@pytest.mark.requirement("H-84")
def test_the_folder_and_its_sheets_are_their_owners_alone(tray: InboxFolder):
    tray.folder.chmod(0o755)

    tray.open()
    tray.write("a.md", "hello")

    assert tray.folder.stat().st_mode & 0o777 == 0o700
    assert (tray.folder / "a.md").stat().st_mode & 0o777 == 0o600
    assert [(page.name, page.text) for page in tray.pages()] == [("a.md", "hello")]


@pytest.mark.requirement("H-84")
@pytest.mark.parametrize("name", ["a.md~", ".a.md.swp", ".#a.md", "#a.md#", "a.txt", "4913", ".a.md.tmp"])
def test_what_editors_leave_behind_is_not_looked_at(tray: InboxFolder, name: str):
    (tray.folder / name).write_text("verdict: approve")

    assert tray.pages() == []


@pytest.mark.requirement("H-84")
def test_links_large_files_other_owners_and_broken_texts_are_refused(
    tray: InboxFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "secret").write_text("secret")
    (tray.folder / "1.md").symlink_to(tmp_path / "secret")
    (tray.folder / "2.md").write_bytes(b"x" * (LARGEST + 1))
    (tray.folder / "3.md").write_bytes(b"\xff\xfe\xfa")
    os.mkfifo(tray.folder / "4.md")
    assert why(tray) == ["link or not readable", "too large", "not UTF-8", "no plain file"]

    (tray.folder / "5.md").write_text("mine")
    monkeypatch.setattr("festinger.runtime.review.files.os.geteuid", lambda: os.getuid() + 1)

    assert why(tray)[-1] == "of another user"


def test_what_is_done_is_put_aside_and_replaces_nothing(tray: InboxFolder):
    for text in ("one", "two"):
        tray.write("a.md", text)
        tray.finish("a.md", text)

    assert tray.pages() == []
    assert (tray.folder / "done" / "a.md").read_text() == "one"
    assert (tray.folder / "done" / "a-2.md").read_text() == "two"


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "inbox").symlink_to(tmp_path / "real")

    with pytest.raises(Refused):
        InboxFolder(tmp_path / "inbox").open()
