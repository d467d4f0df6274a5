"""How commands find the server that runs on their home."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.runtime.server import settings_of

from festinger.errors import StoreDown
from festinger.runtime.environment import LocalServer, announce_server, find_server, store_fingerprint
from festinger.runtime.supervisor import OWNER, Supervisor
from festinger.store.repositories.auth import AccessRole

SECRET = "fst_" + "k" * 43
HERE = LocalServer(url="http://127.0.0.1:1", pid=os.getpid(), store="a", key=SECRET)


def test_a_running_server_is_found_by_its_store_until_it_stops(tmp_path: Path):
    home = tmp_path / "home"
    with announce_server(home, HERE):
        found = find_server(home, store="a")
        other_store = find_server(home, store="b")
        mode = stat.S_IMODE((home / "server.json").stat().st_mode)

    assert found == HERE
    assert other_store is None
    assert mode == 0o600
    assert list(home.iterdir()) == []
    assert SECRET not in repr(HERE)


def test_a_file_that_others_could_read_is_not_filled_with_the_key(tmp_path: Path):
    path = tmp_path / "server.json"
    path.write_text("{}")
    path.chmod(0o644)
    with announce_server(tmp_path, HERE):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_a_dead_process_left_behind_is_ignored(tmp_path: Path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with announce_server(tmp_path, replace(HERE, pid=ended.pid)):
        assert find_server(tmp_path, store="a") is None


@pytest.mark.parametrize("left", ["", "{", "[]", "{}", json.dumps({"url": "x", "pid": "y"})])
def test_a_file_that_says_something_else_is_ignored(left: str, tmp_path: Path):
    (tmp_path / "server.json").write_text(left)

    assert find_server(tmp_path, store="a") is None


def test_a_second_server_of_the_home_is_not_forgotten_when_the_first_stops(tmp_path: Path):
    second = replace(HERE, key="fst_" + "s" * 43)
    with announce_server(tmp_path, HERE):
        taking_over = announce_server(tmp_path, second)
        taking_over.__enter__()
    found = find_server(tmp_path, store="a")
    taking_over.__exit__(None, None, None)

    assert found == second
    assert find_server(tmp_path, store="a") is None


def test_a_home_that_cannot_be_written_stops_no_server(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with announce_server(tmp_path / "file" / "home", HERE):
        found = find_server(tmp_path / "file" / "home", store="a")

    assert found is None


def test_stores_are_told_apart_by_their_address_which_the_mark_does_not_show(tmp_path: Path):
    marks = [
        store_fingerprint(settings_of(url, tmp_path)) for url in (None, "postgresql://a@h/x", "postgresql://b@h/x")
    ]

    assert len(set(marks)) == 3
    assert "postgresql" not in "".join(marks)


async def test_the_key_of_the_run_is_the_owners_and_no_other_is_known_without_a_store(tmp_path: Path):
    supervisor = Supervisor(settings_of(None, tmp_path), lambda: None, local=HERE)  # type: ignore[arg-type,return-value]

    assert await supervisor.find_key(SECRET) is OWNER
    assert OWNER.role is AccessRole.REVIEWER
    with pytest.raises(StoreDown):
        await supervisor.find_key("fst_" + "x" * 43)
