import io
import os
import pty
import re
import sys

import pytest
from tests.cli.shell import PATIENCE_S, Shell

from festinger.cli.context import CommandContext
from festinger.errors import BadInput


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a person before stdout. Called in the test, because pytest sets stdout anew after the fixtures."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return screen


def show(context: CommandContext) -> None:
    context.show([], table=context.table(("key", "meaning"), [("[bold]a", "word " * 40)]))


def test_on_a_terminal_a_table_keeps_to_its_width_and_loses_nothing(monkeypatch: pytest.MonkeyPatch):
    screen = terminal(monkeypatch)
    show(CommandContext(color=False))
    lines = screen.getvalue().splitlines()

    assert max(map(len, lines)) <= 80
    assert " ".join(lines).count("word") == 40
    assert "[bold]a" in lines[1]


def test_a_terminal_gets_colours_unless_somebody_objects(monkeypatch: pytest.MonkeyPatch):
    screen = terminal(monkeypatch)
    show(CommandContext())
    assert "\x1b[1m" in screen.getvalue()

    screen = terminal(monkeypatch)
    show(CommandContext(color=False))
    assert "\x1b" not in screen.getvalue()

    monkeypatch.setenv("NO_COLOR", "1")
    show(CommandContext())
    assert "\x1b" not in screen.getvalue()


def test_a_stream_that_cannot_show_a_sign_gets_its_number(monkeypatch: pytest.MonkeyPatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    CommandContext().show({}, text="naïve … \ud83d")

    assert raw.getvalue() == b"na\\xefve \\u2026 \\ud83d\n"


def test_without_a_terminal_nothing_is_destroyed_unless_yes_was_said(shell: Shell):
    shell("spaces", "create", "team")
    refused = shell("spaces", "delete", "team")

    assert refused.code == 2
    assert "--yes" in refused.err
    assert "team" in shell("spaces").out
    assert shell("spaces", "delete", "team", "--yes").code == 0
    assert "team" not in shell("spaces").out


@pytest.mark.parametrize(("typed", "code", "left"), [("team", 0, False), ("yes", 2, True), ("", 2, True)])
def test_a_person_types_the_name_of_what_is_to_go(typed: str, code: int, left: bool, shell: Shell):
    shell("spaces", "create", "team")
    screen, keyboard = pty.openpty()
    running = shell.process("spaces", "delete", "team", stdin=keyboard)
    os.write(screen, f"{typed}\n".encode())
    _out, asked = running.communicate(timeout=PATIENCE_S)
    os.close(screen)
    os.close(keyboard)

    assert running.returncode == code
    assert re.search(r"Space `team` and its \d+ rows are erased for ever.\nType `team` to go on: ", asked)
    assert ("team" in shell("spaces").out) is left


def test_a_secret_is_read_from_standard_input_and_an_empty_one_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("sesame\n"))
    assert CommandContext().secret("API key") == "sesame"

    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(BadInput, match="No API key"):
        CommandContext().secret("API key")
