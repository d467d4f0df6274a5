"""The examples of the page on remembering run as they stand: Python, HTTP and the command line."""

import json
import re
import shlex
from pathlib import Path

from tests.cli.shell import Shell
from tests.stories.page import ask, examples, place, run_python

PAGE = "remember.md"


def test_the_example_of_the_library_says_what_it_did(database_url: str, tmp_path: Path):
    (code,) = examples(PAGE, "python")

    assert run_python(code, tmp_path, database_url) == [
        "superseded - I keep this in place of what it replaces.",
        "it replaced: ['The server has 16 GB']",
        "again: ['archived']",
        "many: ['stored', 'stored', 'confirmed']",
    ]


def test_the_examples_of_the_command_line_and_of_http_do_what_they_say(database_url: str, tmp_path: Path):
    shell = Shell(home=tmp_path, database=database_url, environment=place(tmp_path, database_url))
    make, requests, commands = examples(PAGE, "sh")
    made = re.findall(r"festinger (.+?)\)", make)
    key = shell(*shlex.split(made[0])).out.strip()
    with shell.server("--no-worker") as server:
        server.wait_until("/admin/readyz", 200)
        answers = [ask(line.replace("$FESTINGER_KEY", key), server.port) for line in requests.splitlines()]
    spoken = [shlex.split(line)[1:] for line in commands.splitlines()]
    said = [shell(*words) for words in spoken]

    assert [status for status, _ in answers] == [201, 200, 200, 200, 200]
    assert [each.code for each in said] == [0] * len(spoken), [each.err for each in said]
    assert "floor 3" in said[2].out
    assert json.loads(answers[1][1])["action"] == "stored"
