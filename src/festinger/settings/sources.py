"""Reads settings from every source and combines them into one tree.

Each source is stronger than the one before: defaults, the YAML file, the config table, the environment, the
command line. Values remember where they were set, and an unknown key or bad value is an error that names the
key, the source and the line. Only sections, keys, values and lists of values are accepted from YAML; tags,
anchors, merges, several documents and deep nesting are rejected, so that reading a file never runs or builds
anything and takes linear time. Secrets are never shown whole.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from festinger.errors import BadSetting, UnknownSetting
from festinger.ids import EVERY_SPACE, SpaceId
from festinger.settings.deployment import OUTSIDE_THE_TREE, PREFIX, Deployment
from festinger.settings.keys import (
    KEYS,
    NOTHING,
    SECTIONS,
    Raw,
    SettingKey,
    find_setting_key,
    format_value,
    nearest_name,
    parse_value,
    shorten_for_message,
    value_at,
)
from festinger.settings.tree import Settings

MAX_BYTES = 256 * 1024
MAX_DEPTH = 4

_BEGINS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A key of a file as written; without `raw` it opens a section."""

    name: str
    raw: Raw | None
    line: int | None


def read_settings_file(path: Path) -> tuple[FileEntry, ...]:
    """Return the entries of a file. Any error in it is a `BadSetting` with file and line."""
    try:
        if not path.is_file():
            raise _refusal(path, "is not a file", line=None)
        if path.stat().st_size > MAX_BYTES:
            raise _refusal(path, f"has more than {MAX_BYTES // 1024} KiB", line=None)
        content = path.read_bytes()
    except OSError as error:
        raise _refusal(path, f"cannot be read ({error.strerror})", line=None) from error
    return parse_entries(content, path=path)


def parse_entries(content: bytes, *, path: Path) -> tuple[FileEntry, ...]:
    if len(content) > MAX_BYTES:
        raise _refusal(path, f"has more than {MAX_BYTES // 1024} KiB", line=None)
    try:
        text = content.decode("utf-8-sig")
        found = list(_entries(_CheckedYamlEvents(text, path)))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refusal(path, "is not UTF-8 text", line=line) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it cannot be read"
        raise _refusal(path, f"is not YAML: {problem}", line=mark.line + 1 if mark else None) from error
    return _refuse_duplicate_entries(found, path)


class _CheckedYamlEvents:
    """The YAML events of a text in order, each checked against the allowed subset."""

    def __init__(self, text: str, path: Path) -> None:
        self.path = path
        self.key = ""
        self._events = self._iterate_checked_events(text)

    def __iter__(self) -> Iterator[yaml.Event]:
        return self._events

    def __next__(self) -> yaml.Event:
        return next(self._events)

    def refuse(self, event: yaml.Event, what: str) -> BadSetting:
        return _refusal(self.path, what, line=_line(event), key=self.key)

    def _iterate_checked_events(self, text: str) -> Iterator[yaml.Event]:
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


def _entries(events: _CheckedYamlEvents) -> Iterator[FileEntry]:
    first = next(events, None)
    if first is None or (isinstance(first, yaml.ScalarEvent) and not first.value):
        return
    if not isinstance(first, yaml.MappingStartEvent):
        raise events.refuse(first, "holds no `key: value` lines")
    yield from _parse_mapping(events, "")
    next(events, None)  # checks that nothing follows the mapping


def _parse_mapping(events: _CheckedYamlEvents, prefix: str) -> Iterator[FileEntry]:
    # `_iterate_checked_events` bounds the depth, and so this recursion.
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            return
        if not isinstance(event, yaml.ScalarEvent):
            raise events.refuse(event, "has a key that is not text")
        name, line = prefix + event.value.strip(), _line(event)
        events.key = name
        value = next(events)
        if isinstance(value, yaml.MappingStartEvent):
            yield FileEntry(name=name, raw=None, line=line)
            yield from _parse_mapping(events, name + ".")
        elif isinstance(value, yaml.SequenceStartEvent):
            yield FileEntry(name=name, raw=tuple(_items(events)), line=line)
        elif isinstance(value, yaml.ScalarEvent):
            yield FileEntry(name=name, raw=value.value, line=line)


def _items(events: _CheckedYamlEvents) -> Iterator[str]:
    for event in events:
        if isinstance(event, yaml.SequenceEndEvent):
            return
        if not isinstance(event, yaml.ScalarEvent):
            raise events.refuse(event, "has a list that holds more than plain values")
        yield event.value


def _refuse_duplicate_entries(found: list[FileEntry], path: Path) -> tuple[FileEntry, ...]:
    seen: dict[str, int | None] = {}
    for entry in found:
        if entry.name in seen:
            what = f"says the same as line {seen[entry.name]} again"
            raise _refusal(path, what, line=entry.line, key=entry.name)
        seen[entry.name] = entry.line
    return tuple(found)


def _refusal(path: Path, what: str, *, line: int | None, key: str = "") -> BadSetting:
    place = f"{path}:{line}" if line else str(path)
    at = f" at `{shorten_for_message(key)}`" if key else ""
    return BadSetting(
        f"{place} {what}{at}.",
        hint="A settings file holds sections, keys and values, such as `store:` with `pool_max: 10` below it.",
        file=str(path),
        line=line,
        key=shorten_for_message(key),
    )


class SourceKind(StrEnum):
    """The sources, from weakest to strongest."""

    DEFAULT = "default"
    FILE = "file"
    TABLE = "table"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"


PINNING = (SourceKind.ENVIRONMENT, SourceKind.COMMAND_LINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSource:
    """Where a value was set: source and place in it (`festinger.yaml:3`, `FESTINGER_HOME`, `--home`)."""

    kind: SourceKind
    place: str = ""
    line: int | None = None

    @property
    def pins(self) -> bool:
        """Whether the deployment pins what is set here."""
        return self.kind in PINNING

    def __str__(self) -> str:
        where = f"{self.place}:{self.line}" if self.line else self.place
        return f"{self.kind} {where}".strip()


DEFAULT = SettingSource(kind=SourceKind.DEFAULT)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedValue:
    value: Any
    source: SettingSource


Layer = Mapping[str, SourcedValue]
"""Values of one source, by full name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigTableRow:
    space: SpaceId
    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Everything about one key at one moment. `value` and `default` are formatted for display."""

    key: SettingKey
    value: str
    default: str
    source: SettingSource

    @property
    def pinned(self) -> bool:
        return self.source.pins


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """A whole tree, and where each of its values comes from."""

    tree: Settings
    sources: Mapping[str, SettingSource] = field(default_factory=dict)
    deployment: Deployment | None = None

    def source(self, name: str) -> SettingSource:
        return self.sources.get(name, DEFAULT)

    def setting(self, name: str) -> Setting:
        key = find_setting_key(name)
        return Setting(
            key=key,
            value=format_value(key, value_at(self.tree, key.name)),
            default=format_value(key, key.default),
            source=self.source(key.name),
        )

    def settings(self) -> tuple[Setting, ...]:
        """Return every setting, in the order of the tree."""
        return tuple(self.setting(name) for name in KEYS)


def load_settings(deployment: Deployment, rows: Iterable[ConfigTableRow] = ()) -> LoadedSettings:
    """Return the tree that a deployment and the config table ask for."""
    loaded = combine_layers(
        layer_from_file(deployment.file()), layer_from_rows(rows), layer_from_deployment(deployment)
    )
    return replace(loaded, deployment=deployment)


def layer_from_deployment(deployment: Deployment) -> Layer:
    """Return what is pinned: the environment, overridden by the command line."""
    return {**layer_from_environment(deployment.environment), **layer_from_command_line(deployment.command_line)}


def layer_from_file(path: Path | None) -> Layer:
    return {} if path is None else layer_from_entries(read_settings_file(path), place=str(path))


def layer_from_entries(entries: Iterable[FileEntry], *, place: str) -> Layer:
    """Return the values of a file. Sections come last: a wrong key in a wrong section is the better error."""
    layer: dict[str, SourcedValue] = {}
    for entry in sorted(entries, key=lambda entry: entry.raw is None):
        source = SettingSource(kind=SourceKind.FILE, place=place, line=entry.line)
        if entry.name in SECTIONS:
            _refuse_section_value(entry, source)
        elif entry.raw is None and entry.name in KEYS:
            raise build_bad_setting(KEYS[entry.name], "{…}", "is a section, but one value is expected", source=source)
        else:
            key = _found(entry.name, source)
            if key.name in layer:
                raise build_bad_setting(
                    key, entry.raw or "", f"is set twice, also at {layer[key.name].source}", source=source
                )
            layer[key.name] = parse_sourced_value(key, entry.raw or "", source=source)
    return layer


def _refuse_section_value(entry: FileEntry, source: SettingSource) -> None:
    if isinstance(entry.raw, str) and entry.raw.lower() in NOTHING:
        return
    if entry.raw is not None:
        raise BadSetting(
            f"`{entry.name}` is a section; its keys stand below it ({source}).", **_place(entry.name, source)
        )


def layer_from_rows(rows: Iterable[ConfigTableRow], *, space: SpaceId = EVERY_SPACE) -> Layer:
    return {name: value for row in rows if row.space == space for name, value in [sourced_value_from_row(row)]}


def sourced_value_from_row(row: ConfigTableRow) -> tuple[str, SourcedValue]:
    """Return the value of one row. Some keys are not allowed in the table, or not for one space."""
    source = SettingSource(kind=SourceKind.TABLE, place=f"row `{shorten_for_message(row.key)}` of space `{row.space}`")
    key = _found(row.key, source)
    problem = table_refusal_reason(key, space=row.space)
    if problem:
        raise build_bad_setting(key, row.value, problem, source=source)
    return key.name, parse_sourced_value(key, row.value, source=source)


def table_refusal_reason(key: SettingKey, *, space: SpaceId) -> str:
    """Return why the config table cannot hold this key; empty if it can."""
    if key.early:
        return "is read before the database is open; set it in the file, the environment or the command line"
    if key.secret:
        return "is a secret, which the config table would keep as plain text; set it in the file or the environment"
    if space != EVERY_SPACE and not key.per_space:
        return "is the same for all spaces"
    return ""


def layer_from_environment(environment: Mapping[str, str]) -> Layer:
    """Return the values of the variables. Unknown ones with our prefix are rejected, to catch typos."""
    layer: dict[str, SourcedValue] = {}
    for variable, text in sorted(environment.items()):
        if not variable.startswith(PREFIX) or variable in OUTSIDE_THE_TREE:
            continue
        key = VARIABLES.get(variable)
        if key is None:
            raise _unknown_variable_error(variable)
        layer[key.name] = parse_sourced_value(
            key, text, source=SettingSource(kind=SourceKind.ENVIRONMENT, place=variable)
        )
    return layer


VARIABLES: Mapping[str, SettingKey] = {key.variable: key for key in KEYS.values()}


def _unknown_variable_error(variable: str) -> UnknownSetting:
    name = variable.removeprefix(PREFIX).lower().replace("__", ".")
    near = nearest_name(name)
    question = f": did you mean `{near}` (`{KEYS[near].variable}`)?" if near else "."
    return UnknownSetting(
        f"`{shorten_for_message(name)}` is not a setting, but the environment has `{shorten_for_message(variable)}`{question}",
        key=shorten_for_message(name),
        nearest=near,
        source=SourceKind.ENVIRONMENT.value,
    )


def layer_from_command_line(options: Mapping[str, object]) -> Layer:
    """Return the values of command options, by the key that each sets; `None` was not given."""
    layer: dict[str, SourcedValue] = {}
    for name, option in options.items():
        if option is not None:
            source = SettingSource(kind=SourceKind.COMMAND_LINE, place=name)
            key = _found(name, source)
            layer[key.name] = parse_sourced_value(key, _option_to_raw(option), source=source)
    return layer


def _option_to_raw(option: object) -> Raw:
    return [str(item) for item in option] if isinstance(option, (list, tuple)) else str(option)


def combine_layers(*layers: Layer) -> LoadedSettings:
    """Combine layers into one tree; later ones are stronger."""
    merged: dict[str, SourcedValue] = {}
    for layer in layers:
        merged |= layer
    try:
        tree = Settings.model_validate(_nest_by_section({name: found.value for name, found in merged.items()}))
    except ValidationError as error:
        raise _build_disagreement_error(error, merged) from None
    return LoadedSettings(tree=tree, sources={name: found.source for name, found in merged.items()})


def _nest_by_section(values: Mapping[str, Any]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for name, value in values.items():
        *sections, leaf = name.split(".")
        branch = root
        for section in sections:
            branch = branch.setdefault(section, {})
        branch[leaf] = value
    return root


def _build_disagreement_error(error: ValidationError, merged: Layer) -> BadSetting:
    """Explain why values that are each valid do not fit together, by the section's own rule."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    section = ".".join(str(part) for part in first["loc"])
    involved = [str(found.source) for name, found in merged.items() if name.startswith(section + ".")]
    why = first["msg"].removeprefix("Value error, ")
    return BadSetting(f"{why} (set in {', '.join(involved)}).", key=section)


def parse_sourced_value(key: SettingKey, raw: Raw, *, source: SettingSource) -> SourcedValue:
    """Return the value that a source gives to a key, or raise a complete `BadSetting`."""
    try:
        return SourcedValue(value=parse_value(key, raw), source=source)
    except BadSetting as error:
        raise build_bad_setting(key, raw, error.message, source=source) from error.__cause__


def build_bad_setting(key: SettingKey, raw: Raw, why: str, *, source: SettingSource) -> BadSetting:
    value = "[secret]" if key.secret else shorten_for_message(raw)
    return BadSetting(
        f"`{key.name}` {why}, not `{value}` ({source})."
        if why.startswith("must")
        else f"`{key.name}` {why} ({source}).",
        **_place(key.name, source),
        value=value,
    )


def _found(name: str, source: SettingSource) -> SettingKey:
    try:
        return find_setting_key(name)
    except UnknownSetting as error:
        details = error.details | _place(str(error.details["key"]), source)
        raise UnknownSetting(f"{error.message.removesuffix('.')} ({source})", **details) from None


def _place(name: str, source: SettingSource) -> dict[str, Any]:
    place: dict[str, Any] = {"key": name, "source": source.kind.value}
    return place | ({"file": source.place, "line": source.line} if source.kind is SourceKind.FILE else {})
