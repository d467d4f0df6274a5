"""What do the rendered pages of the reference say?

Each page is made from the thing itself: commands from the command line's tree, tables from the migrations, events
from their catalogue, settings, metrics and errors from their lists, names from the public door. `python -m
tests.reference` writes them; a test compares them with what is written.
"""

import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from festinger.errors import FestingerError
from festinger.observability.metrics import LISTED, MetricInfo
from festinger.settings.keys import KEYS, SettingKey, format_value

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


SETTINGS_HEAD = """\
# Settings

Each setting has a default. It can be set, from the weakest source to the strongest, in

1. a YAML file: `--config FILE`, else `FESTINGER_CONFIG`, else `./festinger.yaml`, else `~/.config/festinger/config.yaml`;
2. the console, the API or `festinger settings set`, which keep it in the database;
3. the environment: `FESTINGER_` and the path with `__`, such as `FESTINGER_STORE__POOL_MAX=20`;
4. the command line.

What the environment or the command line sets is pinned: the console and the API cannot change it.
A *live* setting is in force at once when it changes, a *restart* one after the next start. Settings marked
*early* are read before the database is open and cannot be kept in it; neither can secrets. Those marked
*per space* may have another value in each space. An unknown name anywhere is refused with the nearest known
one, and a bad edit of a running process changes nothing.

Four variables are no settings: `FESTINGER_CONFIG` names the file, `FESTINGER_SECRET_KEY` holds the master
key, `FESTINGER_KEY` is the key that commands show to another server (`--server`), and `FESTINGER_NO_BROWSER` keeps
commands from opening a browser.
"""


def settings_page() -> str:
    """Return the whole page."""
    sections = groupby(KEYS.values(), key=lambda key: key.name.partition(".")[0] if "." in key.name else "")
    return SETTINGS_HEAD + "".join(_settings_section(name, keys) for name, keys in sections)


def _settings_section(name: str, keys: Iterable[SettingKey]) -> str:
    title = f"`{name}`" if name else "General"
    return f"\n## {title}\n\n| key | default | may be | in force | meaning |\n|---|---|---|---|---|\n" + "".join(
        _setting_row(key) for key in keys
    )


def _setting_row(key: SettingKey) -> str:
    default = format_value(key, key.default)
    marks = [key.when, *(["early"] if key.early else []), *(["per space"] if key.per_space else [])]
    cells = [f"`{key.name}`", f"`{default}`" if default else "–", key.allowed, ", ".join(marks), key.meaning]
    return "| " + " | ".join(cells) + " |\n"


def metrics_page() -> str:
    """Render every metric under its scraped name."""
    rows = sorted(_metric_row(metric) for metric in LISTED)
    return (
        "# Metrics\n\n`/admin/metrics` shows them in the Prometheus text format. Histograms reach from 1 ms to 10 s.\n\n"
        "| name | type | labels | meaning |\n|---|---|---|---|\n" + "".join(rows)
    )


def _metric_row(metric: MetricInfo) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "–"
    return f"| `{metric.scraped_name}` | {metric.kind} | {labels} | {metric.meaning} |\n"


def errors_page() -> str:
    """Render every error as a caller sees it."""
    rows = [_error_row(error) for error in walk_errors()]
    return (
        '# Errors\n\nOver HTTP an error is `{"error": {"name", "message", "hint", "request_id"}}` with the status below; '
        "a command ends with the exit code.\n\n| name | status | exit | message | hint |\n|---|---|---|---|---|\n"
        + "".join(rows)
    )


def walk_errors(root: type[FestingerError] = FestingerError) -> Iterator[type[FestingerError]]:
    """Walk the error tree, parents first."""
    yield root
    for below in sorted(root.__subclasses__(), key=lambda error: error.__name__):
        if below.__module__ == FestingerError.__module__:
            yield from walk_errors(below)


def _error_row(error: type[FestingerError]) -> str:
    cells = [f"`{error.class_name()}`", str(error.http), str(error.exit), error.default_message(), error.default_hint]
    return f"| {' | '.join(cells)} |\n"


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
        "metrics.md": metrics_page,
        "errors.md": errors_page,
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
