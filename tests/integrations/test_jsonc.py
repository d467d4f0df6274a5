"""Edits of JSON with comments keep every byte that is not ours."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadInput
from festinger.integrations.jsonc import find_node, insert_value, parse_json, remove_part

COMMENTED = """{
    // why: speed
    "model": "m", // the small one
    "hooks": {"Stop": [ {"command": "lint"} ]} /* ours end here */
}
"""

DOCUMENTS = st.dictionaries(
    st.sampled_from(["a", "b", "hooks", "x y", 'q"']),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def test_comments_order_and_layout_stay_and_removal_gives_the_same_bytes_back():
    added = insert_value(COMMENTED, ("hooks", "Stop"), {"command": "ours"}, in_list=True)
    added = insert_value(added, ("hooks", "Start"), {"command": "ours"}, in_list=True)
    added = insert_value(added, ("mcp", "festinger"), {"args": ["mcp"]})

    assert parse_json(added).value == {
        "model": "m",
        "hooks": {"Stop": [{"command": "lint"}, {"command": "ours"}], "Start": [{"command": "ours"}]},
        "mcp": {"festinger": {"args": ["mcp"]}},
    }
    assert all(comment in added for comment in ("// why: speed", "// the small one", "/* ours end here */"))
    removed = remove_part(remove_part(added, ("mcp", "festinger")), ("hooks", "Start"), 0)
    assert remove_part(removed, ("hooks", "Stop"), 1) == COMMENTED


@given(DOCUMENTS, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_any_document_holds_what_was_set_and_is_itself_again_without_it(document, indent, spoiled: bool):
    document = {name: value for name, value in document.items() if name != "hooks" or isinstance(value, dict)}
    text = json.dumps(document, indent=indent, ensure_ascii=spoiled)
    added = insert_value(text, ("mcp", "festinger"), {"on": [1]})

    assert parse_json(added).value == json.loads(added) == {**document, "mcp": {"festinger": {"on": [1]}}}
    assert json.loads(remove_part(added, ("mcp", "festinger"))) == document


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_item_is_removed_from_anywhere(at: int):
    left = [1, 2, 3]
    del left[at]

    assert parse_json(remove_part('{"a": [1, /* two */ 2, 3,]}', ("a",), at)).value == {"a": left}


def test_a_trailing_comma_is_used():
    added = insert_value('{\n  "a": 1,\n}\n', ("b",), 2)

    assert added == '{\n  "a": 1,\n  "b": 2\n}\n'


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "{", '{"a": }', '{"a": 1} x', '{"a": 1, "a": 2}', "[1 2]", "{a: 1}", "\ufeff{}", "[" * 10_000],
)
def test_what_is_not_json_is_refused(text: str):
    with pytest.raises(BadInput):
        parse_json(text)


def test_what_has_another_shape_is_refused():
    with pytest.raises(BadInput):
        insert_value('{"mcp": []}', ("mcp", "festinger"), 1)
    with pytest.raises(BadInput):
        insert_value('{"hooks": {"Stop": "x"}}', ("hooks", "Stop"), 1, in_list=True)
    with pytest.raises(BadInput):
        insert_value('{"mcp": {"festinger": 1}}', ("mcp", "festinger"), 1)
    assert find_node(parse_json("[]"), ("a",)) is None
