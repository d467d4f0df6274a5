"""The examples on a page, and how a reader would run them."""

import os
import re
import shlex
import subprocess
import sys
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

from tests.cli.shell import PATIENCE_S

HOWTO = Path(__file__).parent.parent.parent / "docs" / "howto"
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(name: str, kind: str) -> list[str]:
    """The blocks of one kind on a page, in their order."""
    found = BLOCK.finditer((HOWTO / name).read_text(encoding="utf-8"))
    return [block["code"] for block in found if block["kind"] == kind]


def place(folder: Path, url: str) -> dict[str, str]:
    return {
        "HOME": str(folder),
        "FESTINGER_HOME": str(folder / "festinger"),
        "FESTINGER_DATABASE_URL": url,
        "FESTINGER_EMBEDDING__MODEL": "hashed:64",
    }


def run_python(code: str, folder: Path, url: str) -> list[str]:
    """What a program prints, line by line."""
    said = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **place(folder, url)},
        timeout=PATIENCE_S,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    return said.stdout.splitlines()


def ask(line: str, port: int) -> tuple[int, bytes]:
    """Make the request that a line with `curl` would make."""
    words = shlex.split(line)[1:]
    headers = dict(pair.split(": ", 1) for flag, pair in pairwise(words) if flag == "-H")
    bodies = [body for flag, body in pairwise(words) if flag == "-d"]
    url = urlsplit(next(word for word in words if word.startswith("http")))
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        target = url.path + (f"?{url.query}" if url.query else "")
        connection.request("POST" if bodies else "GET", target, bodies[0] if bodies else None, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
