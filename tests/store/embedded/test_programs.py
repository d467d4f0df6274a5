import os
from pathlib import Path

import pytest
from tests.store.homes import as_root

from festinger.errors import CannotStart
from festinger.store.embedded.programs import Account, find_unprivileged_account, server_account


class System:
    """The users of a machine, on which new ones can be made or not."""

    def __init__(self, *names: str, can_make: bool) -> None:
        self.users = {name: Account(name=name, uid=uid, gid=uid) for uid, name in enumerate(names, 100)}
        self.can_make = can_make
        self.asked_for: list[str] = []

    def make(self, name: str) -> None:
        self.asked_for.append(name)
        if self.can_make:
            self.users[name] = Account(name=name, uid=999, gid=999)

    def choice(self) -> str:
        return find_unprivileged_account(lookup=self.users.get, make=self.make).name


@pytest.mark.requirement("X-22")
def test_a_user_of_its_own_is_made_where_that_is_possible() -> None:
    assert System("postgres", "nobody", can_make=True).choice() == "festinger-pg"


@pytest.mark.requirement("X-22")
def test_else_postgres_and_else_nobody_stand_in() -> None:
    assert System("nobody", "postgres", can_make=False).choice() == "postgres"
    assert System("nobody", can_make=False).choice() == "nobody"


def test_a_user_that_is_there_is_not_made_again() -> None:
    system = System("festinger-pg", can_make=True)

    assert system.choice() == "festinger-pg"
    assert system.asked_for == []


def test_a_system_without_any_of_them_says_how_to_make_one() -> None:
    with pytest.raises(CannotStart) as refusal:
        System(can_make=False).choice()

    assert "useradd" in refusal.value.hint


@as_root
def test_data_that_somebody_owns_is_served_as_that_somebody(tmp_path: Path) -> None:
    os.chown(tmp_path, 1, 1)

    assert server_account(tmp_path).uid == 1


def test_a_program_is_started_as_itself_without_any_change_of_user() -> None:
    assert Account(name="me", uid=os.geteuid(), gid=os.getegid()).subprocess_arguments() == {}
