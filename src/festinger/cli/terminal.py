"""Prints other people's text on a terminal as text and nothing else.

Control characters, escape sequences and bidirectional marks are shown by their number, so that a stored value
cannot color, move, hide or answer anything. Nothing is parsed as markup, and half a character does not stop a
command.

What takes more than a second shows a bar on a terminal, elsewhere a line every ten seconds, so that a log is not
filled; with `--quiet`, nothing.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from festinger.clock import Stopwatch, iso, system_stopwatch

if TYPE_CHECKING:
    from festinger.cli.context import CommandContext

SHORT_ID = 18
"""Characters of an id that make it unique: its millisecond and the count within it."""

_TURNS = r"\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_BREAKS_TEXT = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_TURNS}\ud800-\udfff]")
_BREAKS_LINE = re.compile(rf"[\x00-\x1f\x7f-\x9f{_TURNS}\ud800-\udfff]")
_NOT_ESCAPED_BY_JSON = re.compile(rf"[\x7f-\x9f{_TURNS}]")


def escape_text(text: object) -> str:
    return _BREAKS_TEXT.sub(_shown, str(text))


def escape_line(text: object) -> str:
    """Escape a cell, a value, anything that must stay on its line."""
    return _BREAKS_LINE.sub(_shown, str(text))


def to_terminal_safe_json(document: Any, *, indent: bool = False) -> str:
    """One JSON document, with everything escaped that a terminal would obey."""
    options = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    raw = orjson.dumps(document, default=escape_text, option=options)
    return _NOT_ESCAPED_BY_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", raw.decode())


def format_time(at: datetime | None) -> str:
    """A time to the second, for people; empty when there is none."""
    return iso(at.replace(microsecond=0)) if at else ""


def _shown(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


LINE_EVERY_SECONDS = 10.0

Report = Callable[[int, int | None, str], None]
"""Called with what is done, the total if known, and a note."""


@contextmanager
def show_progress(context: "CommandContext", what: str, *, stopwatch: Stopwatch = system_stopwatch) -> Iterator[Report]:
    """Show the progress of a long operation while the block runs."""
    if context.quiet:
        yield lambda _done, _total, _note: None
    elif sys.stderr.isatty():
        with _show_progress_bar(context, what) as report:
            yield report
    else:
        yield build_line_reporter(context.say, what, stopwatch=stopwatch)


def build_line_reporter(say: Callable[[str], None], what: str, *, stopwatch: Stopwatch) -> Report:
    """Report as lines, at most one in ten seconds; a shorter operation prints none."""
    began = said = stopwatch()

    def report(done: int, total: int | None, note: str) -> None:
        nonlocal said
        now = stopwatch()
        if now - said >= LINE_EVERY_SECONDS:
            said = now
            say(format_progress(what, done, total=total, note=note, seconds=now - began))

    return report


def format_progress(what: str, done: int, *, total: int | None, note: str, seconds: float) -> str:
    """One line: done, total, rate, time left."""
    rate = done / seconds if seconds > 0 else 0.0
    parts = [f"{what}: {done}{f'/{total}' if total else ''} {note}".rstrip(), f"{rate:.1f}/s"]
    if total and rate:
        parts.append(f"{max(0.0, (total - done) / rate):.0f} s left")
    return ", ".join(parts)


@contextmanager
def _show_progress_bar(context: "CommandContext", what: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=sys.stderr, no_color=not context.colored, emoji=False, highlight=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(escape(escape_line(what)), total=None, rate="")

        def report(done: int, total: int | None, note: str) -> None:
            speed = bar.tasks[0].speed
            rate = f"{speed:.1f}/s" if speed else ""
            described = escape(escape_line(f"{what} {note}".rstrip()))
            bar.update(task, completed=done, total=total, description=described, rate=rate)

        yield report
