"""`festinger mcp`: answers at once, opens the store itself if no server runs, and writes nothing but protocol."""

import json
import subprocess
from typing import Any

import pytest
from tests.cli.shell import PATIENCE_S, Shell

BEGIN = {
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"method": "tools/call", "params": {"name": name, "arguments": arguments}}


def talk(shell: Shell, *messages: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    """Send messages, each after the answer to the one before, close, and read all that was written to stdout."""
    running = shell.process("mcp", stdin=subprocess.PIPE)
    assert running.stdin is not None
    assert running.stdout is not None
    lines = []
    for number, message in enumerate(messages):
        running.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, **message}) + "\n")
        running.stdin.flush()
        lines.append(running.stdout.readline())
    out, _ = running.communicate(timeout=PATIENCE_S)
    return running.returncode, [json.loads(line) for line in (*lines, *out.splitlines())]


@pytest.mark.requirement("I-12")
def test_without_a_server_the_store_is_opened_and_stdout_holds_protocol_alone(shell: Shell):
    code, said = talk(
        shell,
        BEGIN,
        call("learn", text="The harbour office of Lisgate opens at 0730."),
        call("recall", cue="When does the harbour office of Lisgate open?"),
    )
    known = shell("recall", "harbour office of Lisgate", "--json").json

    assert (code, [each["id"] for each in said]) == (0, [0, 1, 2])
    assert said[0]["result"]["serverInfo"]["name"] == "festinger"
    assert said[1]["result"]["structuredContent"]["action"] == "stored"
    assert len(said[2]["result"]["structuredContent"]["notes"]) == 1
    assert [each["origin"] for each in known["items"]] == ["model"]


@pytest.mark.requirement("I-12", "I-14")
def test_a_client_is_answered_while_the_store_is_away(bare_shell: Shell):
    away = {"FESTINGER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    shell = Shell(home=bare_shell.home, database=None, environment={**bare_shell.environment, **away})

    code, said = talk(shell, BEGIN, {"method": "tools/list"}, call("brief"), call("brief"))

    assert code == 0
    assert len(said[1]["result"]["tools"]) == 6
    for answer in said[2:]:
        assert answer["result"]["isError"]
        assert answer["result"]["structuredContent"]["error"]["name"] == "store_down"
