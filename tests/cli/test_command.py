import json
import os
import signal
import subprocess

import pytest
from tests.cli.shell import PATIENCE_S, Shell
from typer import Exit

from festinger.cli.command import run_command
from festinger.cli.context import CommandContext
from festinger.errors import BadInput, FestingerError, NotFound, Refused, StoreDown


def left_with(operation, context: CommandContext) -> int:
    with pytest.raises(Exit) as left:
        run_command(operation, context, {})
    return left.value.exit_code


def failing(error: BaseException):
    async def operation(_context: CommandContext) -> None:
        raise error

    return operation


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FestingerError("x"), 1),
        (BadInput("x"), 2),
        (NotFound("x"), 3),
        (Refused("x"), 4),
        (StoreDown("x"), 5),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_way_of_failing_has_its_exit_code(error: BaseException, code: int):
    assert left_with(failing(error), CommandContext()) == code


def test_an_error_is_two_lines_on_stderr_and_also_said_to_the_quiet(capsys: pytest.CaptureFixture[str]):
    left_with(failing(BadInput("No\x1b[2J such [red]thing", hint="Do that.")), CommandContext(quiet=True))

    assert capsys.readouterr() == ("", "No\\x1b[2J such [red]thing\nDo that.\n")


def test_with_json_an_error_is_json_on_stderr(capsys: pytest.CaptureFixture[str]):
    left_with(failing(BadInput("No.", hint="Do that.", key="a")), CommandContext(as_json=True))
    out, err = capsys.readouterr()

    assert out == ""
    assert json.loads(err) == BadInput("No.", hint="Do that.", key="a").as_json()


@pytest.mark.requirement("X-95")
def test_a_fault_ends_with_a_message_and_its_trace_in_the_log(capsys: pytest.CaptureFixture[str]):
    assert left_with(failing(ZeroDivisionError("boom")), CommandContext()) == 1
    out, err = capsys.readouterr()
    logged, *said = err.splitlines()

    assert out == ""
    assert "ZeroDivisionError: boom" in json.loads(logged)["exception"]
    assert said == [
        "Something went wrong inside Festinger; the log line above has the details.",
        "Run `festinger doctor`.",
    ]


def test_an_option_before_the_command_that_it_was_not_meant_for_is_refused(shell: Shell):
    said = shell("jobs", "--dead", "schedule")

    assert said.code == 2
    assert "festinger jobs schedule" in said.err.replace("root", "festinger")
    assert said.out == ""


def test_a_reader_who_has_seen_enough_ends_a_command_well(shell: Shell):
    reading, writing = os.pipe()
    os.close(reading)
    running = shell.process("settings", stdout=writing)
    os.close(writing)
    _out, err = running.communicate(timeout=PATIENCE_S)

    assert (running.returncode, err) == (0, "")


@pytest.mark.requirement("X-105")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_is_stopped_closes_what_it_opened(number: signal.Signals, code: int, shell: Shell):
    shell("settings", "set", "jobs.max_waiting", "700")
    running = shell.process("events", "--follow", "--json", stdout=subprocess.PIPE)
    assert running.stdout is not None
    first = json.loads(running.stdout.readline())
    running.send_signal(number)
    _out, err = running.communicate(timeout=PATIENCE_S)

    assert first["name"] == "setting_changed"
    assert (running.returncode, err) == (code, "Stopped.\n")
    assert shell("status", "--json").json["life"]["crashes"] == 0
