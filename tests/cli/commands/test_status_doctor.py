from dataclasses import replace

import psycopg
from tests.cli.shell import Shell

from festinger.cli.commands.status import STYLES
from festinger.cli.context import CommandContext


def test_the_doctor_names_every_check_and_what_to_do(shell: Shell):
    without = {"FESTINGER_EMBEDDING__MODEL": "none:", "FESTINGER_PROXY__UPSTREAM": "http://127.0.0.1:1"}
    said = shell("doctor", "--json", **without)
    people = shell("doctor", **without)
    found = {check["name"]: check for check in said.json["checks"]}
    wanting = [check for check in said.json["checks"] if check["severity"] != "ok"]

    assert len(found) == len(said.json["checks"])
    assert "settings" in found
    assert any("upstream" in name for name in found)
    assert wanting
    assert all(check["remedy"] for check in wanting)
    # Each run looks anew, so only what both found is compared: a busy machine may add a warning to one of them.
    both = [check for check in wanting if check["message"] in people.out]
    assert {"server", "proxy.upstream"} <= {check["name"] for check in both}
    assert all(f"-> {check['remedy']}" in people.out for check in both)
    assert (said.code == 5) is (said.json["worst"] == "fail")


def test_the_doctor_fails_when_others_can_read_the_key(shell: Shell):
    shell("status")
    home = shell.home / "festinger"
    home.mkdir(exist_ok=True)
    home.chmod(0o755)
    said = shell("doctor")

    assert said.code == 5
    assert f"-> chmod go-rwx {home}" in said.out


def test_status_shows_how_often_a_model_was_asked_and_how_many_pairs_wait(shell: Shell):
    shell("learn", "Ada juggles clubs", FESTINGER_EMBEDDING__MODEL="none:")
    shell("learn", "Ada juggles knives", FESTINGER_EMBEDDING__MODEL="none:")
    said = shell("status", FESTINGER_EMBEDDING__MODEL="none:")

    assert "pending pairs 1, held 0" in said.out
    assert "learns 2, learns that asked a model 0, share 0.0" in said.out


def test_what_fails_is_shown_in_red():
    table = CommandContext().table(("", "check"), [("ok", "a"), ("FAIL", "b"), ("", "c")], styles=STYLES)

    assert [row.style for row in table.rows] == [None, "bold red", None]


def test_a_deep_look_reads_the_rows_too_and_fails_when_one_is_broken(shell: Shell):
    shell("learn", "Ada juggles clubs")
    usual, whole = (shell("doctor", *deep, "--json").json["checks"] for deep in ([], ["--deep"]))
    assert shell.database is not None
    with psycopg.connect(shell.database) as connection:
        connection.execute("update memory set cause_count = 7")
    said = shell("doctor", "--deep", "--json")
    people = shell("doctor", "--deep").out
    found = {check["name"]: check for check in said.json["checks"]}

    added = {check["name"] for check in whole} - {check["name"] for check in usual}
    assert added == {"rows", "memory.embedded", "outcomes.replay"}
    assert {check["severity"] for check in whole if check["name"] in added} == {"ok"}
    assert (said.code, said.json["worst"]) == (5, "fail")
    assert found["rows.causes_counted"]["details"]["rows"][0]["what"] == "7 instead of 1"
    assert "1 rows break this rule" in people


def test_a_deep_look_without_a_store_says_once_that_it_is_gone(shell: Shell):
    said = replace(shell, database="postgresql://nobody@127.0.0.1:1/none")("doctor", "--deep", "--json")

    assert said.code == 5
    assert [check["name"] for check in said.json["checks"] if check["name"].startswith(("store", "rows"))] == [
        "store.server"
    ]


def test_without_a_server_the_doctor_says_so_and_how_to_start_one(shell: Shell):
    said = shell("doctor", "--json", FESTINGER_SERVER__PORT="1", FESTINGER_EMBEDDING__MODEL="none:")
    found = {check["name"]: check for check in said.json["checks"]}

    assert found["server"]["severity"] == "warn"
    assert "festinger serve" in found["server"]["remedy"]
    assert "proxy.memory" in found
