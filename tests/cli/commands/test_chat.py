"""Talking with the agent: piped, by script, once, as JSON, and on a real terminal."""

import json
import os
import pty
import re
import select
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.cli.shell import PATIENCE_S, Shell

from festinger.agent.cycle import HearResult
from festinger.cli.commands.chat import ChatTerminal
from festinger.cli.context import CommandContext
from festinger.errors import ProviderDown


@pytest.fixture(autouse=True)
def _no_model_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FESTINGER_PROXY__UPSTREAM", "http://127.0.0.1:1")


def script(home: Path, *answers: Any) -> dict[str, str]:
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
        "/inbox", "/cost", "/readiness verify 1", "/readiness verify 9", "/readiness verify", "/nothing", "/why", "help", "quit", "never said",
    ]  # fmt: skip
    said = shell("chat", "--new", typed="\n".join(lines))

    assert said.code == 0
    assert "claim  The office in Lisgate opens at nine." in said.out
    assert "Nothing is in conflict." in said.out
    assert "Nothing waits for you." in said.out
    assert "No model was asked." in said.out
    assert re.search(r"A first memory was formed\. +(\S{10}) +\1\n", said.out)
    assert "This milestone is not reached yet." in said.err
    assert "Which milestone?" in said.err
    assert "There is no command `/nothing`." in said.err
    assert "Which memory?" in said.err
    assert "/forget" in said.out
    assert "never said" not in shell("episodes", "list", "--json").out


def test_notes_are_explained_and_erased_by_their_number_in_the_last_list(shell: Shell):
    shell("learn", "The office in Lisgate opens at nine.")
    shell("learn", "The canteen in Lisgate is closed on Friday.")
    lines = ["/why 1", "/recall office in Lisgate", "/why 1", "/mind", "/forget 9", "/forget 1", "/forget 1", "/mind"]
    said = shell("chat", "--new", "--yes", typed="\n".join(lines))
    asked = shell("chat", typed="/mind\n/forget 1\n")

    assert "The last reply had no notes." in said.err
    assert "claim  The office in Lisgate opens at nine." in said.out
    assert "The last reply had 2 notes." in said.err
    assert said.err.count("Forgotten.") == 1
    assert "Nothing is left of that memory." in said.err
    left = said.out.rpartition("about")[2]
    assert ("opens at nine" in left) != ("closed on Friday" in left)
    assert "1 memory will be erased for good, with the words that said so: - The " in asked.err


async def test_a_reply_that_breaks_off_ends_its_line_and_is_not_answered_over(capsys: pytest.CaptureFixture[str]):
    class BrokenMind:
        notes = "- I live in Lisgate."

        async def hear(self, _text: str) -> HearResult:
            return HearResult(learned=(), goals=(), due=(), reminders=())

        async def step(self, on_text: Any) -> None:
            on_text("You live in")
            raise ProviderDown("The model is gone.")

    mind: Any = BrokenMind()
    nothing: Any = None
    context = CommandContext()
    talk = ChatTerminal(context=context, app=nothing, mind=mind, memory=nothing)

    assert await talk.answer("Where do I live?")
    assert capsys.readouterr().out == "You live in…\n"


def test_without_an_answer_of_the_model_it_tells_what_it_remembers_and_the_command_fails(shell: Shell):
    shell("learn", "I live in Lisgate.")
    once = shell("chat", "--new", "--once", "Where do I live?", FESTINGER_LLM__CHAT="scripted:")
    piped = shell("chat", typed="Where do I live?\n/help\n", FESTINGER_LLM__CHAT="scripted:")
    empty = shell("chat", "--once", " ")

    assert once.code != 0
    assert once.out == "This is what I remember:\n- I live in Lisgate.\n"
    assert (piped.code, "/forget" in piped.out) == (0, True)
    assert "There is nothing to say." in empty.err


def test_what_was_said_before_the_plug_is_pulled_is_known_each_once(shell: Shell, database_url: str):
    names = ["Pepper", "Ingrid", "Tom", "Ola", "Marta", "Cleo", "Dan", "Ann", "Ben"]
    things = ["dog", "sister", "cat", "boss", "teacher", "boat", "brother", "aunt", "car"]
    said = [f"My {thing} is called {name}.\n" for thing, name in zip(things, names, strict=True)]
    running = shell.process("chat", "--new", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert running.stdin is not None
    assert running.stdout is not None
    try:
        for text in said[:7]:
            running.stdin.write(text)
            running.stdin.flush()
            assert running.stdout.readline() == "I will remember that.\n"
        running.stdin.write("".join(said[7:]))
        running.stdin.flush()
    finally:
        running.kill()
        running.communicate()
    with psycopg.connect(database_url) as database:
        # Waits until the server has noticed that the process is gone.
        database.execute("select pg_advisory_lock(hashtextextended('festinger mind main/default', 0))")
    after = shell("chat", "--once", "What is my brother called?")
    with psycopg.connect(database_url) as database:
        known = database.execute("select content from memory order by seq").fetchall()
        turns = database.execute("select content from episode_turn where role = 'user' order by at").fetchall()

    contents = [content for (content,) in known]
    assert contents[:7] == [text.strip(".\n") for text in said[:7]]
    assert len(contents) == len(set(contents))
    assert len(turns) == len(set(turns))
    assert (after.code, "- My brother is called Dan\n" in after.out) == (0, True)


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


def test_reminders_are_set_listed_told_and_canceled_without_a_model(shell: Shell, database_url: str):
    lines = [
        "/remind in 2 hours check the oven", "/remind tomorrow 9:00 call Ada", "/remind cancel 3", "/remind cancel 2",
        "/remind call Bob", "/mind", "Please remind me in 3 hours to water the plants.",
    ]  # fmt: skip
    said = shell("chat", "--new", typed="\n".join(lines))
    with psycopg.connect(database_url) as database:
        database.execute("update reminder set due_at = now() where text = 'check the oven'")
    later = shell("chat", typed="Good morning to you, dear agent.\n/remind\n")

    assert said.out.count("check the oven") == 4
    assert said.out.count("call Ada") == 1
    assert "Which reminder?" in said.err
    assert "When?" in said.err
    assert "I will remind you: " in said.out
    assert re.search(r"reminder set: \w{3} \d\d \w{3} \d{4}, \d\d:\d\d: water the plants", said.err)
    assert later.out.startswith("Reminder of ")
    assert later.out.count("check the oven") == 1
    assert "water the plants" in later.out


def test_a_model_calls_tools_in_a_chat_and_the_line_below_says_which(shell: Shell, tmp_path: Path):
    shell("learn", "The office in Lisgate opens at nine.")
    model = script(tmp_path, {"call": "recall", "with": {"cue": "office in Lisgate"}}, "It opens at nine.")
    said = shell("chat", "--new", "--once", "Have a look at it, please.", **model)

    assert said.out == "It opens at nine.\n"
    assert "used recall" in said.err


@pytest.mark.requirement("A-06")
def test_an_agent_starts_with_what_its_owner_gives_it_once(shell: Shell, tmp_path: Path):
    start = tmp_path / "start.yaml"
    start.write_text(
        "boundaries: [Never send mail on my behalf.]\nvalues: [Short answers.]\ngoals: [Ship version 2.]\n"
    )
    first = shell("chat", "--start", str(start), "--once", "/goals")
    second = shell("chat", "--start", str(start), "--once", "/mind")
    start.write_text("wishes: [Rule the world.]\n")
    wrong = shell("chat", "--start", str(start), "--once", "/mind")
    known = shell("memories", "list", "--json").json

    assert "Ship version 2" in first.out
    assert "Never send mail on my behalf" in second.out
    assert (wrong.code, "is no start file" in wrong.err) == (2, True)
    assert [(each["content"], each["immutable"], each["cause_count"]) for each in known] == [
        ("Ship version 2.", False, 1), ("Short answers.", False, 1), ("Never send mail on my behalf.", True, 1),
    ]  # fmt: skip


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


def test_single_messages_go_on_with_an_open_conversation_and_a_chat_ends_it_without_log_lines(shell: Shell):
    def states() -> list[str]:
        return [each["state"] for each in json.loads(shell("episodes", "list", "--json").out)]

    shell("chat", "--once", "I live in Lisgate.")
    after_one = states()
    ended = shell("chat", typed="Our dog is called Pepper.\n", FESTINGER_LLM__WRITE="scripted:")

    assert after_one == ["open"]
    assert states() == ["summarised"]
    assert "summed up" not in ended.err


def test_a_script_that_is_not_there_and_two_sources_are_refused(shell: Shell):
    missing = shell("chat", "--script", "nowhere.txt")
    both = shell("chat", "--script", "nowhere.txt", "--once", "hi")

    assert (missing.code, both.code) == (3, 2)
    assert "cannot be read" in missing.err


def test_a_model_that_fails_is_told_in_one_line_and_the_chat_goes_on(shell: Shell, tmp_path: Path):
    said = shell("chat", "--new", typed="hello there, agent\nand again\n", **script(tmp_path))

    assert said.code == 0
    assert said.err.count("The script has no more answers.") == 2


def test_thoughts_are_listed_when_asked_for(shell: Shell, database_url: str):
    none = shell("chat", "--new", "--once", "/thoughts")
    shell("chat", "--once", "I live in Lisgate.")
    think(database_url)
    listed = shell("chat", "--once", "/thoughts")
    before = shell("chat", "--show-thoughts", "--once", "I like long walks by the sea.")

    assert none.out == "It had no thoughts of its own yet.\n"
    assert "Walks could help." in listed.out
    assert before.out.index("Walks could help.") < before.out.index("I will remember that.")


def think(database_url: str) -> None:
    """Keep a thought, as a server does while nobody talks."""
    with psycopg.connect(database_url) as database:
        database.execute(
            "with e as (insert into episode (space_id, id, agent_id, session_id, opened_at, last_at, evaluation)"
            " values ('main', gen_random_uuid(), 'default', 'thoughts:default', now(), now(), true) returning id),"
            " t as (insert into episode_turn (space_id, episode_id, seq, turn_id, at, role, origin, content, surfaced)"
            " select 'main', id, 1, gen_random_uuid(), now(), 'thought', 'model', 'Walks could help.', '{}' from e"
            " returning turn_id) insert into thought (space_id, id, agent_id, at, channel, memory_id, has_words)"
            " select 'main', turn_id, 'default', now(), 'goal', gen_random_uuid(), true from t"
        )


@pytest.mark.requirement("A-96", "C-17")
def test_a_person_at_a_terminal_sees_what_was_left_open_and_ends_with_ctrl_d(
    shell: Shell, tmp_path: Path, database_url: str
):
    ours, theirs = pty.openpty()
    environment = {**script(tmp_path, "You live in Lisgate."), "TERM": "xterm"}
    (tmp_path / "names.txt").write_text("\n".join(f"Our dog number {n} is called Pepper{n}." for n in range(7)))
    shell("learn", "--file", str(tmp_path / "names.txt"))
    shell("learn", "I live in Lisgate.")
    shell("chat", "--once", "/goals add Finish the thesis by May.", "--new")
    shell("chat", "--once", "/remind in 2 hours check the oven")
    shell("chat", "--once", "/remind in 2 hours call Ada")
    with psycopg.connect(database_url) as database:
        database.execute("update reminder set due_at = now() where text = 'check the oven'")
    think(database_url)
    night(database_url)
    running = shell.process("chat", "--new", environment=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        first = read_until(ours, "answers.")
        with psycopg.connect(database_url) as database:
            database.execute("update reminder set due_at = now(), told_at = null where text = 'call Ada'")
        meanwhile = read_until(ours, "call Ada")
        os.write(ours, b"Where do I live?\r")
        reply = read_until(ours, "/why 1")
        os.write(ours, b"half a sentence\x03")
        read_until(ours, "half a sentence")
        os.write(ours, b"\x04")
        assert running.wait(timeout=PATIENCE_S) == 0
    finally:
        running.kill()
        running.wait()
        os.close(ours)

    assert first.index("check the oven") < first.index("default remembers") < first.index("Finish the thesis by May")
    assert "scripted:" in first
    assert "default remembers 9 things" in first
    assert "Last night: Put away" in first
    assert "Meanwhile I thought: Walks could help. (/thoughts)" in first
    assert "Reminder of" in meanwhile
    assert "You live in Lisgate." in reply


def night(database_url: str) -> None:
    """Keep a night that put something away, after the last chat."""
    with psycopg.connect(database_url) as database:
        database.execute(
            "with n as (insert into night (space_id, id, agent_id, trigger, state, started_at, finished_at)"
            " values ('main', gen_random_uuid(), '', 'schedule', 'done', now(), now() + interval '1 hour') returning id)"
            " insert into night_item (space_id, night_id, id, unit_key, step, kind, memory_id, place, at)"
            " select 'main', n.id, gen_random_uuid(), 'u', 'reconsider', 'archived', m.id, 1, now()"
            " from n, memory m where m.content like 'I live%'"
        )


PROMPT = "\x1b[?2004h"
"""What a prompt shows once it reads keys: the sign before it is drawn again by one that ends, and then Ctrl-D is lost."""


def read_until(terminal: int, wanted: str) -> str:
    """What a terminal shows, up to some words and the next prompt."""
    seen = ""
    while PROMPT not in seen.partition(wanted)[2]:
        ready, _, _ = select.select([terminal], [], [], PATIENCE_S)
        assert ready, f"the terminal shows no {wanted!r}: {seen}"
        seen += os.read(terminal, 65536).decode(errors="replace")
        if "\x1b[6n" in seen:
            # A terminal that is asked where its cursor is, and does not say, is waited for.
            os.write(terminal, b"\x1b[1;1R")
            seen = seen.replace("\x1b[6n", "")
    return seen
