"""Shows the progress of long operations.

What takes more than a second shows a bar on a terminal, elsewhere a line every ten seconds, so that a log is
not filled; with `--quiet`, nothing. The operation reports; nothing here knows what it is.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from festinger.cli.context import CommandContext
from festinger.cli.terminal import escape_line
from festinger.clock import Stopwatch, system_stopwatch

LINE_EVERY_SECONDS = 10.0

Report = Callable[[int, int | None, str], None]
"""Called with what is done, the total if known, and a note."""


@contextmanager
def show_progress(context: CommandContext, what: str, *, stopwatch: Stopwatch = system_stopwatch) -> Iterator[Report]:
    """Show the progress of a long operation while the block runs."""
    if context.quiet:
        yield lambda _done, _total, _note: None
    elif sys.stderr.isatty():
        with _bar(context, what) as report:
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
def _bar(context: CommandContext, what: str) -> Iterator[Report]:
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
