"""Builds records from rows, and JSON from records, by the names and types of their fields."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from functools import partial
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from festinger.clock import iso
from festinger.errors import BadInput

Record = TypeVar("Record")
Choice = TypeVar("Choice", bound=Enum)
Convert = Callable[[Any], Any]


def row_mapper(record: type[Record], **columns: str) -> Callable[[Mapping[str, Any]], Record]:
    """Return a function that builds a record from a row.

    Fields are read from the columns of the same name, or from those that `columns` names. Enums and tuples are
    built as the types of the fields say; a field with a default may be missing from the row.
    """
    hints = get_type_hints(record)
    named = {each.name: columns.get(each.name, each.name) for each in fields(record)}  # type: ignore[arg-type]
    optional = {each.name for each in fields(record) if _has_default(each)}  # type: ignore[arg-type]
    required = [(name, column) for name, column in named.items() if name not in optional]
    further = [(name, named[name]) for name in named if name in optional]
    converters = [(name, convert) for name in named if (convert := _find_converter(hints[name])) is not None]

    def build(row: Mapping[str, Any]) -> Record:
        values = {name: row[column] for name, column in required}
        values |= {name: row[column] for name, column in further if column in row}
        for name, convert in converters:
            if values.get(name) is not None:
                values[name] = convert(values[name])
        return record(**values)

    return build


def _has_default(field: Any) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _find_converter(hint: Any) -> Convert | None:
    if get_origin(hint) in (UnionType, Union):
        [hint, *_] = [each for each in get_args(hint) if each is not type(None)]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if get_origin(hint) is tuple:
        of_each = _find_converter(get_args(hint)[0])
        return tuple if of_each is None else partial(_convert_each, of_each)
    return None


def _convert_each(convert: Convert, values: Any) -> tuple[Any, ...]:
    return tuple(map(convert, values))


def field_values(record: Any) -> dict[str, Any]:
    """Return the fields of a record by name; a query that gets them takes those that it names."""
    return {each.name: getattr(record, each.name) for each in fields(record)}


def field_lists(records: Sequence[Any], **names: str) -> dict[str, list[Any]]:
    """Return for each name the list of the values of a field, for a query that writes many rows."""
    return {name: [getattr(each, field) for each in records] for name, field in names.items()}


def parse_choice(choices: type[Choice], text: str, noun: str, *, hint: str = "Say") -> Choice:
    """Parse a member of an enum. Raises `BadInput` with the list of members."""
    try:
        return choices(text)
    except ValueError as error:
        known = ", ".join(f"`{each.value}`" for each in choices)
        raise BadInput(f"`{text[:40]}` is no {noun}.", hint=f"{hint} {known}.") from error


def to_json(value: Any) -> Any:
    """Convert a value, at any depth, to what JSON knows."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "as_json"):
        return value.as_json()
    if isinstance(value, Mapping):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(each) for each in value]
    return record_json(value) if is_dataclass(value) else value


class JsonRecord:
    """A record whose JSON form has its fields."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        """Serialize for every interface."""
        return record_json(self)


def record_json(record: Any, *, hide: tuple[str, ...] = (), **keys: str) -> dict[str, Any]:
    """Return the fields of a record as JSON; `keys` names those with other keys."""
    shown = (each.name for each in fields(record) if each.name not in hide)
    return {keys.get(name, name): to_json(getattr(record, name)) for name in shown}
