"""Writes Festinger into the configuration files of coding agents, and takes it out again.

Each tool gets hooks, the MCP server and a skill. An edit keeps every byte that is not ours. What a file held before
is backed up; a file that nobody changed since gets exactly these bytes back, and from any other only our own entries
are removed. All files of a tool are read and checked before the first is written. The formats and the versions they
were read from stand in `docs/howto/connect-coding-agents.md`.
"""

import json
import os
import re
import shlex
import stat
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from festinger.errors import BadInput
from festinger.integrations import jsonc
from festinger.integrations.hook import find_project_agent
from festinger.store.paths import make_folder, open_private_file

TOOLS = ("claude-code", "codex", "cursor", "opencode")
NAME = "festinger"
HOOK = "festinger-hook"
HOOK_TIMEOUT = 2
"""Seconds; a hook ends by itself long before."""
CLAUDE_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")
CODEX_EVENTS = CLAUDE_EVENTS[:-1]
CURSOR_EVENTS = ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "stop", "preCompact", "sessionEnd")
REMARKS = {
    "codex": "Codex runs new hooks only once you trust them: open `/hooks` there. It has no event for a session's end.",
    "cursor": "Cursor's prompt hook cannot add notes: they come at the start of a session and by the tool `recall`.",
    "opencode": "The plugin is for OpenCode 1; OpenCode 2 gets the MCP server and the skill.",
}
TALLIES = {"answered": b"a", "abstained": b"n", "captured": b"c", "late": b"l", "unreached": b"u", "failed": b"f"}
"""The letters that `hook` writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonEdit:
    """Members and items of a JSON file. `add` takes a text without ours, or `None` where there is no file."""

    path: Path
    members: Mapping[jsonc.Path, Any] = field(default_factory=dict)
    items: Mapping[jsonc.Path, Any] = field(default_factory=dict)
    """By the list that they are appended to."""
    new: str = "{}\n"

    def add(self, text: str | None) -> str:
        text = text if text and text.strip() else self.new
        for path, value in self.members.items():
            text = jsonc.insert_value(text, path, value)
        for path, value in self.items.items():
            text = jsonc.insert_value(text, path, value, in_list=True)
        return text

    def strip(self, text: str) -> str:
        if not text.strip():
            return text
        for path in self.members:
            if (node := jsonc.find_node(jsonc.parse_json(text), path)) is not None:
                if not _is_our_server(node.value):
                    raise BadInput(f"`{'.'.join(path)}` is there already and is not ours.", hint="Rename that entry.")
                text = jsonc.remove_part(text, path)
        for path in self.items:
            while (at := _find_our_item(text, path)) is not None:
                text = jsonc.remove_part(text, path, at)
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlEdit:
    """A table at the end of the file, where a table may always stand."""

    path: Path
    table: str
    content: str

    def add(self, text: str | None) -> str:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        added = f"{text or ''}{gap}[{self.table}]\n{self.content}"
        _parse_toml(added)
        return added

    def strip(self, text: str) -> str:
        _parse_toml(text)
        ours = rf"\n?^\[{re.escape(self.table)}\]\n(?:(?!\s*\[).*\n?)*"
        for found in re.finditer(ours, text, re.MULTILINE):
            if not _is_our_server(_parse_toml(found[0])["mcp_servers"][NAME]):
                raise BadInput(f"`{self.table}` is there already and is not ours.", hint="Rename that table.")
        return re.sub(ours, "", text, flags=re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeFileEdit:
    path: Path
    content: str

    def add(self, text: str | None) -> str:
        if text is not None:
            raise BadInput("There is a file that is not ours.", hint="Move it away, then connect again.")
        return self.content

    def strip(self, text: str) -> str | None:
        return None if text == self.content else text


ConfigEdit = JsonEdit | TomlEdit | WholeFileEdit


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    path: Path
    before: str | None
    """Without ours."""
    current: str | None
    after: str | None

    @property
    def action(self) -> str:
        if self.current == self.after:
            return "unchanged"
        return "created" if self.current is None else "removed" if self.after is None else "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledCommands:
    """The commands that a tool is told to run, by absolute path."""

    festinger: Path
    hook: Path
    folder: Path
    """Where the hook finds its connection; see `hook`."""

    def hook_command(self, tool: str) -> list[str]:
        return [str(self.hook), tool, str(self.folder)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConfigLocation:
    """A tool, for all of a person's projects or in one."""

    tool: str
    person: Path
    project: Path | None
    environment: Mapping[str, str]

    @property
    def folder(self) -> Path:
        """Where the tool looks for its configuration."""
        name = f".{self.tool.partition('-')[0]}"
        if self.project is not None:
            return self.project / name
        if self.tool == "opencode":
            return Path(self.environment.get("XDG_CONFIG_HOME") or self.person / ".config") / "opencode"
        moved = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}.get(self.tool, "")
        return Path(self.environment.get(moved) or self.person / name)


def build_edits(place: ToolConfigLocation, commands: InstalledCommands) -> list[ConfigEdit]:
    tool, folder, project = place.tool, place.folder, place.project
    own = project or folder
    hook = shlex.join(commands.hook_command(tool))
    handler = {"type": "command", "command": hook, "timeout": HOOK_TIMEOUT}
    server: dict[str, Any] = {
        "command": str(commands.festinger),
        "args": ["mcp", *(["--agent", find_project_agent(str(project))] if project else ["--here"])],
    }
    edits: list[ConfigEdit]
    if tool == "claude-code":
        config = folder if place.environment.get("CLAUDE_CONFIG_DIR") else place.person
        edits = [
            JsonEdit(
                path=folder / ("settings.local.json" if project else "settings.json"),
                items={("hooks", event): {"hooks": [handler]} for event in CLAUDE_EVENTS},
            ),
            JsonEdit(
                path=project / ".mcp.json" if project else config / ".claude.json",
                members={("mcpServers", NAME): {"type": "stdio", **server}},
            ),
        ]
    elif tool == "codex":
        content = "".join(f"{key} = {json.dumps(value)}\n" for key, value in server.items())
        edits = [
            JsonEdit(
                path=folder / "hooks.json", items={("hooks", name): {"hooks": [handler]} for name in CODEX_EVENTS}
            ),
            TomlEdit(path=folder / "config.toml", table=f"mcp_servers.{NAME}", content=content),
        ]
    elif tool == "cursor":
        entry = {"command": hook, "timeout": HOOK_TIMEOUT}
        edits = [
            JsonEdit(
                path=folder / "hooks.json",
                items={("hooks", event): entry for event in CURSOR_EVENTS},
                new='{\n  "version": 1\n}\n',
            ),
            JsonEdit(path=folder / "mcp.json", members={("mcpServers", NAME): server}),
        ]
    else:
        plugin = _load_text("opencode.js").replace("__HOOK__", json.dumps(commands.hook_command(tool)))
        name = "opencode.jsonc" if (own / "opencode.jsonc").exists() else "opencode.json"
        local = {"type": "local", "command": [server["command"], *server["args"]], "enabled": True}
        edits = [
            WholeFileEdit(path=folder / "plugins" / f"{NAME}.js", content=plugin),
            JsonEdit(path=own / name, members={("mcp", NAME): local}),
        ]
    skills = (project or place.person) / ".agents" if tool == "codex" else folder
    return [*edits, WholeFileEdit(path=skills / "skills" / NAME / "SKILL.md", content=_load_text("skill.md"))]


def _load_text(name: str) -> str:
    return files("festinger.integrations").joinpath(name).read_text("utf-8")


def plan_changes(edits: Sequence[ConfigEdit], folder: Path, *, connect: bool) -> list[FileChange]:
    """Work out what each file will hold. Raises `BadInput` for a file that we must not or cannot edit."""
    records, changes = _load_records(folder), []
    for edit in edits:
        try:
            current = _read(edit.path)
            record = records.get(str(edit.path))
            if record is not None and current is not None and _digest(current) == record["after"]:
                before = (folder / record["before"]).read_bytes().decode() if record["before"] else None
            else:
                before = None if current is None else edit.strip(current)
            after = edit.add(before) if connect else before
        except BadInput as error:
            raise BadInput(f"`{edit.path}` is left as it is: {error.message}", hint=error.hint) from error
        changes.append(FileChange(path=edit.path, before=before, current=current, after=after))
    return changes


def write_config_changes(tool: str, changes: Sequence[FileChange], folder: Path, *, connect: bool) -> None:
    """Write the files, with a backup and a record of each."""
    records = _load_records(folder)
    make_folder(folder)
    for change in changes:
        record = records.pop(str(change.path), None)
        if connect:
            assert change.after is not None
            backup = f"{_digest(str(change.path))[:16]}.before"
            if change.before is not None:
                write_private_file(folder / backup, change.before)
            kept = backup if change.before is not None else None
            records[str(change.path)] = {"tool": tool, "before": kept, "after": _digest(change.after)}
        # The record first: if writing stops midway, the next run knows what the file held.
        write_private_file(folder / "connected.json", json.dumps(records, indent=2))
        if change.current != change.after:
            _write(change.path, change.after)
        if not connect and record is not None and record["before"]:
            (folder / record["before"]).unlink(missing_ok=True)


def summarize_hooks(folder: Path) -> list[dict[str, Any]]:
    """For each tool, the files that we changed and how its hooks ended."""
    records, rows = _load_records(folder), []
    for tool in TOOLS:
        changed = [path for path, record in records.items() if record["tool"] == tool]
        try:
            letters = (folder / f"{tool}.tally").read_bytes()
        except FileNotFoundError:
            letters = b""
        rows.append({"tool": tool, "files": changed, **{name: letters.count(each) for name, each in TALLIES.items()}})
    return rows


def _is_our_server(value: Any) -> bool:
    """Whether an MCP server is `festinger mcp`, wherever it is installed."""
    if not isinstance(value, dict):
        return False
    command = value.get("command")
    words = command if isinstance(command, list) else [command, *value.get("args", ())]
    return Path(str(words[0])).name == NAME and words[1:2] == ["mcp"]


def _find_our_item(text: str, path: jsonc.Path) -> int | None:
    node = jsonc.find_node(jsonc.parse_json(text), path)
    found = node.value if node is not None and isinstance(node.value, list) else []
    return next((at for at, item in enumerate(found) if HOOK in json.dumps(item)), None)


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"This is not TOML: {error}.") from error


def _read(path: Path) -> str | None:
    try:
        # As bytes, because reading text would change line ends.
        text = path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput("It cannot be read as text.") from error
    # Root may write anything, but a person who made a file read-only meant it.
    if not path.stat().st_mode & stat.S_IWUSR or not os.access(path, os.W_OK):
        raise BadInput("It is read-only.", hint="Make it writable, then repeat.")
    return text


def _write(path: Path, text: str | None) -> None:
    """Replace a file at once, with its mode and owner; a link stays a link."""
    if text is None:
        path.unlink(missing_ok=True)
        return
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{NAME}")
    beside.write_bytes(text.encode())
    if path.exists():
        known = path.stat()
        beside.chmod(stat.S_IMODE(known.st_mode))
        if (known.st_uid, known.st_gid) != (os.geteuid(), os.getegid()):
            os.chown(beside, known.st_uid, known.st_gid)
    beside.replace(path)


def write_private_file(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    with os.fdopen(open_private_file(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(text.encode())


def _load_records(folder: Path) -> dict[str, dict[str, Any]]:
    try:
        found: dict[str, dict[str, Any]] = json.loads((folder / "connected.json").read_bytes())
    except FileNotFoundError:
        return {}
    return found


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
