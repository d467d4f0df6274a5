"""Commands ask the server that runs on their home, and do without one."""

import signal

import pytest
from tests.cli.shell import Shell, patiently

from festinger.cli.context import CommandContext

CUE = "when does the harbour office open?"
HARBOUR = "The harbour office of Lisgate opens at 0730"


def test_recall_and_learn_use_the_running_server_and_the_store_without_one(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
):
    left = shell.home / "festinger" / "server.json"

    def not_opened(_context: CommandContext, **_: object) -> None:
        raise AssertionError("the store was opened beside the server")

    with shell.server() as served:
        for _ in patiently():
            if left.exists():
                break
        with monkeypatch.context() as patched:
            patched.setattr(CommandContext, "app", not_opened)
            learned = shell("learn", HARBOUR)
            found = shell("recall", CUE)
            explained = shell("recall", CUE, "--explain")
            [row] = [line for line in found.lines if HARBOUR in line]
            why = shell("why", row.split()[0], "--json")
            others = shell("recall", CUE, "--agent", "another", "--json")
            doctor = shell("doctor", "--json").json["checks"]
        login = shell("login")
        status = shell("status")
        deep = shell("doctor", "--deep", "--json").json["checks"]
        served.stop(signal.SIGKILL)
    after = shell("recall", CUE)

    assert learned.code == 0
    assert row.split()[0] in learned.out
    assert HARBOUR in explained.out
    assert "the evidence is enough" in explained.out
    assert why.json["memory"]["origin"] == "person"
    assert others.json["items"][0]["text"] == HARBOUR
    base = f"http://127.0.0.1:{served.port}"
    assert {check["name"]: check["message"] for check in doctor}["server"] == f"The server runs at {base}."
    assert {"proxy.capture", "proxy.memory"} <= {check["name"] for check in doctor}
    rules = {check["name"]: check["severity"] for check in deep if check["name"].startswith("rows")}
    assert ("proxy.capture" in {check["name"] for check in deep}, rules) == (True, {"rows": "ok"})
    assert login.out.startswith(f"{base}/admin/login?code=")
    assert base in status.out
    # It was killed and could not tidy up.
    assert left.exists()
    assert HARBOUR in after.out


def test_a_server_that_stops_in_order_leaves_no_file(shell: Shell):
    with shell.server() as served:
        served.wait_until("/admin/readyz", 200)
        served.stop()

    assert not (shell.home / "festinger" / "server.json").exists()


def test_a_server_on_another_store_is_not_asked(shell: Shell, database_url: str):
    elsewhere = Shell(home=shell.home, database=f"{database_url}&application_name=other")
    with shell.server() as served:
        served.wait_until("/admin/readyz", 200)
        login = elsewhere("login")

    assert login.out.startswith("http://127.0.0.1:11435/")


def test_the_status_fits_on_one_screen(shell: Shell):
    said = shell("status")
    screen = [*said.lines, *said.err.splitlines()]

    assert len(screen) <= 24
    assert max(map(len, screen)) <= 80
    assert {"judge", "outcomes", "proposals", "health", "memory", "cost", "life"} <= shell(
        "status", "--json"
    ).json.keys()
