import os
import socket

import psycopg
import pytest
from tests.cli.shell import Shell


@pytest.mark.requirement("X-11")
def test_each_setting_is_shown_with_its_value_and_where_it_comes_from(shell: Shell):
    (shell.home / "festinger.yaml").write_text("jobs:\n  workers: 3\n")
    shell("settings", "set", "jobs.max_waiting", "700")
    listed = {
        setting["key"]: (setting["value"], setting["source"])
        for setting in shell("settings", "--json", FESTINGER_SERVER__PORT="8099").json
    }

    assert listed["jobs.workers"] == ("3", f"file {shell.home / 'festinger.yaml'}:2")
    assert listed["jobs.max_waiting"] == ("700", "table row `jobs.max_waiting` of space `*`")
    assert listed["server.port"] == ("8099", "environment FESTINGER_SERVER__PORT")
    assert listed["server.host"] == ("127.0.0.1", "default")


@pytest.mark.requirement("X-11")
def test_a_secret_is_shown_as_set_by_every_command_that_meets_it(shell: Shell):
    secret = "sk-abcdefghijklmnopqrstuvwx1234"
    paths = ("settings set embedding.api_key " + secret, "settings", "settings get embedding.api_key", "doctor")
    said = [shell(*path.split(), FESTINGER_EMBEDDING__API_KEY=secret) for path in paths]

    assert secret not in "".join(one.out + one.err for one in said)
    assert "set (…1234)" in said[1].out
    assert said[2].out == "set (…1234)\n"


def test_a_value_that_is_not_allowed_is_wrong_usage_and_changes_nothing(shell: Shell):
    said = shell("settings", "set", "server.port", "http")

    assert said.code == 2
    assert "server.port" in said.err
    assert "default" in shell("settings", "get", "server.port", "--json").json["source"]


def test_a_value_for_one_space_counts_there_alone_until_it_is_reset(shell: Shell):
    shell("spaces", "create", "team")
    shell("settings", "set", "llm.judge", "ollama:tiny", "--only-this-space", "--space", "team")

    assert shell("settings", "get", "llm.judge", "--space", "team").out == "ollama:tiny\n"
    assert shell("settings", "get", "llm.judge").out != "ollama:tiny\n"
    shell("settings", "reset", "llm.judge", "--only-this-space", "--space", "team")
    assert shell("settings", "get", "llm.judge", "--space", "team").out != "ollama:tiny\n"


def test_a_process_that_pins_the_key_is_named_when_it_is_set(shell: Shell):
    """It goes on with its own value: what this process pins stands for a server that was started with a flag."""
    assert shell.database is not None
    shell("settings", "set", "jobs.max_waiting", "700")
    with psycopg.connect(shell.database) as connection:
        connection.execute(
            "insert into run (id, door, version, host, pid, started_at, pins)"
            " values (gen_random_uuid(), 'serve', '0', %s, %s, now(), %s)",
            (socket.gethostname(), os.getpid(), ["jobs.max_waiting"]),
        )

    pinned = shell("settings", "set", "jobs.max_waiting", "800")
    free = shell("settings", "set", "jobs.workers", "2")

    assert (pinned.code, "-> 800" in pinned.out) == (0, True)
    assert f"Not in force in `festinger serve` (process {os.getpid()} on" in pinned.err
    assert "Not in force" not in free.err


def test_what_a_process_pins_is_written_down_when_it_begins(shell: Shell):
    assert shell.database is not None
    shell("settings", FESTINGER_JOBS__WORKERS="3")

    with psycopg.connect(shell.database) as connection:
        [(pins,)] = connection.execute("select pins from run order by started_at desc limit 1").fetchall()

    assert "jobs.workers" in pins
