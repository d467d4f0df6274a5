"""Where does each setting come from?

Five sources, each stronger than the one before: the defaults of the tree, the YAML file, the rows of the
config table, the environment, the command line. Each is read into `Given` values that remember their place,
and `combine` lays them over each other. An unknown key or an unfit value anywhere is an error that names the
key, the source and the line. Nothing here watches or keeps anything; that is `live`'s matter.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from festinger.errors import BadSetting, UnknownSetting
from festinger.ids import EVERY_SPACE, SpaceId
from festinger.settings.deployment import OUTSIDE_THE_TREE, PREFIX, Deployment, this_process
from festinger.settings.file import Entry, read_file
from festinger.settings.keys import (
    KEYS,
    NOTHING,
    SECTIONS,
    Key,
    Raw,
    find,
    nearest,
    read,
    shortened,
)
from festinger.settings.loaded import Given, Kind, Layer, Loaded, Row, Source
from festinger.settings.tree import Settings


def load(
    *,
    config: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
    rows: Iterable[Row] = (),
) -> Loaded:
    """The tree of a command that starts now in this process; the first thing that is wrong is raised."""
    return load_from(this_process(config=config, environ=environ, flags=flags), rows)


def load_from(deployment: Deployment, rows: Iterable[Row] = ()) -> Loaded:
    """The tree that a deployment and the config table ask for."""
    loaded = combine(from_file(deployment.file()), from_rows(rows), from_deployment(deployment))
    return replace(loaded, deployment=deployment)


def from_deployment(deployment: Deployment) -> Layer:
    """What is pinned: the environment, and over it the command line."""
    return {**from_environment(deployment.environment), **from_command_line(deployment.command_line)}


def from_file(path: Path | None) -> Layer:
    return {} if path is None else from_entries(read_file(path), place=str(path))


def from_entries(entries: Iterable[Entry], *, place: str) -> Layer:
    """What a file says. Sections are looked at last: of a wrong section its wrong key is the better news."""
    layer: dict[str, Given] = {}
    for entry in sorted(entries, key=lambda entry: entry.raw is None):
        source = Source(kind=Kind.FILE, place=place, line=entry.line)
        if entry.name in SECTIONS:
            _check_section(entry, source)
        elif entry.raw is None and entry.name in KEYS:
            raise bad(KEYS[entry.name], "{…}", "is a section, but one value is expected", source=source)
        else:
            key = _found(entry.name, source)
            if key.name in layer:
                raise bad(
                    key, entry.raw or "", f"is set twice, also at {layer[key.name].source}", source=source
                )
            layer[key.name] = given(key, entry.raw or "", source=source)
    return layer


def _check_section(entry: Entry, source: Source) -> None:
    if isinstance(entry.raw, str) and entry.raw.lower() in NOTHING:
        return
    if entry.raw is not None:
        raise BadSetting(
            f"`{entry.name}` is a section; its keys stand below it ({source}).", **_place(entry.name, source)
        )


def from_rows(rows: Iterable[Row], *, space: SpaceId = EVERY_SPACE) -> Layer:
    """What the config table says for a space, or for all of them."""
    return {name: value for row in rows if row.space == space for name, value in [from_row(row)]}


def from_row(row: Row) -> tuple[str, Given]:
    """What one row says. Some keys cannot stand in the table, or not for one space."""
    source = Source(kind=Kind.TABLE, place=f"row `{shortened(row.key)}` of space `{row.space}`")
    key = _found(row.key, source)
    problem = unfit_for_table(key, space=row.space)
    if problem:
        raise bad(key, row.value, problem, source=source)
    return key.name, given(key, row.value, source=source)


def unfit_for_table(key: Key, *, space: SpaceId) -> str:
    """Why the config table cannot hold this key; empty if it can."""
    if key.early:
        return "is read before the database is open; set it in the file, the environment or the command line"
    if key.secret:
        return "is a secret, which the config table would keep as plain text; set it in the file or the environment"
    if space != EVERY_SPACE and not key.per_space:
        return "is the same for all spaces"
    return ""


def from_environment(environment: Mapping[str, str]) -> Layer:
    """What the variables say. One of ours that is not known is refused, so that no typo goes unseen."""
    layer: dict[str, Given] = {}
    for variable, text in sorted(environment.items()):
        if not variable.startswith(PREFIX) or variable in OUTSIDE_THE_TREE:
            continue
        key = VARIABLES.get(variable)
        if key is None:
            raise _unknown_variable(variable)
        layer[key.name] = given(key, text, source=Source(kind=Kind.ENVIRONMENT, place=variable))
    return layer


VARIABLES: Mapping[str, Key] = {key.variable: key for key in KEYS.values()}


def _unknown_variable(variable: str) -> UnknownSetting:
    name = variable.removeprefix(PREFIX).lower().replace("__", ".")
    near = nearest(name)
    question = f": did you mean `{near}` (`{KEYS[near].variable}`)?" if near else "."
    return UnknownSetting(
        f"`{shortened(name)}` is not a setting, but the environment has `{shortened(variable)}`{question}",
        key=shortened(name),
        nearest=near,
        source=Kind.ENVIRONMENT.value,
    )


def from_command_line(options: Mapping[str, object]) -> Layer:
    """What the options of a command say, by the name of the key that each sets; `None` was not given."""
    layer: dict[str, Given] = {}
    for name, option in options.items():
        if option is not None:
            source = Source(kind=Kind.COMMAND_LINE, place=name)
            key = _found(name, source)
            layer[key.name] = given(key, _raw(option), source=source)
    return layer


def _raw(option: object) -> Raw:
    return [str(item) for item in option] if isinstance(option, (list, tuple)) else str(option)


def combine(*layers: Layer) -> Loaded:
    """One tree out of layers, the later ones being stronger."""
    merged: dict[str, Given] = {}
    for layer in layers:
        merged |= layer
    try:
        tree = Settings.model_validate(_nested({name: found.value for name, found in merged.items()}))
    except ValidationError as error:
        raise _disagreement(error, merged) from None
    return Loaded(tree=tree, sources={name: found.source for name, found in merged.items()})


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for name, value in values.items():
        *sections, leaf = name.split(".")
        branch = root
        for section in sections:
            branch = branch.setdefault(section, {})
        branch[leaf] = value
    return root


def _disagreement(error: ValidationError, merged: Layer) -> BadSetting:
    """Each value was fit by itself, so two of them do not go together; the section's own rule says why."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    section = ".".join(str(part) for part in first["loc"])
    involved = [str(found.source) for name, found in merged.items() if name.startswith(section + ".")]
    why = first["msg"].removeprefix("Value error, ")
    return BadSetting(f"{why} (set in {', '.join(involved)}).", key=section)


def given(key: Key, raw: Raw, *, source: Source) -> Given:
    """The value that a source gives to a key, or `BadSetting` with the whole story."""
    try:
        return Given(value=read(key, raw), source=source)
    except BadSetting as error:
        raise bad(key, raw, error.message, source=source) from error.__cause__


def bad(key: Key, raw: Raw, why: str, *, source: Source) -> BadSetting:
    value = "[secret]" if key.secret else shortened(raw)
    return BadSetting(
        f"`{key.name}` {why}, not `{value}` ({source})."
        if why.startswith("must")
        else f"`{key.name}` {why} ({source}).",
        **_place(key.name, source),
        value=value,
    )


def _found(name: str, source: Source) -> Key:
    try:
        return find(name)
    except UnknownSetting as error:
        details = error.details | _place(str(error.details["key"]), source)
        raise UnknownSetting(f"{error.message.removesuffix('.')} ({source})", **details) from None


def _place(name: str, source: Source) -> dict[str, Any]:
    place: dict[str, Any] = {"key": name, "source": source.kind.value}
    return place | ({"file": source.place, "line": source.line} if source.kind is Kind.FILE else {})
