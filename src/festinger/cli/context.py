"""Holds what a command works with.

A `CommandContext` knows what the person asked for (which space, which database, JSON or tables) and how to
answer: results on stdout, everything else on stderr. With `--json` stdout holds one JSON document and nothing
more. It opens settings and the store when a command asks, and imports them only then: `festinger version`
touches nothing and waits for nothing.
"""

import os
import signal
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from festinger.cli.terminal import escape_line, escape_text, to_terminal_safe_json
from festinger.errors import BadInput, FestingerError, NotFound
from festinger.ids import SpaceId

if TYPE_CHECKING:
    from rich.table import Table

    from festinger.runtime.app import App, StartOptions
    from festinger.settings.live import LiveSettings

UNWRAPPED = 10_000
"""Columns when the output is not a terminal: a script wants one line per row."""
QUIETER = {"cli": "warning", "chat": "error"}
"""Log levels of commands, which tell what matters themselves; in a chat, warnings of background work would stand between
the words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandContext:
    space: str = "main"
    agent: str = "default"
    database: str | None = None
    config: Path | None = None
    as_json: bool = False
    quiet: bool = False
    color: bool = True
    yes: bool = False
    server: str | None = None
    """A running server to ask, for commands that can; `None` opens the store."""
    key: str | None = field(default=None, repr=False)
    """The key for that server."""
    door: str = "cli"
    flags: Mapping[str, Any] = field(default_factory=dict)

    def show(self, document: Any, *, table: "Table | None" = None, text: str = "") -> None:
        """Print the result: one JSON document, or the table for people, or `text` if it has no rows."""
        if self.as_json:
            _write(sys.stdout, to_terminal_safe_json(document, indent=True))
        elif table is not None and table.row_count:
            _write(sys.stdout, self._drawn(table))
        else:
            _write(sys.stdout, escape_text(text))

    def line(self, record: Any, text: str) -> None:
        """Print one record of a stream: NDJSON, or a line."""
        _write(sys.stdout, to_terminal_safe_json(record) if self.as_json else escape_line(text))

    def say(self, message: str) -> None:
        """Print a message next to the result; omitted with `--quiet`."""
        if not self.quiet:
            _write(sys.stderr, escape_text(message))

    def tell(self, error: FestingerError) -> None:
        """Print an error and what to do, in two lines or as JSON, with `--quiet` too."""
        said = (
            to_terminal_safe_json(error.as_json())
            if self.as_json
            else f"{_join_lines(error.message)}\n{_join_lines(error.hint)}"
        )
        _write(sys.stderr, said)

    def table(
        self, headers: Sequence[str], rows: Iterable[Sequence[Any]], *, styles: Mapping[str, str] | None = None
    ) -> "Table":
        """Aligned columns without box art. `styles`: the style of a row by its first cell."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
        for header in headers:
            table.add_column(header, overflow="fold")
        for row in rows:
            # `Text`, because a plain string would be parsed as markup.
            style = (styles or {}).get(str(row[0])) if row else None
            table.add_row(*(Text("" if cell is None else escape_line(cell)) for cell in row), style=style)
        return table

    @property
    def colored(self) -> bool:
        """Whether stdout may be colored: a terminal, and nothing that objects."""
        return self.color and not os.environ.get("NO_COLOR") and sys.stdout.isatty()

    def _drawn(self, table: "Table") -> str:
        from rich.console import Console

        terminal = sys.stdout.isatty()
        console = Console(
            force_terminal=terminal,
            no_color=not self.colored,
            color_system="auto" if self.colored else None,
            width=None if terminal else UNWRAPPED,
            highlight=False,
            markup=False,
            emoji=False,
        )
        with console.capture() as drawn:
            console.print(table)
        return "\n".join(line.rstrip() for line in drawn.get().rstrip("\n").split("\n"))

    @property
    def can_ask_person(self) -> bool:
        """Whether a person is present who can be asked."""
        return not self.yes and sys.stdin.isatty()

    def confirm(self, word: str, what: str) -> None:
        """Ask for the typed word before something is destroyed."""
        if self.yes:
            return
        if not self.can_ask_person:
            raise BadInput(f"{what} This needs a person.", hint="Add `--yes` if a script may do it.")
        _write(sys.stderr, escape_text(f"{what}\nType `{word}` to go on: "), end="")
        with _allow_interrupt():
            typed = sys.stdin.readline().strip()
        if typed != word:
            raise BadInput("Not confirmed; nothing was changed.", hint=f"Type `{word}`, or add `--yes`.")

    def secret(self, what: str) -> str:
        """Read a secret, typed unseen or from standard input; never an argument."""
        with _allow_interrupt():
            given = getpass(f"{what}: ") if sys.stdin.isatty() else sys.stdin.readline()
        if not given.strip():
            raise BadInput(f"No {what} was given.", hint="Type it when asked, or send it on standard input.")
        return given.strip()

    def with_flags(self, flags: Mapping[str, Any], *, door: str) -> "CommandContext":
        """This context with the command's options that are settings; those not given are left out."""
        given = {name: value for name, value in flags.items() if value is not None}
        return replace(self, flags={**self.flags, **given}, door=door)

    def settings(self) -> "LiveSettings":
        """The settings of this process, with the log configured; opening the store adds the config table."""
        from festinger.settings.deployment import capture_deployment
        from festinger.settings.live import LiveSettings

        flags = dict(self.flags)
        if self.database is not None:
            flags["database_url"] = self.database
        settings = LiveSettings(capture_deployment(config=self.config, flags=flags))
        self.configure_logs(settings)
        return settings

    def configure_logs(self, settings: "LiveSettings | None" = None) -> None:
        """Configure the log: by the settings for a server, warnings only for a command, errors only for a chat."""
        from festinger.observability.logs import configure_logging
        from festinger.settings.tree import LogSettings
        from festinger.text.secrets import remove_secrets

        chosen = settings.now.log if settings else LogSettings()
        level = chosen.level if chosen.level == "debug" else QUIETER.get(self.door, chosen.level)
        configure_logging(level=level, style=chosen.format, content=chosen.content, redact=remove_secrets)

    @asynccontextmanager
    async def app(
        self, *, start: "StartOptions | None" = None, settings: "LiveSettings | None" = None
    ) -> "AsyncIterator[App]":
        """The app, open on the store of this command."""
        from festinger.runtime.app import StartOptions, open_app

        settings = settings or self.settings()
        async with open_app(settings, door=self.door, progress=self.say, start=start or StartOptions()) as app:
            yield app

    def resolve_space_option(self, app: "App") -> SpaceId:
        """The space of `--space`, by name or id."""
        found = app.directory.find(self.space)
        if found is None:
            raise NotFound(f"There is no space `{self.space[:80]}`.", hint="`festinger spaces` lists them.")
        return found


def _write(stream: TextIO, text: str, *, end: str = "\n") -> None:
    """Write at once, whatever characters the stream supports."""
    encoding = stream.encoding or "utf-8"
    stream.write((text + end).encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _join_lines(message: str) -> str:
    return escape_line(" ".join(message.splitlines()))


@contextmanager
def _allow_interrupt() -> Iterator[None]:
    """Let Ctrl-C end a prompt at once; the event loop would only note it and keep waiting."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
