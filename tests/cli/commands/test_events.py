import json

from tests.cli.shell import PATIENCE_S, Shell


def test_events_are_listed_oldest_first_and_chosen_by_name_and_subject(shell: Shell):
    for value in ("700", "800"):
        shell("settings", "set", "jobs.max_waiting", value)
    shell("keys", "make", "laptop")
    named = [json.loads(line) for line in shell("events", "--name", "setting_changed", "--json").lines]

    assert [event["payload"]["new"] for event in named] == ["700", "800"]
    assert len(shell("events", "--subject", "setting:jobs.max_waiting").lines) == 2
    assert len(shell("events", "--limit", "1").lines) == 1
    assert "key_made" in shell("events").lines[-1]


def test_no_events_is_said_beside_an_empty_result(shell: Shell):
    said = shell("events", "--name", "setting_changed")

    assert (said.code, said.out) == (0, "")
    assert "--follow" in said.err


def test_following_goes_on_with_what_happens_next(shell: Shell):
    shell("settings", "set", "jobs.max_waiting", "700")
    running = shell.process("events", "--follow", "--json", "--subject", "setting:jobs.max_waiting")
    assert running.stdout is not None
    first = json.loads(running.stdout.readline())
    shell("keys", "make", "laptop")
    shell("settings", "set", "jobs.max_waiting", "800")
    second = json.loads(running.stdout.readline())
    running.terminate()
    running.communicate(timeout=PATIENCE_S)

    assert [event["payload"]["new"] for event in (first, second)] == ["700", "800"]
