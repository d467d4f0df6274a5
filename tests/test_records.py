"""Records are built from rows and shown as JSON by the names and types of their fields."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest

from festinger.records import record_json, row_mapper, to_json


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Brush:
    id: UUID
    color: Color
    spare: Color | None
    colors: tuple[Color, ...]
    tags: tuple[str, ...]
    owner: str
    width: float = 1.0


ID = UUID(int=7)
ROW: dict[str, Any] = {
    "id": ID,
    "color": "red",
    "spare": None,
    "colors": ["red", "blue"],
    "tags": ["a"],
    "owner_id": "ann",
    "space_id": "main",
}
read_brush = row_mapper(Brush, owner="owner_id")


def test_a_row_becomes_a_record_with_enums_and_tuples():
    expected = Brush(
        id=ID, color=Color.RED, spare=None, colors=(Color.RED, Color.BLUE), tags=("a",), owner="ann", width=1.0
    )

    assert read_brush(ROW) == expected
    assert read_brush(ROW).color is Color.RED
    assert read_brush(ROW | {"spare": "blue", "width": 2.5}).spare is Color.BLUE
    assert read_brush(ROW | {"width": 2.5}).width == 2.5


def test_a_missing_column_and_an_unknown_value_are_errors():
    with pytest.raises(KeyError):
        read_brush({name: value for name, value in ROW.items() if name != "color"})
    with pytest.raises(ValueError, match="green"):
        read_brush(ROW | {"color": "green"})


def test_a_record_is_shown_by_its_fields():
    shown = record_json(read_brush(ROW), hide=("width",), owner="by")

    assert shown == {
        "id": str(ID), "color": "red", "spare": None, "colors": ["red", "blue"], "tags": ["a"], "by": "ann"
    }  # fmt: skip


def test_values_are_converted_at_any_depth():
    moment = datetime(2026, 1, 5, tzinfo=UTC)

    assert to_json({ID: [(moment, date(2026, 1, 5), Color.RED, None, 1, True)]}) == {
        str(ID): [["2026-01-05T00:00:00Z", "2026-01-05", "red", None, 1, True]]
    }
