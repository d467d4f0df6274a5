"""Talking with the agent: piped, by script, once, as JSON, and on a real terminal."""

import json
import os
import pty
import select
from pathlib import Path

import pytest
from tests.cli.shell import PATIENCE_S, Shell


@pytest.fixture(autouse=True)
def _no_model_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FESTINGER_PROXY__UPSTREAM", "http://127.0.0.1:1")


def script(home: Path, *answers: str) -> dict[str, str]:
    file = home / "answers.jsonl"
    file.write_text("\n".join(json.dumps(answer) for answer in answers), encoding="utf-8")
    return {"FESTINGER_LLM__CHAT": f"scripted:{file}"}


@pytest.mark.requirement("A-04")
def test_without_a_model_it_answers_from_memory_and_says_how_to_set_one(shell: Shell):
    first = shell("chat", "--once", "I live in Lisgate.")
    second = shell("chat", "--new", "--once", "Where do I live?")

    assert first.out == "I will remember that.\n"
    assert "learned: I live in Lisgate" in first.err
    assert "festinger settings set llm.chat" in first.err
    assert second.out == "This is what I remember:\n- I live in Lisgate\n"
    assert "1 note: /why 1" in second.err


def test_commands_are_answered_without_a_model(shell: Shell):
    shell("learn", "The office in Lisgate opens at nine.")
    lines = [
        "When does the office in Lisgate open?", "/why 1", "/recall office in Lisgate", "/mind Lisgate", "/conflicts",
        "/inbox", "/cost", "/nothing", "/why", "/help", "/quit", "never said",
    ]  # fmt: skip
    said = shell("chat", "--new", typed="\n".join(lines))

    assert said.code == 0
    assert "claim  The office in Lisgate opens at nine." in said.out
    assert "Nothing is in conflict." in said.out
    assert "Nothing waits for you." in said.out
    assert "No model was asked." in said.out
    assert "There is no command `/nothing`." in said.err
    assert "Which memory?" in said.err
    assert "/forget" in said.out
    assert "never said" not in shell("episodes", "list", "--json").out


def test_goals_are_told_listed_added_and_settled(shell: Shell):
    lines = [
        "My goal is to finish the thesis by May.", "/goals add Read a book a month.", "/goals done 1", "/goals done 9",
        "I finished my thesis yesterday!", "/goals",
    ]  # fmt: skip
    said = shell("chat", "--new", typed="\n".join(lines))

    assert "goal open: My goal is to finish the thesis by May" in said.err
    assert "goal achieved: My goal is to finish the thesis by May" in said.err
    assert "Which goal?" in said.err
    assert said.out.count("Read a book a month") == 1
    assert said.out.count("My goal is to finish the thesis by May") == 2
    assert said.out.endswith("No goal is open. `/goals add …` sets one.\n")


def test_a_script_is_answered_line_by_line_as_json(shell: Shell, tmp_path: Path):
    lines = tmp_path / "lines.txt"
    lines.write_text("I live in Lisgate.\n\nWhere do I live?\n", encoding="utf-8")
    said = shell(
        "chat", "--new", "--json", "--script", str(lines), **script(tmp_path, "Noted.", "You live in Lisgate.")
    )
    first, second = map(json.loads, said.lines)

    assert (first["reply"], second["reply"]) == ("Noted.", "You live in Lisgate.")
    assert len(first["learned"]) == 1
    assert second["notes"] == first["learned"]
    assert said.err == ""


def test_a_script_that_is_not_there_and_two_sources_are_refused(shell: Shell):
    missing = shell("chat", "--script", "nowhere.txt")
    both = shell("chat", "--script", "nowhere.txt", "--once", "hi")

    assert (missing.code, both.code) == (3, 2)
    assert "cannot be read" in missing.err


def test_a_model_that_fails_is_told_in_one_line_and_the_chat_goes_on(shell: Shell, tmp_path: Path):
    said = shell("chat", "--new", typed="hello there, agent\nand again\n", **script(tmp_path))

    assert said.code == 0
    assert said.err.count("The script has no more answers.") == 2


def test_a_person_at_a_terminal_sees_who_it_is_and_ends_with_ctrl_d(shell: Shell, tmp_path: Path):
    ours, theirs = pty.openpty()
    environment = {**script(tmp_path, "You live in Lisgate."), "TERM": "xterm"}
    shell("learn", "I live in Lisgate.")
    running = shell.process("chat", "--new", environment=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        first = read_until(ours, "answers.", ">")
        os.write(ours, b"Where do I live?\r")
        reply = read_until(ours, "/why 1", ">")
        os.write(ours, b"\x04")
        assert running.wait(timeout=PATIENCE_S) == 0
    finally:
        running.kill()
        running.wait()
        os.close(ours)

    assert "default remembers 1 thing" in first
    assert "scripted:" in first
    assert "You live in Lisgate." in reply


def read_until(terminal: int, wanted: str, prompt: str) -> str:
    """What a terminal shows, up to some words and the next prompt."""
    seen = ""
    while prompt not in seen.partition(wanted)[2]:
        ready, _, _ = select.select([terminal], [], [], PATIENCE_S)
        assert ready, f"the terminal shows no {wanted!r}: {seen}"
        seen += os.read(terminal, 65536).decode(errors="replace")
        if "\x1b[6n" in seen:
            # A terminal that is asked where its cursor is, and does not say, is waited for.
            os.write(terminal, b"\x1b[1;1R")
            seen = seen.replace("\x1b[6n", "")
    return seen
