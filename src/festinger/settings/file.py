"""What does the settings file say, and on which line?

The file is YAML of one shape: sections, keys, values and lists of values. Everything else that YAML can do
(tags, anchors, merges, several documents, deep nesting) is refused, so that reading a file never runs or
builds anything, and takes time by its length alone. Values stay text here; `keys` reads them by type.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from festinger.errors import BadSetting
from festinger.settings.keys import Raw, shortened

MAX_BYTES = 256 * 1024
MAX_DEPTH = 4

_BEGINS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One key of a file as it was written; without `raw` it opens a section."""

    name: str
    raw: Raw | None
    line: int | None


def read_file(path: Path) -> tuple[Entry, ...]:
    """The entries of a file. Whatever is wrong with it is a `BadSetting` with file and line."""
    try:
        if not path.is_file():
            raise _refusal(path, "is not a file", line=None)
        if path.stat().st_size > MAX_BYTES:
            raise _refusal(path, f"has more than {MAX_BYTES // 1024} KiB", line=None)
        content = path.read_bytes()
    except OSError as error:
        raise _refusal(path, f"cannot be read ({error.strerror})", line=None) from error
    return entries(content, path=path)


def entries(content: bytes, *, path: Path) -> tuple[Entry, ...]:
    """The entries of a file with this content."""
    if len(content) > MAX_BYTES:
        raise _refusal(path, f"has more than {MAX_BYTES // 1024} KiB", line=None)
    try:
        text = content.decode("utf-8-sig")
        found = list(_entries(_Events(text, path)))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refusal(path, "is not UTF-8 text", line=line) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it cannot be read"
        raise _refusal(path, f"is not YAML: {problem}", line=mark.line + 1 if mark else None) from error
    return _without_doubles(found, path)


class _Events:
    """The parts of a YAML text in their order, each checked against the one shape."""

    def __init__(self, text: str, path: Path) -> None:
        self.path = path
        self.key = ""
        self._events = self._checked(text)

    def __iter__(self) -> Iterator[yaml.Event]:
        return self._events

    def __next__(self) -> yaml.Event:
        return next(self._events)

    def refuse(self, event: yaml.Event, what: str) -> BadSetting:
        return _refusal(self.path, what, line=_line(event), key=self.key)

    def _checked(self, text: str) -> Iterator[yaml.Event]:
        depth = documents = 0
        for event in yaml.parse(text, Loader=_Loader):
            documents += isinstance(event, yaml.DocumentStartEvent)
            depth += isinstance(event, _BEGINS)
            depth -= isinstance(event, _ENDS)
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise self.refuse(event, "uses an anchor (`&` or `*`)")
            if getattr(event, "tag", None):
                raise self.refuse(event, "uses a tag (`!`)")
            if documents > 1 or depth > MAX_DEPTH:
                raise self.refuse(event, "has several documents" if documents > 1 else "is nested too deeply")
            if isinstance(event, (yaml.ScalarEvent, *_BEGINS, *_ENDS)):
                yield event


def _line(event: yaml.Event) -> int | None:
    return event.start_mark.line + 1 if event.start_mark else None


def _entries(events: _Events) -> Iterator[Entry]:
    first = next(events, None)
    if first is None or (isinstance(first, yaml.ScalarEvent) and not first.value):
        return
    if not isinstance(first, yaml.MappingStartEvent):
        raise events.refuse(first, "holds no `key: value` lines")
    yield from _mapping(events, "")
    next(events, None)  # looks at what follows the mapping: nothing may


def _mapping(events: _Events, prefix: str) -> Iterator[Entry]:
    # The depth is bounded by `_checked`, so this recursion is too.
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            return
        if not isinstance(event, yaml.ScalarEvent):
            raise events.refuse(event, "has a key that is not text")
        name, line = prefix + event.value.strip(), _line(event)
        events.key = name
        value = next(events)
        if isinstance(value, yaml.MappingStartEvent):
            yield Entry(name=name, raw=None, line=line)
            yield from _mapping(events, name + ".")
        elif isinstance(value, yaml.SequenceStartEvent):
            yield Entry(name=name, raw=tuple(_items(events)), line=line)
        elif isinstance(value, yaml.ScalarEvent):
            yield Entry(name=name, raw=value.value, line=line)


def _items(events: _Events) -> Iterator[str]:
    for event in events:
        if isinstance(event, yaml.SequenceEndEvent):
            return
        if not isinstance(event, yaml.ScalarEvent):
            raise events.refuse(event, "has a list that holds more than plain values")
        yield event.value


def _without_doubles(found: list[Entry], path: Path) -> tuple[Entry, ...]:
    seen: dict[str, int | None] = {}
    for entry in found:
        if entry.name in seen:
            what = f"says the same as line {seen[entry.name]} again"
            raise _refusal(path, what, line=entry.line, key=entry.name)
        seen[entry.name] = entry.line
    return tuple(found)


def _refusal(path: Path, what: str, *, line: int | None, key: str = "") -> BadSetting:
    place = f"{path}:{line}" if line else str(path)
    at = f" at `{shortened(key)}`" if key else ""
    return BadSetting(
        f"{place} {what}{at}.",
        hint="A settings file holds sections, keys and values, such as `store:` with `pool_max: 10` below it.",
        file=str(path),
        line=line,
        key=shortened(key),
    )
