import base64
import os
import threading
from pathlib import Path

import pytest

from festinger.errors import BadSetting, CannotStart, KeyFileExposed
from festinger.settings.master_key import (
    KEY_BYTES,
    VARIABLE,
    MasterKey,
    delete_next_key,
    ensure_master_key,
    generate_master_key,
    next_key_path,
    read_key_file,
    replace_with_next_key,
    system_entropy,
    write_key_file,
)

GIVEN = bytes(range(KEY_BYTES))


def found(folder: Path, environment: dict[str, str] | None = None) -> MasterKey:
    return ensure_master_key(environment or {}, folder / "config" / "key", data=folder / "data", entropy=system_entropy)


@pytest.mark.requirement("X-91", "W-60")
def test_the_first_start_makes_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    key = found(tmp_path)

    file = tmp_path / "config" / "key"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o077 == 0
    assert base64.b64decode(file.read_bytes()) == key.raw
    assert [entry.name for entry in file.parent.iterdir()] == ["key"]


@pytest.mark.requirement("X-91")
def test_the_second_start_finds_the_same_key(tmp_path: Path) -> None:
    assert found(tmp_path).raw == found(tmp_path).raw


@pytest.mark.requirement("X-91")
def test_the_environment_comes_before_the_file_and_leaves_none_behind(tmp_path: Path) -> None:
    key = found(tmp_path, {VARIABLE: base64.b64encode(GIVEN).decode()})

    assert key.raw == GIVEN
    assert key.file is None
    assert not (tmp_path / "config").exists()


@pytest.mark.requirement("X-91")
@pytest.mark.parametrize("text", ["not base64!", base64.b64encode(b"too short").decode(), "A" * 100])
def test_a_wrong_key_in_the_environment_stops_the_start_without_being_shown(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadSetting) as raised:
        found(tmp_path, {VARIABLE: text})
    assert text not in str(raised.value) + raised.value.hint


@pytest.mark.requirement("X-91")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666])
def test_a_file_that_others_could_use_stops_the_start(tmp_path: Path, mode: int) -> None:
    found(tmp_path)
    (tmp_path / "config" / "key").chmod(mode)

    with pytest.raises(KeyFileExposed, match=f"{mode:04o}"):
        found(tmp_path)


@pytest.mark.requirement("X-91")
def test_a_link_stops_the_start_even_if_it_leads_to_a_good_file(tmp_path: Path) -> None:
    found(tmp_path)
    real = tmp_path / "elsewhere"
    (tmp_path / "config" / "key").rename(real)
    (tmp_path / "config" / "key").symlink_to(real)

    with pytest.raises(KeyFileExposed, match="link"):
        found(tmp_path)


@pytest.mark.requirement("X-91")
def test_a_link_that_leads_nowhere_stops_the_start_too(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "key").symlink_to(tmp_path / "nowhere")

    with pytest.raises(KeyFileExposed):
        found(tmp_path)
    assert not (tmp_path / "nowhere").exists()


def test_a_pipe_in_place_of_the_file_is_refused_without_waiting(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    os.mkfifo(tmp_path / "config" / "key", 0o600)

    with pytest.raises(KeyFileExposed, match="plain file"):
        found(tmp_path)


@pytest.mark.requirement("X-91", "W-60")
@pytest.mark.parametrize("inside", ["data/key", "data/deep/er/key"])
def test_the_key_never_lies_in_the_data_directory(tmp_path: Path, inside: str) -> None:
    with pytest.raises(BadSetting, match="data directory"):
        ensure_master_key({}, tmp_path / inside, data=tmp_path / "data", entropy=system_entropy)
    assert not (tmp_path / inside).exists()


def test_a_way_round_through_a_link_into_the_data_directory_is_seen(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "data")

    with pytest.raises(BadSetting, match="data directory"):
        ensure_master_key({}, tmp_path / "way" / "key", data=tmp_path / "data", entropy=system_entropy)


@pytest.mark.requirement("X-91")
def test_a_damaged_file_is_neither_used_nor_replaced(tmp_path: Path) -> None:
    found(tmp_path)
    file = tmp_path / "config" / "key"
    file.write_bytes(file.read_bytes()[:20])

    with pytest.raises(CannotStart) as raised:
        found(tmp_path)
    assert len(file.read_bytes()) == 20
    assert "set again" in raised.value.hint


def test_many_first_starts_at_once_agree_on_one_key(tmp_path: Path) -> None:
    keys: list[bytes] = []
    gate = threading.Barrier(8)

    def start() -> None:
        gate.wait()
        keys.append(found(tmp_path).raw)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(keys) == 8
    assert len(set(keys)) == 1


@pytest.mark.requirement("X-92")
def test_a_waiting_key_replaces_the_present_one_or_goes(tmp_path: Path) -> None:
    old = found(tmp_path)
    new = generate_master_key(system_entropy)
    file = tmp_path / "config" / "key"

    write_key_file(next_key_path(file), new)
    assert read_key_file(file).raw == old.raw
    delete_next_key(file)
    assert not next_key_path(file).exists()

    write_key_file(next_key_path(file), new)
    replace_with_next_key(file)
    assert read_key_file(file).raw == new.raw
    assert not next_key_path(file).exists()


@pytest.mark.requirement("X-03")
def test_the_key_comes_from_the_injected_randomness(tmp_path: Path) -> None:
    key = ensure_master_key({}, tmp_path / "key", data=tmp_path / "data", entropy=lambda count: b"k" * count)

    assert key.raw == b"k" * KEY_BYTES
