import os
from pathlib import Path

import pytest

from festinger.errors import CannotStart
from festinger.store.embedded import start as module
from festinger.store.embedded.programs import Account
from festinger.store.embedded.start import (
    LONGEST_PATH,
    SOCKET_NAME,
    ensure_socket_folder,
    is_private,
    is_usable_socket_folder,
    remove_stale_socket,
    short_socket_parents,
)
from festinger.store.paths import HomeLayout

ME = Account(name="me", uid=os.geteuid(), gid=os.getegid())


@pytest.mark.requirement("X-21")
@pytest.mark.parametrize(("length", "fitting"), [(LONGEST_PATH, True), (LONGEST_PATH + 1, False)])
def test_a_socket_s_path_may_have_a_hundred_bytes(length: int, fitting: bool) -> None:
    folder = Path("/" + "h" * (length - len(f"//{SOCKET_NAME}")))

    assert len(str(folder / SOCKET_NAME)) == length
    assert is_usable_socket_folder(folder) is fitting


def test_bytes_count_and_not_letters() -> None:
    assert is_usable_socket_folder(Path("/" + "u" * 60))
    assert not is_usable_socket_folder(Path("/" + "ü" * 60))


def test_a_comma_means_another_host_to_clients() -> None:
    assert not is_usable_socket_folder(Path("/a,b"))


@pytest.mark.requirement("X-21")
def test_a_folder_that_somebody_laid_in_our_way_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = HomeLayout(home=tmp_path / ("d" * 120))
    far.home.mkdir()
    places = [tmp_path / "one", tmp_path / "two"]
    for place in places:
        place.mkdir()
    monkeypatch.setattr(module, "short_socket_parents", lambda _environment, euid: places)
    monkeypatch.setattr(module, "is_usable_socket_folder", lambda folder: folder != far.socket)
    first = ensure_socket_folder(far, account=ME)
    assert first.parent == places[0]
    assert is_private(first, ME)
    assert not is_private(first, Account(name="other", uid=ME.uid + 1, gid=ME.gid))
    assert ensure_socket_folder(far, account=ME) == first

    first.chmod(0o755)
    assert ensure_socket_folder(far, account=ME).parent == places[1]
    first.rmdir()
    first.symlink_to(tmp_path)
    assert ensure_socket_folder(far, account=ME).parent == places[1]

    monkeypatch.setattr(module, "short_socket_parents", lambda _environment, euid: [tmp_path / "missing"])
    with pytest.raises(CannotStart, match="too long"):
        ensure_socket_folder(far, account=ME)


def test_an_opened_socket_folder_in_the_home_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_usable_socket_folder", lambda folder: True)
    layout = HomeLayout(home=tmp_path)
    layout.socket.mkdir()
    layout.socket.chmod(0o777)

    with pytest.raises(CannotStart, match="can enter"):
        ensure_socket_folder(layout, account=ME)


def test_a_person_s_runtime_folder_comes_first_and_root_has_its_own() -> None:
    environment = {"XDG_RUNTIME_DIR": "/run/user/1000"}

    assert short_socket_parents(environment, euid=1000)[0] == Path("/run/user/1000")
    assert short_socket_parents(environment, euid=0)[0] == Path("/run")
    assert Path("/run") not in short_socket_parents({}, euid=1000)


def test_what_a_dead_server_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock", "note"):
        (tmp_path / name).touch()

    remove_stale_socket(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["note"]
