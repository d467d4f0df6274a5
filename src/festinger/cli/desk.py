"""What does a command have at hand?

A `Desk` knows what the person asked for (which space, which database, JSON or tables) and how to answer:
results on stdout, everything else on stderr. With `--json` stdout holds one JSON document and nothing more.
It opens settings and the store when a command asks, so that `festinger version` touches nothing.
"""

import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from festinger.errors import BadInput
from festinger.seeing.logs import configure
from festinger.settings.deployment import this_process
from festinger.settings.live import LiveSettings
from festinger.text.redaction import without_secrets

if TYPE_CHECKING:
    from festinger.app.wiring import App, Start


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    space: str = "main"
    agent: str = "default"
    database: str | None = None
    config: Path | None = None
    as_json: bool = False
    quiet: bool = False
    color: bool = True
    yes: bool = False
    door: str = "cli"
    flags: Mapping[str, Any] = field(default_factory=dict)

    # answering

    def show(self, document: Any, *, table: Table | None = None, text: str = "") -> None:
        """The result: as one JSON document, or as the table or lines that people read."""
        if self.as_json:
            sys.stdout.buffer.write(orjson.dumps(document, default=str, option=orjson.OPT_INDENT_2) + b"\n")
            sys.stdout.flush()
        elif table is not None and table.row_count:
            self._out.print(table)
        else:
            self._out.print(text, soft_wrap=True)

    def line(self, record: Any, text: str) -> None:
        """One record of a stream: NDJSON, or a line."""
        if self.as_json:
            sys.stdout.buffer.write(orjson.dumps(record, default=str) + b"\n")
            sys.stdout.flush()
        else:
            self._out.print(text, soft_wrap=True)

    def say(self, message: str) -> None:
        """A message beside the result; left out with `--quiet`."""
        if not self.quiet:
            self._err.print(message, soft_wrap=True)

    def table(self, headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
        """Aligned columns without box art."""
        table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
        for header in headers:
            table.add_column(header, overflow="fold")
        for row in rows:
            table.add_row(*("" if cell is None else str(cell) for cell in row))
        return table

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """A bar on stderr; nothing with `--quiet`."""
        with Progress(
            console=self._err, disable=self.quiet or not sys.stderr.isatty(), transient=True
        ) as bar:
            yield bar

    def confirm(self, word: str, what: str) -> None:
        """Ask for the typed word before something is destroyed."""
        if self.yes:
            return
        if not sys.stdin.isatty():
            raise BadInput(f"{what} This needs a person.", hint="Add `--yes` if a script may do it.")
        self._err.print(f"{what}\nType [bold]{word}[/bold] to go on: ", end="")
        if input().strip() != word:
            raise BadInput("Not confirmed; nothing was changed.", hint=f"Type `{word}`, or add `--yes`.")

    # opening

    def with_flags(self, flags: Mapping[str, Any], *, door: str) -> "Desk":
        """This desk with options of its command that are settings; those that were not given are left out."""
        given = {name: value for name, value in flags.items() if value is not None}
        return replace(self, flags={**self.flags, **given}, door=door)

    def settings(self) -> LiveSettings:
        """The settings of this process; the config table is laid over them when the store opens."""
        flags = dict(self.flags)
        if self.database is not None:
            flags["database_url"] = self.database
        return LiveSettings(this_process(config=self.config, flags=flags))

    def configure_logs(self, settings: LiveSettings) -> None:
        """Set the log up: as the settings say for a process that stays, warnings only for a command."""
        chosen = settings.now.log
        level = chosen.level if self.door != "cli" or chosen.level == "debug" else "warning"
        configure(level=level, style=chosen.format, content=chosen.content, redact=without_secrets)

    @asynccontextmanager
    async def app(
        self, *, start: "Start | None" = None, settings: LiveSettings | None = None
    ) -> "AsyncIterator[App]":
        """Everything below the doors, open on the store of this command."""
        # Imported here: the wiring brings every room, which takes a second that `version` need not wait.
        from festinger.app.wiring import Start, open_app

        settings = settings or self.settings()
        self.configure_logs(settings)
        async with open_app(settings, door=self.door, progress=self.say, start=start or Start()) as app:
            yield app

    @property
    def _out(self) -> Console:
        return self._console(sys.stdout)

    @property
    def _err(self) -> Console:
        return self._console(sys.stderr)

    def _console(self, file: Any) -> Console:
        system: Literal["auto"] | None = "auto" if self.color and "NO_COLOR" not in os.environ else None
        # Piped output is not wrapped: a script wants one line a row.
        width = None if file.isatty() else 10_000
        return Console(
            file=file, color_system=system, width=width, highlight=False, markup=file is sys.stderr
        )
