"""Coding agents as a server sees them: the commands that `connect` wrote, run with recorded payloads."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.shell import Said, Shell

from festinger.integrations.hook import TOTAL_VARIABLE

PAYLOADS = Path(__file__).parent.parent / "integrations" / "payloads"
CONFIGS = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "cursor": ".cursor/hooks.json"}
PATIENT = {TOTAL_VARIABLE: "60"}
"""What a story tells must not hang on how quick the machine is."""


def recorded(tool: str, event: str, **words: str) -> Any:
    """A recorded payload with this session, folder and text."""
    text = json.dumps(json.loads((PAYLOADS / f"{tool}.json").read_bytes())["events"][event])
    for word, given in words.items():
        text = text.replace(f'"{word.upper()}"', json.dumps(given))
    return json.loads(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodingAgent:
    """A tool in a folder, with one session."""

    shell: Shell
    tool: str
    cwd: Path
    session: str = "5e551011"

    def command(self, event: str) -> str:
        """The command that the tool's configuration names for an event."""
        config = json.loads((self.shell.home / CONFIGS[self.tool]).read_bytes())
        [entry] = config["hooks"][event]
        found: str = entry["command"] if "command" in entry else entry["hooks"][0]["command"]
        return found

    def hook(self, event: str, text: str = "", **environment: str) -> Said:
        """Have the tool call its hook."""
        payload = recorded(self.tool, event, session=self.session, cwd=str(self.cwd), text=text)
        done = subprocess.run(
            self.command(event),
            shell=True,
            input=json.dumps(payload),
            text=True,
            capture_output=True,
            env={**os.environ, **(environment or PATIENT)},
            check=False,
        )
        return Said(code=done.returncode, out=done.stdout, err=done.stderr)

    def turn(self, prompt: str, reply: str) -> Said:
        """A prompt and the reply to it; what the prompt's hook said."""
        if self.tool == "cursor":
            said = self.hook("beforeSubmitPrompt", prompt)
            self.hook("afterAgentResponse", reply)
            self.hook("stop")
            return said
        said = self.hook("UserPromptSubmit", prompt)
        self.hook("Stop", reply)
        return said


def notes(said: Said) -> str:
    """What a hook adds to the context."""
    if not said.out:
        return ""
    answer = said.json
    shown: str = answer.get("additional_context") or answer["hookSpecificOutput"]["additionalContext"]
    return shown


def counts(shell: Shell, tool: str) -> dict[str, int]:
    """What `connect status` says of a tool."""
    [row] = [row for row in shell("connect", "status", "--json").json if row["tool"] == tool]
    return {name: count for name, count in row.items() if isinstance(count, int) and count}
