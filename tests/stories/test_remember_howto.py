"""The examples of the page on remembering run as they stand: Python, HTTP and the command line."""

import json
import os
import re
import shlex
import subprocess
import sys
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

from tests.cli.shell import PATIENCE_S, Shell

PAGE = Path(__file__).parent.parent.parent / "docs" / "howto" / "remember.md"
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(found["kind"], found["code"]) for found in BLOCK.finditer(PAGE.read_text())]


def place(folder: Path, url: str) -> dict[str, str]:
    return {
        "HOME": str(folder),
        "FESTINGER_HOME": str(folder / "festinger"),
        "FESTINGER_DATABASE_URL": url,
        "FESTINGER_EMBEDDING__MODEL": "hashed:64",
    }


def test_the_example_of_the_library_says_what_it_did(database_url: str, tmp_path: Path):
    ((_, code),) = [each for each in BLOCKS if each[0] == "python"]
    said = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, **place(tmp_path, database_url)},
        timeout=PATIENCE_S,
        check=False,
    )

    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines() == [
        "superseded - I keep this in place of what it replaces.",
        "it replaced: ['The server has 16 GB']",
        "again: ['active']",
        "many: ['stored', 'stored', 'confirmed']",
    ]


def test_the_examples_of_the_command_line_and_of_http_do_what_they_say(database_url: str, tmp_path: Path):
    shell = Shell(home=tmp_path, database=database_url, environment=place(tmp_path, database_url))
    make, requests, commands = [code for kind, code in BLOCKS if kind == "sh"]
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


def ask(line: str, port: int) -> tuple[int, bytes]:
    """Make the request that a line with `curl` would make."""
    words = shlex.split(line)[1:]
    headers = dict(pair.split(": ", 1) for flag, pair in pairwise(words) if flag == "-H")
    bodies = [body for flag, body in pairwise(words) if flag == "-d"]
    url = urlsplit(next(word for word in words if word.startswith("http")))
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        target = url.path + (f"?{url.query}" if url.query else "")
        connection.request(
            "POST" if bodies else "GET", target, bodies[0] if bodies else None, headers=headers
        )
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
