"""What may stand in a payload."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import FestingerError
from festinger.events.catalogue import (
    COUNT,
    COUNTS,
    FLAG,
    JSON,
    NUMBER,
    OBJECTS,
    TEXT,
    TEXTS,
    FieldKind,
    check_payload,
    event_schema,
)

ONE = event_schema(a=TEXT, b=COUNT)


@pytest.mark.requirement("X-41")
@pytest.mark.parametrize(
    ("payload", "complaint"),
    [
        ({}, "lacks `a`, `b`"),
        ({"a": "x"}, "lacks `b`"),
        ({"a": "x", "b": 1, "c": 2, "d": 3}, "no field `c`, `d`"),
        ({"a": 1, "b": 1}, "`a` is not a text"),
        ({"a": "x", "b": "1"}, "`b` is not a whole number"),
        ({"a": "x", "b": True}, "`b` is not a whole number"),
        ({"a": None, "b": 1}, "`a` is not a text"),
    ],
)
def test_a_payload_of_another_shape_is_refused(payload: dict[str, Any], complaint: str):
    with pytest.raises(FestingerError, match=complaint):
        check_payload("e", ONE, payload)


@pytest.mark.requirement("X-40")
@given(length=st.integers(0, 400), where=st.sampled_from(["text", "list", "value", "key", "deep"]))
def test_no_text_beyond_200_characters_gets_in_anywhere(length: int, where: str):
    text = "x" * length
    value: Any = {
        "text": text,
        "list": [1, text],
        "value": {"k": text},
        "key": {text: 1},
        "deep": [{"k": [{"j": text}]}],
    }[where]

    if length <= 200:
        check_payload("e", event_schema(a=JSON), {"a": value})
    else:
        with pytest.raises(FestingerError, match="beyond 200"):
            check_payload("e", event_schema(a=JSON), {"a": value})


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (TEXT, "x", 1),
        (COUNT, 1, 1.5),
        (NUMBER, 1.5, "1"),
        (NUMBER, 1, True),
        (FLAG, False, 0),
        (TEXTS, ["a"], "a"),
        (TEXTS, [], [1]),
        (OBJECTS, [{"id": "m1", "origin": "person"}], [1]),
        (OBJECTS, [], [{"id": object()}]),
        (COUNTS, {"in": 3}, {"in": "3"}),
        (JSON, {"a": [1, None, "x", True]}, {"a": {1, 2}}),
        (TEXT.or_none(), None, 1),
    ],
)
def test_each_kind_takes_what_it_names_and_nothing_else(kind: FieldKind, good: Any, bad: Any):
    check_payload("e", event_schema(a=kind), {"a": good})
    with pytest.raises(FestingerError, match=f"not a {kind.name}"):
        check_payload("e", event_schema(a=kind), {"a": bad})
