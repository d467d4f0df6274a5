"""What do the rendered pages of the reference say?

Each page is made from the thing itself: commands from the command line's tree, tables from the migrations, events
from their catalogue, names from the public door. `python -m tests.reference` writes them; a test compares them
with what is written. A page whose source is not built yet is left out. Settings, errors and metrics are
rendered by their own rooms.
"""

import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from festinger.observability import pages as seeing
from festinger.settings.reference import settings_page

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "reference"
MIGRATIONS = ROOT / "src" / "festinger" / "store" / "migrations"

COMMON_OPTIONS = "Common options"
"""The help panel of options that every command has; they are listed once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    path: str
    help: str
    arguments: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    common: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    name: str
    comment: str
    columns: Mapping[str, str]
    """Each column's type with its comment, if it has one."""


def command_line() -> Any | None:
    """The tree of commands as click sees it, if there is one yet."""
    from typer.main import get_command

    main = _module("festinger.cli.main")
    return get_command(main.command_line()) if main else None


def commands() -> list[Command]:
    root = command_line()
    return sorted(_walk(root, ""), key=lambda command: command.path) if root is not None else []


def _walk(node: Any, path: str) -> Iterator[Command]:
    below = getattr(node, "commands", {})
    for name, command in below.items():
        if not command.hidden:
            yield from _walk(command, f"{path} {name}".strip())
    if path and (not below or getattr(node, "invoke_without_command", False)):
        yield _command(node, path)


def _command(node: Any, path: str) -> Command:
    options = [one for one in node.params if one.param_type_name == "option" and "--help" not in one.opts]
    common = [one for one in options if getattr(one, "rich_help_panel", None) == COMMON_OPTIONS]
    return Command(
        path=path,
        help=inspect.cleandoc(node.help or "").strip(),
        arguments=tuple(one.name.upper() for one in node.params if one.param_type_name == "argument"),
        options={", ".join(one.opts): one.help or "" for one in options if one not in common},
        common={", ".join(one.opts): one.help or "" for one in common},
    )


def tables() -> list[Table]:
    """Every table that the migrations make, in the order of their names."""
    sql = "\n".join(path.read_text() for path in sorted(MIGRATIONS.glob("*.sql")))
    made = re.findall(r"create table (?:if not exists )?(\w+) \((.*?)\n\)", sql, re.DOTALL)
    gone = set(re.findall(r"drop table (?:if exists )?(\w+)", sql))
    about = dict(re.findall(r"comment on table (\w+) is\s+'((?:[^']|'')*)'", sql))
    notes = dict(re.findall(r"comment on column (\w+\.\w+) is\s+'((?:[^']|'')*)'", sql))
    return [
        Table(name=name, comment=_unquoted(about.get(name, "")), columns=_columns(name, body, notes))
        for name, body in sorted(made)
        if name not in gone
    ]


def _columns(table: str, body: str, notes: Mapping[str, str]) -> dict[str, str]:
    found = re.findall(r"^    ([a-z_]\w*)\s+([a-z]\w*(?:\(\d+\))?(?:\[\])?)", body, re.MULTILINE)
    not_columns = ("primary", "unique", "foreign", "check", "constraint", "exclude")
    return {
        name: " – ".join(filter(None, [kind, _unquoted(notes.get(f"{table}.{name}", ""))]))
        for name, kind in found
        if name not in not_columns
    }


def _unquoted(text: str) -> str:
    return text.replace("''", "'")


def commands_page() -> str:
    found = commands()
    common = next((command.common for command in found if command.common), {})
    parts = ["# Commands\n\n`festinger COMMAND --help` prints the same.\n"]
    if common:
        parts += [
            "\n## Options of every command\n\n",
            *(f"- `{name}`: {meaning}\n" for name, meaning in common.items()),
        ]
    for command in found:
        usage = " ".join(["festinger", command.path, *command.arguments])
        parts.append(f"\n## `{usage}`\n\n{command.help}\n")
        if command.options:
            parts += ["\n", *(f"- `{name}`: {meaning}\n" for name, meaning in command.options.items())]
    return "".join(parts)


def tables_page() -> str:
    parts = [
        "# Tables\n\nEvery table belongs to one room, and only that room writes it. The job engine's own are its own.\n"
    ]
    for table in tables():
        parts.append(f"\n## `{table.name}`\n\n")
        if table.comment:
            parts.append(f"{table.comment[0].upper()}{table.comment[1:]}.\n\n")
        parts += [f"- `{name}`: {kind}\n" for name, kind in table.columns.items()]
    return "".join(parts)


def events_page() -> str:
    catalogue = importlib.import_module("festinger.events.catalogue").CATALOGUE
    parts = [
        "# Events\n\nEach event also carries: id, name, version, space, subject, agent, session, trace, caused_by, at.\n\n"
        "| event | payload |\n|---|---|\n"
    ]
    for name, listed in sorted(catalogue.items()):
        fields = ", ".join(f"`{key}` ({kind.name})" for key, kind in listed.fields.items())
        parts.append(f"| `{name}` | {fields or '–'} |\n")
    return "".join(parts)


def library_page() -> str:
    door = importlib.import_module("festinger")
    parts = ["# Library\n\nWhat `import festinger` gives. Other values are imported from their rooms.\n"]
    told = (f"\n## `festinger.{name}`\n\n{_told(name, getattr(door, name))}\n" for name in sorted(door.__all__))
    return "".join([*parts, *told])


def _told(name: str, value: Any) -> str:
    if isinstance(value, str):
        return f"`{value!r}`" if name != "__version__" else "The version, as text."
    return inspect.cleandoc(value.__doc__ or "").strip()


def index_page() -> str:
    """The page that lists the others."""
    names = sorted({path.name for path in PAGES.glob("*.md")} | set(pages()))
    listed = "".join(f"- [{name.removesuffix('.md')}]({name})\n" for name in names if name != "README.md")
    return (
        "# Reference\n\nRendered from the code; a test fails when a page and the code differ. "
        f"`make docs` writes them again.\n\n{listed}"
    )


def pages() -> dict[str, Callable[[], str]]:
    """Every page whose source exists, with the function that renders it."""
    found: dict[str, Callable[[], str]] = {
        "tables.md": tables_page,
        "metrics.md": seeing.metrics_page,
        "errors.md": seeing.errors_page,
        "settings.md": settings_page,
    }
    if command_line() is not None:
        found["commands.md"] = commands_page
    if _module("festinger.events.catalogue"):
        found["events.md"] = events_page
    if hasattr(importlib.import_module("festinger"), "__all__"):
        found["library.md"] = library_page
    return found


def _module(name: str) -> Any | None:
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


if __name__ == "__main__":
    for page, render in pages().items():
        (PAGES / page).write_text(render())
    (PAGES / "README.md").write_text(index_page())
