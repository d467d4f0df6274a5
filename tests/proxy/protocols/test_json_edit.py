"""Members, elements and text change; every other byte stays."""

import copy
import json
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.protocols.wire import go, oddly

from festinger.proxy.protocols.json_edit import (
    AmbiguousJsonError,
    Edit,
    ElementInsertion,
    ElementsRemoval,
    MemberUpdate,
    TextEdit,
    apply_edits,
)

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
SPELLINGS: list[Callable[[Any], bytes]] = [
    lambda tree: json.dumps(tree).encode(),
    lambda tree: json.dumps(tree, indent=2).encode(),
    orjson.dumps,
    go,
    oddly,
]


def edited(body: bytes, edits: list[Edit]) -> bytes:
    return apply_edits(body, orjson.loads(body), edits, exact=True)


def spelt(tree: Any, how: int) -> bytes:
    return SPELLINGS[how](tree)


@given(
    tree=st.fixed_dictionaries(
        {"list": st.lists(VALUES, max_size=6), "text": WORDS, "options": st.dictionaries(WORDS, VALUES)}
    ),
    how=st.integers(0, len(SPELLINGS) - 1),
    data=st.data(),
)
def test_changes_are_those_of_the_tree_in_every_spelling(tree: dict[str, Any], how: int, data: st.DataObject):
    gone = data.draw(st.sets(st.sampled_from(range(len(tree["list"])))) if tree["list"] else st.just(set()))
    start = data.draw(st.integers(0, len(tree["text"])))
    end = data.draw(st.integers(start, len(tree["text"])))
    put = data.draw(st.dictionaries(st.sampled_from(["temperature", "seed", *tree["options"]]), VALUES))
    wanted = copy.deepcopy(tree)
    wanted["text"] = tree["text"][:start] + 'new "text"\n' + tree["text"][end:]
    wanted["list"] = [each for at, each in enumerate(tree["list"]) if at not in gone]
    wanted["options"] |= put
    patches: list[Edit] = [
        TextEdit(path=("text",), at=start, until=end, text='new "text"\n'),
        ElementsRemoval(path=("list",), indexes=tuple(gone)),
        MemberUpdate(path=("options",), members=put),
    ]

    assert orjson.loads(edited(spelt(tree, how), patches)) == wanted


def test_what_is_not_changed_keeps_its_bytes():
    body = b'{ "a" : 1.50, "b":[ 1 ,2,  3 ], "big": 123456789012345678901234567890, "t":"\\u0041b" }'

    assert edited(body, [ElementsRemoval(path=("b",), indexes=(1,)), MemberUpdate(path=(), members={"n": 1})]) == (
        b'{"n":1, "a" : 1.50, "b":[ 1,  3 ], "big": 123456789012345678901234567890, "t":"\\u0041b" }'
    )


@pytest.mark.parametrize(
    ("body", "index", "after"), [(b"[]", 0, [{}]), (b"[1]", 1, [1, {}]), (b"[1, 2]", 0, [{}, 1, 2]), (b"[ ]", 0, [{}])]
)
def test_an_element_goes_to_its_place(body: bytes, index: int, after: list[Any]):
    whole = b'{"list": %s}' % body

    assert orjson.loads(edited(whole, [ElementInsertion(path=("list",), index=index, element={})])) == {"list": after}


@pytest.mark.parametrize(
    "patches",
    [
        [TextEdit(path=("text",), at=0, until=3, text=""), TextEdit(path=("text",), at=1, text="x")],
        [MemberUpdate(path=("nowhere",), members={"a": 1})],
        [MemberUpdate(path=("twice",), members={"a": 1})],
    ],
    ids=["overlapping", "nowhere", "a key twice"],
)
def test_what_has_no_certain_place_is_not_changed(patches: list[Edit]):
    with pytest.raises(AmbiguousJsonError):
        edited(b'{"text": "abcdef", "twice": {"a": 1, "a": 2}}', patches)
