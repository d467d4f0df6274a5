"""Does a payload have the shape that its event promises?

A shape names every field with its kind. Fields that are missing, unknown, or of another kind are a fault of
whoever emits, and so is any text beyond 200 characters: an outbox is no place for words.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from festinger.errors import FestingerError

MAX_TEXT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What may stand in a field."""

    name: str
    fits: Callable[[Any], bool]

    def or_none(self) -> "Kind":
        return Kind(name=f"{self.name} or nothing", fits=lambda value: value is None or self.fits(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_json(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(_is_json(item) for item in value)
    return value is None or isinstance(value, str | bool | int | float)


def _is_list(of: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(of(item) for item in value)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, Mapping) and _is_json(value) and all(_is_number(item) for item in value.values())


TEXT = Kind(name="text", fits=lambda value: isinstance(value, str))
COUNT = Kind(name="whole number", fits=_is_count)
NUMBER = Kind(name="number", fits=_is_number)
FLAG = Kind(name="yes or no", fits=lambda value: isinstance(value, bool))
TEXTS = Kind(name="list of texts", fits=_is_list(TEXT.fits))
OBJECTS = Kind(
    name="list of objects", fits=_is_list(lambda item: isinstance(item, Mapping) and _is_json(item))
)
COUNTS = Kind(name="numbers by name", fits=_is_numbers)
JSON = Kind(name="any value", fits=_is_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What an event's payload holds. Audit events say who did what and are kept longer."""

    fields: Mapping[str, Kind]
    version: int = 1
    audit: bool = False


def shape(**fields: Kind) -> Shape:
    """The shape of an event that tells what happened."""
    return Shape(fields=fields)


def audited(**fields: Kind) -> Shape:
    """The shape of an event that tells what a person or a key did."""
    return Shape(fields=fields, audit=True)


def check_payload(name: str, promised: Shape, payload: Mapping[str, Any]) -> None:
    """Refuse a payload that is not what the event promises."""
    if missing := promised.fields.keys() - payload.keys():
        raise FestingerError(f"Event `{name}` lacks {_listed(missing)}.")
    if unknown := payload.keys() - promised.fields.keys():
        raise FestingerError(f"Event `{name}` has no field {_listed(unknown)}.")
    for field, kind in promised.fields.items():
        if not kind.fits(payload[field]):
            raise FestingerError(f"Event `{name}`: `{field}` is not a {kind.name}.")
        if _longest(payload[field]) > MAX_TEXT:
            raise FestingerError(f"Event `{name}`: `{field}` holds a text beyond {MAX_TEXT} characters.")


def _longest(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return max((_longest(part) for part in (*value.keys(), *value.values())), default=0)
    if isinstance(value, list):
        return max((_longest(item) for item in value), default=0)
    return 0


def _listed(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
