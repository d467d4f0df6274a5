"""Parses what people have elsewhere: Markdown notes, memories of mem0, conversations of ChatGPT.

A statement is a document with the field names of the API's `learn`, numbered by its line or place; a
conversation is a document of the API's `episodes/import`. Everything here reads and learns nothing.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import re2
import yaml

from festinger.errors import BadInput, NotFound

Document = dict[str, Any]

_FRONT = re.compile(r"\A---\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_COMMENT = re2.compile(r"(?s)<!--.*?-->")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\s*$")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_RULE_TABLE_OR_INCLUDE = re.compile(r"\s*(?:(?:[-*_]\s*){3,}|\|.*|@\S+)$")
_WIKILINK = re2.compile(r"!?\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]")
_FENCE = re.compile(r"\s*(?:```|~~~)")


def read_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise NotFound(f"There is no file `{path}`.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"`{path}` cannot be read as text.") from error


def find_markdown_files(path: Path) -> list[Path]:
    """Return the file, or the notes of a folder; what a program hides in a folder is left out."""
    if not path.is_dir():
        return [path]
    below = (each.relative_to(path) for each in path.rglob("*.md"))
    return [path / each for each in sorted(below) if not any(part.startswith(".") for part in each.parts)]


def parse_markdown(text: str, *, title: str) -> Iterator[tuple[int, Document]]:
    """Yield a statement per list item and paragraph, about its heading; tags come from the front matter.

    Code, tables and lead-ins that end in a colon state nothing.
    """
    text = text.replace("\r\n", "\n")
    front = _FRONT.match(text)
    tags = _tags(front[1]) if front else []
    more = {"tags": tags} if tags else {}
    text = _COMMENT.sub(_keep_line_breaks, _FRONT.sub(_keep_line_breaks, text))
    subject, start, block, fenced = title, 0, list[str](), False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        heading, item = _HEADING.match(line), _ITEM.match(line)
        is_fence = _FENCE.match(line) is not None
        apart = fenced or is_fence or not line.strip() or _RULE_TABLE_OR_INCLUDE.match(line)
        if block and (apart or heading or item):
            if said := _plain(" ".join(block)):
                yield start, {"text": said, "subject": subject, **more}
            block = []
        fenced ^= is_fence
        if heading and not fenced:
            subject = _plain(heading[1]) or title
        elif not apart:
            start = start if block else number
            block.append((item[1] if item else line.lstrip("> \t")).strip())


def _keep_line_breaks(cut: re.Match[str]) -> str:
    return "\n" * cut[0].count("\n")


def _tags(front: str) -> list[str]:
    try:
        found = yaml.safe_load(front)
    except yaml.YAMLError:
        return []
    tags = found.get("tags") if isinstance(found, Mapping) else None
    return [str(each).lstrip("#") for each in (tags.replace(",", " ").split() if isinstance(tags, str) else tags or ())]


def _plain(text: str) -> str:
    """Return the words of a line without emphasis and links between notes; nothing for a lead-in."""
    said = _WIKILINK.sub(r"\1", text).replace("**", "").replace("__", "").strip()
    return "" if said.endswith(":") else said


def parse_mem0(text: str) -> Iterator[tuple[int, Document]]:
    """Yield the memories of mem0's list, numbered from 1; one without words is yielded as it is."""
    found = _load(text)
    listed = found.get("results", found.get("memories")) if isinstance(found, Mapping) else found
    if not isinstance(listed, list):
        raise BadInput("This is no list of mem0's memories.", hint="Give the JSON that `get_all` returned.")
    for number, each in enumerate(listed, 1):
        said = (each.get("memory") or each.get("text")) if isinstance(each, Mapping) else None
        tags = each.get("categories") or [] if isinstance(each, Mapping) else []
        yield number, {"text": said, "tags": tags} if tags else {"text": said}


def read_chatgpt_export(path: Path) -> list[Document]:
    """Return the conversations of a ChatGPT export (the zip, or its `conversations.json`), oldest first."""
    try:
        with zipfile.ZipFile(path) as export:
            names = [name for name in export.namelist() if re.fullmatch(r"(?:.*/)?conversations[^/]*\.json", name)]
            texts = [export.read(name).decode() for name in sorted(names)]
    except (zipfile.BadZipFile, FileNotFoundError, UnicodeDecodeError):
        texts = [read_file(path)]
    found = [each for text in texts for each in _listed(_load(text))]
    return sorted(
        map(parse_chatgpt_conversation, found), key=lambda each: each["turns"][0]["at"] if each["turns"] else ""
    )


def parse_chatgpt_conversation(talk: Mapping[str, Any]) -> Document:
    """Return what was said on the path from the first message to the current one; tools and system left out."""
    nodes, at, said = talk.get("mapping") or {}, talk.get("current_node"), []
    session = f"chatgpt:{talk.get('conversation_id') or talk.get('id') or talk.get('title')}"
    walked: set[object] = set()
    while at in nodes and at not in walked:
        walked.add(at)
        message = nodes[at].get("message") or {}
        role, words = (message.get("author") or {}).get("role"), _words(message)
        if role in ("user", "assistant") and words:
            when = message.get("create_time") or talk.get("create_time") or 0
            turn = {"id": str(uuid5(NAMESPACE_URL, f"{session}/{at}")), "role": role, "content": words}
            said.append(turn | {"at": datetime.fromtimestamp(when, UTC).isoformat()})
        at = nodes[at].get("parent")
    return {"session": session[:200], "title": str(talk.get("title") or "")[:200] or None, "turns": said[::-1]}


def _words(message: Mapping[str, Any]) -> str:
    content = message.get("content") or {}
    is_hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
    if is_hidden or content.get("content_type") not in ("text", "multimodal_text"):
        return ""
    return "\n".join(part for part in content.get("parts") or () if isinstance(part, str)).strip()


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"This is not JSON: {error}.") from error


def _listed(found: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(found, list) or not all(isinstance(each, Mapping) and "mapping" in each for each in found):
        raise BadInput("These are no conversations of ChatGPT.", hint="Give the export's zip or `conversations.json`.")
    return found


EXPORTED = ("kind", "subject", "origin", "source", "source_confidence", "event_time", "valid_from", "tags", "immutable")
"""Fields of an exported memory that learning it again takes as they are."""


def parse_export_record(record: Document) -> Document:
    """Return the statement of a line of our own export; empty for what is no standing memory."""
    if record.get("type") != "memory" or record.get("status") != "active":
        return {}
    return {"text": record.get("content"), **{name: record[name] for name in EXPORTED if name in record}}


def build_export_record(memory: Mapping[str, Any]) -> Document:
    """Return the line of a memory in an export: what it says and where it came from."""
    names = ("id", "content", "status", *EXPORTED, "confidence", "agent_id", "valid_to", "superseded_by", "created_at")
    kept = {name: memory[name] for name in names if memory.get(name) not in (None, [], False)}
    return {"type": "memory", **kept}


def format_markdown(memories: Sequence[Mapping[str, Any]], *, title: str) -> str:
    """Return memories as notes: a heading per subject, an item per statement."""
    by_subject: dict[str, list[str]] = {}
    for each in memories:
        by_subject.setdefault(" ".join((each.get("subject") or "").split()), []).append(
            " ".join(each["content"].split())
        )
    parts = [f"# {title}"]
    for subject in sorted(by_subject):
        items = "\n".join(f"- {text}" for text in sorted(by_subject[subject]))
        parts.append(f"## {subject}\n\n{items}" if subject else items)
    return "\n\n".join(parts) + "\n"
