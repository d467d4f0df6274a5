"""How is a file of statements learnt?

Part by part, with a bar. Every line has a key, its own or one made of its words and its place, so a file that was cut
off is simply learnt again: what is done is recognised, and the rest follows. A line that cannot be read is named at
the end and stops no other.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import Any

import orjson

from festinger.cli.desk import Desk
from festinger.cli.outlook import Document
from festinger.cli.progress import progress
from festinger.cli.shelf import shelf
from festinger.errors import BadInput, NotFound

PART = 200
"""Statements that are sent at once."""
MOST_NAMED = 20
"""Lines that could not be learnt which are named one by one."""
BAD_LINES_EXIT = 2
QUARANTINED = "quarantined"
JSON_STARTS = (b"{", b"[", b'"')
"""How a line begins that is meant as JSON; any other is a statement as it stands."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """How far a file is learnt."""

    total: int
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failed: list[Document] = field(default_factory=list)
    held_back: Counter[str] = field(default_factory=Counter)
    """Statements that are in quarantine, by the reason."""

    def add(self, line: int, learned: Document) -> None:
        self.done += 1
        self.counts[learned["action"]] += 1
        if "error" in learned:
            self.failed.append({"line": line, "error": learned["error"]})
        if learned["action"] == QUARANTINED:
            self.held_back.update(learned["reasons"])

    def as_json(self) -> Document:
        return {
            "total": self.total,
            "done": self.done,
            "counts": dict(self.counts),
            "held_back": dict(self.held_back),
            "failed": self.failed,
        }


async def teach(desk: Desk, file: Path, more: Document) -> int:
    """Learn every line of a file; what is said with the command holds for each that does not say otherwise."""
    more = {"source": file.name, **more}
    tally = Tally(total=sum(1 for _ in lines_of(file)))
    try:
        with progress(desk, "learning") as report:
            async with shelf(desk, learns=True) as memories:
                for part in parts_of(file, more):
                    good = [statement for _, statement in part if "text" in statement]
                    learned = iter(await memories.learn_many(good))
                    for number, statement in part:
                        tally.add(number, next(learned) if "text" in statement else statement)
                    report(tally.done, tally.total, "")
    except (KeyboardInterrupt, asyncio.CancelledError):
        desk.say(f"{tally.done} of {tally.total} are learnt; the same command goes on from there.")
        raise
    _show(desk, tally, more["source"])
    return BAD_LINES_EXIT if tally.failed else 0


def parts_of(file: Path, more: Document) -> Iterator[list[tuple[int, Document]]]:
    """The statements of a file with the numbers of their lines, so many at a time."""
    part: list[tuple[int, Document]] = []
    for number, line in lines_of(file):
        part.append((number, read(line, number, more)))
        if len(part) == PART:
            yield part
            part = []
    if part:
        yield part


def lines_of(file: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line.strip()
    except FileNotFoundError as error:
        raise NotFound(f"There is no file `{file}`.") from error
    except OSError as error:
        raise BadInput(f"`{file}` cannot be read: {error.strerror}.") from error


def read(line: bytes, number: int, more: Document) -> Document:
    """The statement of a line with its key; one that cannot be read as what went wrong."""
    try:
        found: Any = orjson.loads(line) if line.startswith(JSON_STARTS) else line.decode()
    except orjson.JSONDecodeError:
        return _bad(number, "it is not JSON")
    except UnicodeDecodeError:
        return _bad(number, "it is not UTF-8")
    if isinstance(found, str):
        found = {"text": found}
    if not isinstance(found, dict) or not isinstance(found.get("text"), str):
        return _bad(number, "it is neither a text nor an object with a `text`")
    return {**more, "key": key_of(line, number, more), **found}


def key_of(line: bytes, number: int, more: Document) -> str:
    """By what a line is known again when a file is learnt once more with the same command."""
    return f"{sha256(orjson.dumps(more, option=orjson.OPT_SORT_KEYS) + line).hexdigest()[:32]}:{number}"


def _bad(number: int, why: str) -> Document:
    error = BadInput(f"Line {number} cannot be learnt: {why}.")
    return {"action": "refused", "error": error.as_json()["error"]}


def _show(desk: Desk, tally: Tally, source: str) -> None:
    for each in tally.failed[:MOST_NAMED]:
        desk.say(f"Line {each['line']}: {each['error']['message']}")
    if len(tally.failed) > MOST_NAMED:
        desk.say(f"And {len(tally.failed) - MOST_NAMED} more lines.")
    if tally.held_back:
        why = ", ".join(
            f"{count} for {reason.replace('_', ' ')}" for reason, count in tally.held_back.items()
        )
        desk.say(
            f"{tally.counts[QUARANTINED]} are held back ({why}) and not recalled."
            f" `festinger memories release --source {quote(source)}` lets them out."
        )
    rows = sorted(tally.counts.items(), key=lambda each: -each[1])
    desk.show(tally.as_json(), table=desk.table(("what", "statements"), rows), text="The file is empty.")
