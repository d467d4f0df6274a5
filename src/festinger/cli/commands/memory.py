"""`festinger learn`, `memories`, `why`, `history`, `changes`, `undo` and `judgements`.

A file of statements is learned in batches, with a progress bar. Every line has a key, its own or one made of
its text and position, so a file that was interrupted is simply learned again: what is done is recognized, and
the rest follows. A line that cannot be parsed is reported at the end and stops no other.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import orjson
import typer

from festinger.cli.client import MOST_LISTED, Document, build_api_path, drop_empty, open_client
from festinger.cli.command import command, register_list_command
from festinger.cli.context import CommandContext
from festinger.cli.terminal import SHORT_ID, show_progress
from festinger.errors import BadInput, NotFound

MOST_RELEASED = 10_000
"""How many memories in quarantine are searched for those of a source."""

Id = Annotated[str, typer.Argument(help="Id of the memory, or its beginning.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=MOST_LISTED, help="At most so many.")]


def register(app: typer.Typer) -> None:
    command(app, "learn", may_ask_server=True)(learn)
    group = typer.Typer(help="What is remembered.\n\nExample: festinger memories --subject server")
    app.add_typer(group, name="memories")
    register_list_command(group, may_ask_server=True)(list_memories)
    command(group, "show", may_ask_server=True)(show_memory)
    command(group, "release", may_ask_server=True)(release_memories)
    command(app, "why", may_ask_server=True)(show_why)
    command(app, "history", may_ask_server=True)(show_history)
    command(app, "changes", may_ask_server=True)(list_changes)
    command(app, "undo", may_ask_server=True)(undo)
    asked = typer.Typer(help="What judges said of two statements.\n\nExample: festinger judgements --waiting")
    app.add_typer(asked, name="judgements")
    register_list_command(asked, may_ask_server=True)(list_judgements)
    command(asked, "answer", may_ask_server=True)(answer)


async def learn(
    context: CommandContext,
    text: Annotated[str | None, typer.Argument(help="One statement.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Many statements: a JSON object or a text each line.")
    ] = None,
    subject: Annotated[str | None, typer.Option("--subject", help="What it is about.")] = None,
    kind: Annotated[str, typer.Option("--kind", help="fact, preference, procedural …")] = "fact",
    origin: Annotated[str | None, typer.Option("--origin", help="Whose word it is; yours if left out.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="Where it was read.")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="A word to find it by; once each.")] = None,
) -> int | None:
    """Learn a statement, or a file of them.

    A file that was cut off goes on where it stopped when the command is run again.

    Example: festinger learn 'The server has 32 GB' --subject server
    """
    if (text is None) is (file is None):
        raise BadInput("Give one statement, or a file of them.", hint="`festinger learn --help` shows both.")
    if file is not None:
        return await learn_file(
            context, file, drop_empty(kind=kind, subject=subject, origin=origin, source=source, tags=tags)
        )
    statement = drop_empty(text=text, kind=kind, subject=subject, origin=origin, source=source, tags=tags)
    async with open_client(context, find=True, embeds=True) as client:
        learned = await client.ask("POST", build_api_path("memories"), body=statement, **client.as_agent)
    context.show(learned, text=_told(learned))
    return None


async def list_memories(
    context: CommandContext,
    words: Annotated[str | None, typer.Option("--words", help="Words that it holds.")] = None,
    subject: Annotated[str | None, typer.Option("--subject", help="What it is about.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="fact, preference, procedural …")] = None,
    status: Annotated[str | None, typer.Option("--status", help="active, held, quarantined …, or all.")] = None,
    origin: Annotated[str | None, typer.Option("--origin", help="Whose word it is.")] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", help="What was believed at this moment.")] = None,
    valid_at: Annotated[str | None, typer.Option("--valid-at", help="What held at this moment.")] = None,
    limit: Limit = 50,
) -> None:
    """Memories, the newest first; without a status those that stand.

    Example: festinger memories list --status quarantined
    """
    fields = {"q": words, "subject": subject, "kind": kind, "status": status, "origin": origin}
    query = drop_empty(**fields, as_of=as_of, valid_at=valid_at)
    found = await _list(context, "memories", query, limit=limit)
    rows = ((each["id"][:SHORT_ID], each["content"], each["status"], each["origin"]) for each in found)
    table = context.table(("id", "content", "status", "origin"), rows)
    context.show(found, table=table, text="Nothing is remembered here. `festinger learn '…'` teaches something.")


async def show_memory(context: CommandContext, memory: Id) -> None:
    """One memory with all that is kept of it.

    Example: festinger memories show 018f3a5e-7b21
    """
    found = await _ask(context, "GET", "memories", memory)
    rows = ((name, value) for name, value in found.items() if value not in (None, [], {}, ""))
    context.show(found, table=context.table(("", ""), rows))


async def release_memories(
    context: CommandContext,
    memories: Annotated[list[str] | None, typer.Argument(help="Ids, or their beginnings.")] = None,
    source: Annotated[str | None, typer.Option("--source", help="All that came from here.")] = None,
) -> None:
    """Let memories out of quarantine: those named, or all of a source.

    Example: festinger memories release --source facts.txt
    """
    if bool(memories) is (source is not None):
        raise BadInput("Name memories, or a source.", hint="`festinger memories list --status quarantined`")
    async with open_client(context, find=True, embeds=True) as client:
        ids, agent = list(memories or ()), client.as_agent
        if source is not None:
            locked = await client.fetch_all_pages(
                build_api_path("memories"), limit=MOST_RELEASED, status=QUARANTINED, **agent
            )
            ids = [each["id"] for each in locked if each["source"] == source]
        done = [await client.ask("POST", build_api_path("memories", id_, "release"), **agent) for id_ in ids]
    released = [each["memory"] for each in done]
    rows = ((each["id"][:SHORT_ID], each["content"], each["status"]) for each in released)
    table = context.table(("id", "content", "status"), rows)
    context.show(released, table=table, text="Nothing of this source is in quarantine.")


async def show_why(context: CommandContext, memory: Id) -> None:
    """On what a memory rests.

    Example: festinger why 018f3a5e-7b21
    """
    found = await _ask(context, "GET", "memories", memory, "why")
    context.show(found, table=context.table(("", "", "", ""), _reason_rows(found)))


def _reason_rows(why: Document) -> list[tuple[object, ...]]:
    said = [
        ("said", each["wording"], each["origin"], each["day"] if each["counted"] else each["uncounted_because"])
        for each in why["said"]
    ]
    near = [
        (title, each["content"], each["origin"], each["id"][:SHORT_ID])
        for title, name in (("from", "derives_from"), ("holds up", "supports"), ("replaced", "supersedes"))
        for each in why[name]
    ]
    if why["superseded_by"]:
        later = why["superseded_by"]
        near.append(("replaced by", later["content"], later["origin"], later["id"][:SHORT_ID]))
    judged = [("judged", each["relation"], each["judge"], each["reasoning"]) for each in why["judgements"]]
    done = [("changed", each["op"], each["by"], each["id"]) for each in why["changes"]]
    return [*said, *near, *judged, *done]


async def show_history(context: CommandContext, memory: Id) -> None:
    """What a memory replaced, and all that was done to it.

    Example: festinger history 018f3a5e-7b21
    """
    found = await _ask(context, "GET", "memories", memory, "history")
    rows = [
        *((each["created_at"], each["status"], each["content"], each["id"][:SHORT_ID]) for each in found["memories"]),
        *((each["at"], each["op"], each["by"], each["id"]) for each in found["changes"]),
    ]
    context.show(found, table=context.table(("when", "what", "", "id"), rows))


async def list_changes(
    context: CommandContext,
    op: Annotated[str | None, typer.Option("--op", help="supersede, merge, edit, archive …")] = None,
    memory: Annotated[str | None, typer.Option("--memory", help="Of this memory alone.")] = None,
    limit: Limit = 50,
) -> None:
    """What was done to memories, newest first.

    Example: festinger changes --op supersede
    """
    found = await _list(context, "changes", drop_empty(op=op, subject=memory), limit=limit)
    rows = (
        (each["id"], each["op"], each["by"], each["at"], "undone" if each["undone_at"] else each["reason"])
        for each in found
    )
    table = context.table(("id", "what", "by", "at", "why"), rows)
    context.show(found, table=table, text="Nothing was changed.")


async def undo(context: CommandContext, change: Annotated[str, typer.Argument(help="Id of the change.")]) -> None:
    """Take a change back.

    Example: festinger undo 018f3a5e-7b21-7000-8000-000000000001
    """
    undone = await _ask(context, "POST", "changes", change, "undo")
    rows = ((each["id"][:SHORT_ID], each["status"], each["content"]) for each in undone["memories"])
    context.say("Taken back. As it is now:")
    context.show(undone, table=context.table(("id", "status", "content"), rows))


async def list_judgements(
    context: CommandContext,
    waiting: Annotated[bool, typer.Option("--waiting", help="Only what no judge was sure of.")] = False,
    limit: Limit = 50,
) -> None:
    """What judges said of two statements, the newest first.

    Example: festinger judgements list --waiting
    """
    found = await _list(context, "judgements", {"final": "false"} if waiting else {}, limit=limit)
    rows = (
        (each["id"], each["old"]["content"], each["new"]["content"], each["relation"], each["judge"]) for each in found
    )
    table = context.table(("id", "first", "second", "relation", "judge"), rows)
    context.show(found, table=table, text="Nothing waits." if waiting else "Nothing was judged.")


async def answer(
    context: CommandContext,
    judgement: Annotated[str, typer.Argument(help="Id of the judgement.")],
    relation: Annotated[str, typer.Argument(help="same, update, contradicts, refines, or both.")],
    note: Annotated[str, typer.Option("--note", help="Why.")] = "",
) -> None:
    """Say how two statements relate; `both` is that both hold.

    Example: festinger judgements answer 018f3a5e-7b21-7000-8000-000000000001 both
    """
    done = await _ask(context, "POST", "judgements", judgement, body={"relation": relation, "note": note})
    context.show(done, text=f"Kept, and done: {done['action']}.")


async def _ask(context: CommandContext, method: str, *path: str, body: Document | None = None) -> Document:
    async with open_client(context, find=True) as client:
        found: Document = await client.ask(method, build_api_path(*path), body=body, **client.as_agent)
    return found


async def _list(context: CommandContext, name: str, query: Document, *, limit: int) -> list[Document]:
    async with open_client(context, find=True) as client:
        return await client.fetch_all_pages(build_api_path(name), limit=limit, **client.as_agent, **query)


def _told(learned: Document) -> str:
    memory = learned["memory"]
    lines = [learned["said"]]
    if memory:
        lines.append(f"{memory['id'][:SHORT_ID]}  {memory['content']}")
    if learned["conflict"]:
        lines.append(f"Conflict {learned['conflict']}; `festinger conflicts` decides.")
    if learned["change"]:
        lines.append(f"`festinger undo {learned['change']}` takes it back.")
    return "\n".join(lines)


PART = 200
"""Statements per request."""
MOST_NAMED = 20
"""The most failed lines that are reported one by one."""
BAD_LINES_EXIT = 2
QUARANTINED = "quarantined"
JSON_STARTS = (b"{", b"[", b'"')
"""How a line of JSON begins; any other line is a plain statement."""


@dataclass(slots=True, kw_only=True)
class LearnFileReport:
    """How far a file is learned."""

    total: int
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failed: list[Document] = field(default_factory=list)
    held_back: Counter[str] = field(default_factory=Counter)
    """Statements in quarantine, by reason."""

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


async def learn_file(context: CommandContext, file: Path, more: Document) -> int:
    """Learn every line of a file; the command's options apply to lines that do not say otherwise."""
    more = {"source": file.name, **more}
    statements = ((number, parse_statement_line(line, number, more)) for number, line in read_lines(file))
    return await learn_statements(context, statements, total=sum(1 for _ in read_lines(file)), source=more["source"])


async def learn_statements(
    context: CommandContext, statements: Iterable[tuple[int, Document]], *, total: int, source: str
) -> int:
    """Learn numbered statements in batches, show how it goes and report what became of them; return the exit code."""
    tally = LearnFileReport(total=total)
    try:
        with show_progress(context, "learning") as report:
            async with open_client(context, find=True, embeds=True) as client:
                for part in split_batches(statements):
                    good = [orjson.dumps(statement) for _, statement in part if "text" in statement]
                    learned = iter(
                        await client.send_json_lines(build_api_path("memories", "batch"), good, **client.as_agent)
                    )
                    for number, statement in part:
                        tally.add(number, next(learned) if "text" in statement else statement)
                    report(tally.done, tally.total, "")
    except (KeyboardInterrupt, asyncio.CancelledError):
        context.say(f"{tally.done} of {tally.total} are learnt; the same command goes on from there.")
        raise
    print_learn_report(context, tally, source)
    return BAD_LINES_EXIT if tally.failed else 0


def split_batches(statements: Iterable[tuple[int, Document]]) -> Iterator[list[tuple[int, Document]]]:
    rest = iter(statements)
    while part := list(islice(rest, PART)):
        yield part


def read_lines(file: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, line.strip()
    except FileNotFoundError as error:
        raise NotFound(f"There is no file `{file}`.") from error
    except OSError as error:
        raise BadInput(f"`{file}` cannot be read: {error.strerror}.") from error


def parse_statement_line(line: bytes, number: int, more: Document) -> Document:
    """Parse the statement of a line and add its key; for an invalid one, return the error."""
    try:
        found: Any = orjson.loads(line) if line.startswith(JSON_STARTS) else line.decode()
    except orjson.JSONDecodeError:
        return build_refused_line(number, "it is not JSON")
    except UnicodeDecodeError:
        return build_refused_line(number, "it is not UTF-8")
    if isinstance(found, str):
        found = {"text": found}
    if not isinstance(found, dict) or not isinstance(found.get("text"), str):
        return build_refused_line(number, "it is neither a text nor an object with a `text`")
    return {**more, "key": line_idempotency_key(line, number, more), **found}


def line_idempotency_key(line: bytes, number: int, more: Document) -> str:
    """The key that identifies a line when the same command learns the file again."""
    return f"{sha256(orjson.dumps(more, option=orjson.OPT_SORT_KEYS) + line).hexdigest()[:32]}:{number}"


def build_refused_line(number: int, why: str) -> Document:
    error = BadInput(f"Line {number} cannot be learnt: {why}.")
    return {"action": "refused", "error": error.as_json()["error"]}


def print_learn_report(context: CommandContext, tally: LearnFileReport, source: str) -> None:
    for each in tally.failed[:MOST_NAMED]:
        context.say(f"Line {each['line']}: {each['error']['message']}")
    if len(tally.failed) > MOST_NAMED:
        context.say(f"And {len(tally.failed) - MOST_NAMED} more lines.")
    if tally.held_back:
        why = ", ".join(f"{count} for {reason.replace('_', ' ')}" for reason, count in tally.held_back.items())
        context.say(
            f"{tally.counts[QUARANTINED]} are held back ({why}) and not recalled."
            f" `festinger memories release --source {quote(source)}` lets them out."
        )
    rows = sorted(tally.counts.items(), key=lambda each: -each[1])
    context.show(tally.as_json(), table=context.table(("what", "statements"), rows), text="The file is empty.")
