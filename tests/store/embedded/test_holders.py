import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.store.embedded.holders import (
    SAME_START_SECONDS,
    ServerHolder,
    current_holder,
    filter_live_holders,
    process_start_time,
    read_holders,
    register_holder,
    remove_holder,
    unregister_holder,
    write_holders,
)

SHELL = ServerHolder(pid=10, started=100.0)
AGENT = ServerHolder(pid=20, started=200.0)


@pytest.mark.requirement("X-24")
def test_dead_processes_and_used_again_numbers_are_dropped() -> None:
    began = {20: 200.0 + SAME_START_SECONDS / 2, 30: 999.0}
    reused = ServerHolder(pid=30, started=300.0)

    assert filter_live_holders([SHELL, AGENT, reused], started=began.get) == [AGENT]


def test_a_process_that_opened_twice_still_holds_after_leaving_once() -> None:
    assert remove_holder([SHELL, AGENT, SHELL], SHELL) == [AGENT, SHELL]


holders = st.builds(ServerHolder, pid=st.integers(1, 9), started=st.floats(0, 9))


@given(st.lists(holders), holders)
def test_who_leaves_takes_one_place_and_no_other(listed: list[ServerHolder], leaving: ServerHolder) -> None:
    rest = remove_holder([*listed, leaving], leaving)

    assert sorted(rest, key=repr) == sorted(listed, key=repr)


@given(st.lists(holders))
def test_the_list_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, listed: list[ServerHolder]
) -> None:
    path = tmp_path_factory.mktemp("run") / "holders"
    write_holders(path, listed)

    assert read_holders(path) == listed


def test_a_line_cut_off_by_a_crash_and_a_missing_list_name_nobody(tmp_path: Path) -> None:
    path = tmp_path / "holders"
    assert read_holders(path) == []
    write_holders(path, [SHELL])
    path.write_text(path.read_text() + "20 \n77")

    assert read_holders(path) == [SHELL]


def test_a_copied_list_speaks_of_another_server(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    write_holders(tmp_path / "one" / "holders", [SHELL])
    (tmp_path / "two" / "holders").write_text((tmp_path / "one" / "holders").read_text())

    assert read_holders(tmp_path / "two" / "holders") == []


@pytest.mark.requirement("X-24")
def test_a_zombie_holds_nothing() -> None:
    child = subprocess.Popen(["true"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.read()
    while process_start_time(child.pid) is not None:  # its output ends a moment before it does
        pass

    assert child.poll() == 0
    child.stdout.close()


def test_entering_and_leaving_drop_those_who_died(tmp_path: Path) -> None:
    path = tmp_path / "holders"
    write_holders(path, [ServerHolder(pid=2**22 + 1, started=1.0)])
    me = current_holder()

    register_holder(path, me)
    assert read_holders(path) == [me]
    assert unregister_holder(path, me) == []
