"""What does a command have at hand?

A `CommandContext` knows what the person asked for (which space, which database, JSON or tables) and how to answer:
results on stdout, everything else on stderr. With `--json` stdout holds one JSON document and nothing more.
It opens settings and the store when a command asks, and imports them only then: `festinger version` touches
nothing and waits for nothing.
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

from festinger.cli.terminal import escape_line, escape_text, to_json
from festinger.errors import BadInput, FestingerError, NotFound
from festinger.ids import SpaceId

if TYPE_CHECKING:
    from rich.table import Table

    from festinger.runtime.app import App, StartOptions
    from festinger.settings.live import LiveSettings

UNWRAPPED = 10_000
"""Columns of an output that is no terminal: a script wants one line a row."""


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
    """A running server to ask, for commands that can; none opens the store."""
    key: str | None = field(default=None, repr=False)
    """The key that is shown to that server."""
    door: str = "cli"
    flags: Mapping[str, Any] = field(default_factory=dict)

    # answering

    def show(self, document: Any, *, table: "Table | None" = None, text: str = "") -> None:
        """The result: as one JSON document, or as the table that people read, or as `text` if it has no row."""
        if self.as_json:
            _write(sys.stdout, to_json(document, indent=True))
        elif table is not None and table.row_count:
            _write(sys.stdout, self._drawn(table))
        else:
            _write(sys.stdout, escape_text(text))

    def line(self, record: Any, text: str) -> None:
        """One record of a stream: NDJSON, or a line."""
        _write(sys.stdout, to_json(record) if self.as_json else escape_line(text))

    def say(self, message: str) -> None:
        """A message beside the result; left out with `--quiet`."""
        if not self.quiet:
            _write(sys.stderr, escape_text(message))

    def tell(self, error: FestingerError) -> None:
        """What went wrong and what to do, in two lines or as JSON. It is said with `--quiet` too."""
        said = to_json(error.as_json()) if self.as_json else f"{_in_one(error.message)}\n{_in_one(error.hint)}"
        _write(sys.stderr, said)

    def table(
        self, headers: Sequence[str], rows: Iterable[Sequence[Any]], *, styles: Mapping[str, str] | None = None
    ) -> "Table":
        """Aligned columns without box art. `styles`: how a row looks that begins with this cell."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
        for header in headers:
            table.add_column(header, overflow="fold")
        for row in rows:
            # `Text`, because a plain string would be read for markup.
            style = (styles or {}).get(str(row[0])) if row else None
            table.add_row(*(Text("" if cell is None else escape_line(cell)) for cell in row), style=style)
        return table

    @property
    def colored(self) -> bool:
        """Whether stdout may be coloured: a terminal, and nobody who objects."""
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

    # asking

    @property
    def is_attended(self) -> bool:
        """Whether a person sits here who can be asked."""
        return not self.yes and sys.stdin.isatty()

    def confirm(self, word: str, what: str) -> None:
        """Ask for the typed word before something is destroyed."""
        if self.yes:
            return
        if not self.is_attended:
            raise BadInput(f"{what} This needs a person.", hint="Add `--yes` if a script may do it.")
        _write(sys.stderr, escape_text(f"{what}\nType `{word}` to go on: "), end="")
        with _interrupts():
            typed = sys.stdin.readline().strip()
        if typed != word:
            raise BadInput("Not confirmed; nothing was changed.", hint=f"Type `{word}`, or add `--yes`.")

    def secret(self, what: str) -> str:
        """A secret that the person types unseen, or that comes on standard input; never an argument."""
        with _interrupts():
            given = getpass(f"{what}: ") if sys.stdin.isatty() else sys.stdin.readline()
        if not given.strip():
            raise BadInput(f"No {what} was given.", hint="Type it when asked, or send it on standard input.")
        return given.strip()

    # opening

    def with_flags(self, flags: Mapping[str, Any], *, door: str) -> "CommandContext":
        """This desk with options of its command that are settings; those that were not given are left out."""
        given = {name: value for name, value in flags.items() if value is not None}
        return replace(self, flags={**self.flags, **given}, door=door)

    def settings(self) -> "LiveSettings":
        """The settings of this process, with the log set up as they say; the config table is laid over them
        when the store opens."""
        from festinger.settings.deployment import current_deployment
        from festinger.settings.live import LiveSettings

        flags = dict(self.flags)
        if self.database is not None:
            flags["database_url"] = self.database
        settings = LiveSettings(current_deployment(config=self.config, flags=flags))
        self.configure_logs(settings)
        return settings

    def configure_logs(self, settings: "LiveSettings | None" = None) -> None:
        """Set the log up: as the settings say for a process that stays, warnings only for a command."""
        from festinger.observability.logs import configure_logging
        from festinger.settings.tree import LogSettings
        from festinger.text.secrets import remove_secrets

        chosen = settings.now.log if settings else LogSettings()
        level = chosen.level if self.door != "cli" or chosen.level == "debug" else "warning"
        configure_logging(level=level, style=chosen.format, content=chosen.content, redact=remove_secrets)

    @asynccontextmanager
    async def app(
        self, *, start: "StartOptions | None" = None, settings: "LiveSettings | None" = None
    ) -> "AsyncIterator[App]":
        """Everything below the doors, open on the store of this command."""
        from festinger.runtime.app import StartOptions, open_app

        settings = settings or self.settings()
        async with open_app(settings, door=self.door, progress=self.say, start=start or StartOptions()) as app:
            yield app

    def space_in(self, app: "App") -> SpaceId:
        """The space of `--space`, by name or id."""
        found = app.directory.find(self.space)
        if found is None:
            raise NotFound(f"There is no space `{self.space[:80]}`.", hint="`festinger spaces` lists them.")
        return found


def _write(stream: TextIO, text: str, *, end: str = "\n") -> None:
    """Write at once, whatever the stream can show."""
    encoding = stream.encoding or "utf-8"
    stream.write((text + end).encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _in_one(message: str) -> str:
    return escape_line(" ".join(message.splitlines()))


@contextmanager
def _interrupts() -> Iterator[None]:
    """Let Ctrl-C end a question at once; the event loop would only take note of it and go on waiting."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
