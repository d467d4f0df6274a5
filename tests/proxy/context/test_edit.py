"""A block changes nothing but its place."""

import random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.proxy.protocols.wire import (
    LABEL,
    LIMIT,
    MARK,
    RULES,
    SPELLINGS,
    TREES,
    assistant,
    chat,
    random_tree,
    system,
    user,
)

from festinger.proxy.context.edit import BlockPosition, Modelfile, PlacedBlock, insert_blocks
from festinger.proxy.protocols.messages import ChatRequest, RequestKind
from festinger.proxy.protocols.parse import parse_request
from festinger.services.block import ContextBlock, ContextLine
from festinger.text.blocks import GAP

BLOCK = ContextBlock(
    label=LABEL, lines=(ContextLine(text="ramanujan: [type] server"), ContextLine(text='- says "ü" \\ 🙂'))
)


def _blocks_for(request: ChatRequest) -> list[PlacedBlock]:
    users = [turn for turn in request.turns if turn.role == "user" and not turn.has_only_results and not turn.carries]
    return [PlacedBlock(turn=turn, anchor=b"", block=BLOCK) for turn in users]


def _without_parts(value: Any) -> Any:
    """A tree without blocks, wherever they stand in it."""
    if isinstance(value, str):
        return value.replace(BLOCK.text + GAP, "").replace(GAP + BLOCK.text, "").replace(BLOCK.text, "")
    if isinstance(value, list):
        return [_without_parts(inner) for inner in value if not _is_block(inner)]
    if isinstance(value, dict):
        return {key: _without_parts(inner) for key, inner in value.items()}
    return value


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and BLOCK.text in (value.get("text"), value.get("content"))


NEEDLE = orjson.dumps(BLOCK.text)[1:-1]
GAP_BYTES = orjson.dumps(GAP)[1:-1]
FRAMES = (
    GAP_BYTES,
    b'{"type":"text","text":""},',
    b'{"type":"input_text","text":""},',
    b'{"role":"system","content":""},',
    b'{"role":"system","content":""}',
    b'"system":"",',
    b'"instructions":"",',
    b"",
)
"""What comes along with a block."""


def _is_inserted_into(body: bytes, longer: bytes, times: int) -> bool:
    """Whether so many pieces that hold the block, cut out of the longer one, leave the body."""
    if times == 0:
        return longer == body
    at = longer.find(NEEDLE)
    return any(
        _is_inserted_into(body, longer[:start] + longer[start + len(NEEDLE) + len(frame) :], times - 1)
        for frame in FRAMES
        for start in range(at, max(-1, at - len(frame) - 1), -1)
        # All before the first block must be as it was.
        if body.startswith(longer[:start])
    )


def _placed(request: ChatRequest, position: BlockPosition) -> tuple[bytes, int]:
    in_system = position is not BlockPosition.TURN
    return insert_blocks(
        request,
        () if in_system else _blocks_for(request),
        mark=MARK,
        system=BLOCK if in_system else None,
        position=position,
        modelfile=Modelfile(),
    )


def _check(body: bytes, kind: RequestKind, position: BlockPosition) -> int:
    request = parse_request(body, kind, rules=RULES, limit=LIMIT)
    assert isinstance(request, ChatRequest)
    edited, placed = _placed(request, position)
    tree = orjson.loads(edited)
    for name in ("system", "instructions"):
        if name not in request.tree and name in tree:
            assert tree.pop(name) == BLOCK.text

    assert repr(_without_parts(tree)) == repr(request.tree)
    assert edited.count(orjson.dumps(BLOCK.text)[1:-1]) == placed
    assert _is_inserted_into(body, edited, placed)
    return placed


@pytest.mark.requirement("P-08", "P-10")
@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize("position", BlockPosition)
@settings(max_examples=40)
@given(data=st.data())
def test_without_its_blocks_a_body_is_the_original_to_the_byte(kind: RequestKind, position: BlockPosition, data: Any):
    tree = data.draw(TREES[kind])
    body = SPELLINGS[data.draw(st.sampled_from(sorted(SPELLINGS)))](tree)

    assert _check(body, kind, position) >= 0


@pytest.mark.requirement("P-10")
@pytest.mark.parametrize("kind", TREES)
def test_ten_thousand_bodies_keep_every_other_field_with_value_and_type(kind: RequestKind):
    chance = random.Random(10)
    placed = 0
    for position in BlockPosition:
        for _ in range(670):
            body = chance.choice(list(SPELLINGS.values()))(random_tree(kind, chance))
            placed += _check(body, kind, position)

    assert placed > 1000


def test_nothing_to_put_in_means_the_very_bytes_that_came():
    request = chat(system("s"), user("hello"))

    assert insert_blocks(request, mark=MARK)[0] is request.body


def test_an_echo_of_ours_is_taken_out_of_what_the_assistant_said():
    request = chat(user("hi"), assistant(f"As noted: {BLOCK.text}\n\nall is well"), user("thanks"))

    body = insert_blocks(request, mark=MARK)[0]

    assert orjson.loads(body)["messages"][1]["content"] == "As noted: all is well"
    assert orjson.loads(body)["messages"][::2] == [user("hi"), user("thanks")]


def test_what_a_user_sends_is_kept_as_it_is_even_with_our_block_in_it():
    request = chat(user(f"{BLOCK.text}\n\nhi"))

    assert request.newest_user_turn is not None
    assert request.newest_user_turn.carries
    assert request.newest_user_turn.text == "hi"
    assert insert_blocks(request, mark=MARK)[0] is request.body


def test_the_same_words_said_twice_are_told_apart_by_their_place():
    request = chat(user("continue"), assistant("done"), user("continue"))
    last = request.turns[-1]

    tree = orjson.loads(insert_blocks(request, [PlacedBlock(turn=last, anchor=b"", block=BLOCK)], mark=MARK)[0])

    assert tree["messages"][0]["content"] == "continue"
    assert tree["messages"][2]["content"] == f"{BLOCK.text}\n\ncontinue"
