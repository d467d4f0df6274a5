"""Words that somebody asked to forget, in files that wait for the store."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from festinger.store.repositories.request_log import BAD, decode_spool_line, encode_spool_line, erase_words_in_spool
from festinger.text.blocks import MARK, build_erasure_patterns

SECRET = "The spare key hangs behind the quokka painting"
CUTS = list(build_erasure_patterns([SECRET]))


def written(path: Path, *texts: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(encode_spool_line(json.dumps({"said": [text], "n": 1}).encode()) for text in texts))
    return path


@pytest.mark.requirement("M-82")
def test_files_that_nobody_holds_are_cut_and_their_records_stay_whole(tmp_path: Path):
    left = written(tmp_path / "a.spool", f"She said: {SECRET.upper()}!", "Nothing of it here.")
    other = written(tmp_path / "b.spool", "Nothing of it here.")
    before = other.read_bytes()

    assert erase_words_in_spool(tmp_path, CUTS) == 1

    records = [decode_spool_line(line) for line in left.read_bytes().splitlines()]
    assert [json.loads(record) for record in records if isinstance(record, bytes)] == [
        {"said": [f"She said: {MARK}!"], "n": 1},
        {"said": ["Nothing of it here."], "n": 1},
    ]
    assert other.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.spool", "b.spool"]
    assert left.stat().st_mode & 0o077 == 0


def test_lines_that_were_set_aside_are_cut_as_they_stand(tmp_path: Path):
    (tmp_path / BAD).write_bytes(b"torn \xff " + SECRET.encode() + b" and more\n")

    assert erase_words_in_spool(tmp_path, CUTS) == 1

    assert (tmp_path / BAD).read_bytes() == b"torn \xff " + MARK.encode() + b" and more\n"


def test_a_file_of_a_living_process_is_left_to_it(tmp_path: Path):
    held = written(tmp_path / "a.spool", SECRET)
    before = held.read_bytes()
    handle = os.open(held, os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        assert erase_words_in_spool(tmp_path, CUTS) == 0
    finally:
        os.close(handle)

    assert held.read_bytes() == before


def test_without_a_folder_or_words_nothing_is_looked_at(tmp_path: Path):
    written(tmp_path / "spool" / "a.spool", SECRET)

    assert erase_words_in_spool(tmp_path / "nowhere", CUTS) == 0
    assert erase_words_in_spool(tmp_path / "spool", []) == 0
