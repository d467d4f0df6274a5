"""The examples of the page on bringing to mind run as they stand: Python, HTTP and the command line."""

import json
import shlex
from pathlib import Path

from tests.cli.shell import Shell
from tests.stories.page import ask, examples, place, run_python

PAGE = "bring-to-mind.md"
PRINTER = "The printer is on floor 2"


def test_the_example_of_the_library_says_what_came(database_url: str, tmp_path: Path):
    (code,) = examples(PAGE, "python")

    assert run_python(code, tmp_path, database_url) == [
        f"['{PRINTER}']",
        "['k8s']",
        "True - nothing relevant remembered (0 below the threshold)",
    ]


def test_the_examples_of_the_command_line_and_of_http_bring_what_was_learnt(database_url: str, tmp_path: Path):
    shell = Shell(home=tmp_path, database=database_url, environment=place(tmp_path, database_url))
    requests, commands = examples(PAGE, "sh")
    said = [shell(*shlex.split(line)[1:]) for line in commands.splitlines()]
    key = shell("keys", "make", "desk", "--role", "reviewer").out.strip()
    with shell.server("--no-worker") as server:
        server.wait_until("/admin/readyz", 200)
        answers = [ask(line.replace("$FESTINGER_KEY", key), server.port) for line in requests.splitlines()]

    assert [each.code for each in said] == [0] * len(said), [each.err for each in said]
    assert PRINTER in said[1].out
    [item] = json.loads(said[2].out)["items"]
    assert "printer" in item["why"]["terms"]
    assert [status for status, _ in answers] == [200, 200]
    assert [item["text"] for item in json.loads(answers[0][1])["items"]] == [PRINTER]
