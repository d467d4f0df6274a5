"""`festinger import` and `festinger export`: memories from elsewhere, and out again.

Imported statements go through the same learning as any other, with the origin `document` unless their owner
vouches for them. What an earlier import of the same source stored is left out, so that a second run adds
nothing. A conversation becomes a closed episode, at the times of its turns.
"""

from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import orjson
import typer

from festinger.cli.client import Document, build_api_path, drop_empty, open_client
from festinger.cli.command import command
from festinger.cli.commands.memory import (
    LearnFileReport,
    build_refused_line,
    learn_statements,
    line_idempotency_key,
    parse_statement_line,
    print_learn_report,
    read_lines,
)
from festinger.cli.context import CommandContext
from festinger.cli.terminal import show_progress
from festinger.errors import BadInput, TooLarge
from festinger.services.import_formats import (
    build_export_record,
    find_markdown_files,
    format_markdown,
    parse_export_record,
    parse_markdown,
    parse_mem0,
    read_chatgpt_export,
    read_file,
)

MOST_READ = 1_000_000
TURNS_AT_ONCE = 20
BAD_CONVERSATION_EXIT = 2
TRUSTED = ("person", "document")


class ImportFormat(StrEnum):
    MARKDOWN = "markdown"
    MEM0 = "mem0"
    CHATGPT = "chatgpt"
    JSONL = "jsonl"


def register(app: typer.Typer) -> None:
    command(app, "import", may_ask_server=True)(import_memories)
    command(app, "export", may_ask_server=True)(export_memories)


async def import_memories(
    context: CommandContext,
    format: Annotated[ImportFormat, typer.Argument(help="What the file is.")],  # noqa: A002
    path: Annotated[Path, typer.Argument(help="The file; for markdown also a folder of notes.")],
    trust: Annotated[
        str, typer.Option("--trust", help="Whose word it is: document, or person for your own.")
    ] = "document",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be learned, and learn nothing.")] = False,
) -> int | None:
    """Learn from notes, mem0, ChatGPT or an export.

    Notes are Markdown: `CLAUDE.md`, `AGENTS.md`, `MEMORY.md`, an Obsidian folder. Running it again adds nothing. What gives orders is held back unless you vouch for it with `--trust person`.

    Example: festinger import markdown CLAUDE.md --trust person
    """
    if trust not in TRUSTED:
        raise BadInput(f"`{trust[:40]}` is nobody's word.", hint="Say `person` or `document`.")
    if format is ImportFormat.CHATGPT:
        return await _import_conversations(context, path, dry_run=dry_run)
    source = path.resolve().name
    found = list(_read_statements(format, path, {"origin": trust, "source": source}))
    if dry_run:
        rows = ((number, each.get("subject"), each.get("text")) for number, each in found)
        shown = context.table(("line", "about", "text"), rows)
        context.show([each for _, each in found], table=shown, text="There is nothing to learn in it.")
        return None
    known = await _load_known_statements(context)
    new = [each for each in found if (each[1].get("source"), each[1].get("text")) not in known]
    if len(new) < len(found):
        context.say(f"{len(found) - len(new)} were imported before and are left out.")
    statements = [(number, {**each, "imported": True} if "text" in each else each) for number, each in new]
    return await learn_statements(context, statements, total=len(new), source=source)


def _read_statements(format: ImportFormat, path: Path, more: Document) -> Iterator[tuple[int, Document]]:  # noqa: A002
    if format is ImportFormat.JSONL:
        yield from _read_exported(path, more)
        return
    read = (
        (found for file in find_markdown_files(path) for found in parse_markdown(read_file(file), title=file.stem))
        if format is ImportFormat.MARKDOWN
        else parse_mem0(read_file(path))
    )
    for place, (number, said) in enumerate(read):
        if isinstance(said["text"], str) and said["text"].strip():
            yield number, {**more, **said, "key": line_idempotency_key(said["text"].encode(), place, more)}
        else:
            yield number, build_refused_line(number, "it has no words")


def _read_exported(path: Path, more: Document) -> Iterator[tuple[int, Document]]:
    """Yield what the lines state: records of an export, or any statements."""
    for number, line in read_lines(path):
        record: object = None
        with suppress(orjson.JSONDecodeError):
            record = orjson.loads(line)
        if not isinstance(record, dict) or record.keys().isdisjoint({"format", "type"}):
            yield number, parse_statement_line(line, number, more)
        elif said := parse_export_record(record):
            yield number, {**more, **said, "key": line_idempotency_key(line, number, more)}


async def _load_known_statements(context: CommandContext) -> set[tuple[str | None, str]]:
    """Return the source and words of everything that was learned, whatever became of it."""
    async with open_client(context, find=True) as client:
        memories = await client.fetch_all_pages(
            build_api_path("memories"), limit=MOST_READ, status="all", **client.as_agent
        )
    return {(each["source"], each["content"]) for each in memories}


async def _import_conversations(context: CommandContext, path: Path, *, dry_run: bool) -> int | None:
    talks = read_chatgpt_export(path)
    if dry_run:
        rows = ((each["title"], len(each["turns"]), each["turns"][0]["at"][:10]) for each in talks if each["turns"])
        context.show(talks, table=context.table(("conversation", "turns", "begun"), rows), text="There are none.")
        return None
    tally = LearnFileReport(total=len(talks))
    with show_progress(context, "conversations") as report:
        async with open_client(context, find=True, embeds=True) as client:
            for number, talk in enumerate(talks, 1):
                turns = talk["turns"]
                for start in range(0, len(turns), TURNS_AT_ONCE):
                    rest = turns[start : start + TURNS_AT_ONCE]
                    body = {**talk, "turns": rest, "close": start + TURNS_AT_ONCE >= len(turns)}
                    try:
                        done = await client.ask(
                            "POST", build_api_path("episodes", "import"), body=body, **client.as_agent
                        )
                    except (BadInput, TooLarge) as error:
                        tally.add(number, {"action": "refused", **error.as_json()})
                        continue
                    for learned in done["learned"]:
                        tally.add(number, learned)
                    if done["episode"]:
                        tally.counts["turns"] += len(rest)
                report(number, len(talks), "")
    tally.done = len(talks)
    print_learn_report(context, tally, "person")
    return BAD_CONVERSATION_EXIT if tally.failed else None


async def export_memories(
    context: CommandContext,
    path: Annotated[Path, typer.Argument(help="A new file: `.md` for notes, any other for JSON lines.")],
    kind: Annotated[str | None, typer.Option("--kind", help="fact, preference, procedural …")] = None,
) -> None:
    """Write memories to a file, as JSON lines or notes.

    Notes hold what stands, JSON lines everything with its origin. Two exports of the same memories are the same bytes.

    Example: festinger export memories.jsonl
    """
    is_notes = path.suffix == ".md"
    query = drop_empty(kind=kind, status=None if is_notes else "all")
    async with open_client(context, find=True) as client:
        found = await client.fetch_all_pages(build_api_path("memories"), limit=MOST_READ, **client.as_agent, **query)
    found.sort(key=lambda each: each["id"])
    if is_notes:
        text = format_markdown(found, title=f"Memories of {context.space}").encode()
    else:
        first = {"format": "festinger", "version": 1, "space": context.space, "counts": {"memory": len(found)}}
        text = b"".join(orjson.dumps(each) + b"\n" for each in (first, *map(build_export_record, found)))
    try:
        with path.open("xb") as file:
            path.chmod(0o600)
            file.write(text)
    except FileExistsError as error:
        raise BadInput(f"`{path}` is there already.", hint="Name a new file.") from error
    except OSError as error:
        raise BadInput(f"`{path}` cannot be written: {error.strerror}.") from error
    context.show({"file": str(path), "memories": len(found)}, text=f"{len(found):,} memories are in {path}.")
