"""Edits JSON files with comments and trailing commas, and keeps every other byte.

A person's formatting, comments and order stay as they are: members and items are inserted and removed in the text
itself. The text is parsed only to find where they begin and end.
"""

import json
import re
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from festinger.errors import BadInput

Path = tuple[str, ...]

_SPACE = r"(?:\s++|//[^\n]*+|/\*.*?\*/)*+"
_BLANK = re.compile(_SPACE, re.DOTALL)
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_COMMA = re.compile(rf"({_SPACE}),", re.DOTALL)
_INDENTED = re.compile(r"\n([ \t]+)\S")


@dataclass(slots=True)
class JsonNode:
    """A value with its span. An object has the names of its parts; `begins` is where a part begins, with its name."""

    start: int
    end: int
    value: Any = None
    parts: "list[JsonNode]" = field(default_factory=list)
    begins: int = 0


def parse_json(text: str) -> JsonNode:
    """Parse a text with its spans. Raises `BadInput`."""
    try:
        found = _parse(text, _skip(text, 0))
        if _skip(text, found.end) == len(text):
            return found
    except (ValueError, IndexError, RecursionError):
        pass
    raise BadInput("This is not JSON.")


def insert_value(text: str, path: Path, value: Any, *, in_list: bool = False) -> str:
    """Add a member, or an item of the list there, with the objects above it. Raises `BadInput` if it does not fit."""
    node = parse_json(text)
    for depth, name in enumerate(path):
        if not isinstance(node.value, dict):
            raise BadInput(f"`{'.'.join(path[:depth]) or 'It'}` is no object.")
        if name not in node.value:
            value = [value] if in_list else value
            for above in reversed(path[depth + 1 :]):
                value = {above: value}
            return _insert(text, node, value, name)
        node = node.parts[list(node.value).index(name)]
    if not in_list or not isinstance(node.value, list):
        raise BadInput(f"`{'.'.join(path)}` is no list." if in_list else f"`{'.'.join(path)}` is there already.")
    return _insert(text, node, value)


def remove_part(text: str, path: Path, index: int | None = None) -> str:
    """Remove a member, or an item of the list there, and what is then empty above it; comments around it stay."""
    above = path if index is not None else path[:-1]
    node = find_node(parse_json(text), above)
    assert node is not None
    if len(node.parts) == 1 and above:
        return remove_part(text, above)
    at = index if index is not None else list(node.value).index(path[-1])
    part = node.parts[at]
    head = text[: part.begins].rstrip()
    if following := _COMMA.match(text, part.end):
        return head + following[1] + text[following.end() :]
    if at > 0:
        comma = _COMMA.match(head, node.parts[at - 1].end)
        assert comma is not None
        head = head[: comma.end() - 1] + head[comma.end() :]
    return head + text[part.end :]


def find_node(node: JsonNode, path: Path) -> JsonNode | None:
    for name in path:
        if not isinstance(node.value, dict) or name not in node.value:
            return None
        node = node.parts[list(node.value).index(name)]
    return node


def _insert(text: str, node: JsonNode, value: Any, name: str | None = None) -> str:
    """Insert a part before the closing bracket, on a line of its own unless the others share one."""
    close, last = node.end - 1, node.parts[-1].end if node.parts else node.start + 1
    tail = text[last:close]
    kept = tail.rstrip()
    comma = "," if node.parts and _COMMA.match(tail) is None else ""
    label = "" if name is None else f"{json.dumps(name)}: "
    if node.parts and "\n" not in text[node.start : node.parts[0].begins]:
        added = f" {label}{json.dumps(value, ensure_ascii=False)}{tail[len(kept) :]}"
    else:
        outer = _indent_of(text, node.start)
        indent = _indent_of(text, node.parts[0].begins) if node.parts else outer + _detect_indent_step(text)
        ending = tail[len(kept) :] if node.parts else "\n" + outer
        added = f"\n{indent}{label}{_format_indented_json(text, value, indent)}{ending}"
    return text[:last] + comma + kept + added + text[close:]


def _format_indented_json(text: str, value: Any, indent: str) -> str:
    return json.dumps(value, indent=_detect_indent_step(text), ensure_ascii=False).replace("\n", f"\n{indent}")


def _detect_indent_step(text: str) -> str:
    """The indentation of the first line that has one."""
    found = _INDENTED.search(text)
    return found[1] if found else "  "


def _indent_of(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _parse(text: str, at: int) -> JsonNode:
    if text[at] == '"':
        value, end = scanstring(text, at + 1, True)
        return JsonNode(at, end, value)
    if text[at] not in "{[":
        found = _SCALAR.match(text, at)
        if found is None:
            raise ValueError
        return JsonNode(at, found.end(), json.loads(found[0]))
    node = JsonNode(at, at, {} if text[at] == "{" else [])
    close = "}" if text[at] == "{" else "]"
    at = _skip(text, at + 1)
    while text[at] != close:
        begins, name = at, None
        if close == "}":
            if text[at] != '"':
                raise ValueError
            name, at = scanstring(text, at + 1, True)
            at = _skip(text, at)
            if name in node.value or text[at] != ":":
                raise ValueError
            at = _skip(text, at + 1)
        part = _parse(text, at)
        part.begins = begins
        node.parts.append(part)
        if name is None:
            node.value.append(part.value)
        else:
            node.value[name] = part.value
        at = _skip(text, part.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
        elif text[at] != close:
            raise ValueError
    node.end = at + 1
    return node
