"""Every row of the table of places, at every position."""

from typing import Any

import orjson
import pytest
from tests.proxy.protocols.wire import LABEL, MARK, assistant, request_of, system, tool, user

from festinger.proxy.context.edit import (
    BlockPosition,
    Modelfile,
    PlacedBlock,
    build_system_edit,
    build_turn_edit,
    insert_blocks,
)
from festinger.proxy.protocols.messages import RequestKind
from festinger.services.block import ContextBlock, ContextLine

BLOCK = ContextBlock(label=LABEL, lines=(ContextLine(text="ramanujan: [type] server"),))
B = BLOCK.text
TEXT = {"type": "text", "text": B}
PICTURE = {"type": "image", "source": {"type": "base64", "data": "AA"}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "42"}
HELLO = {"type": "text", "text": "hello"}
FLAT = "### System:\nBe brief.\n\n### User:\nhi\n\n### Assistant:\nyes\n\n### User:\ngo on\n\n"
OWN = Modelfile(system="You are Mario.")


def turn_of(tree: dict[str, Any], kind: RequestKind) -> dict[str, Any]:
    request = request_of(tree, kind)
    assert request.newest_user_turn is not None
    standing = PlacedBlock(turn=request.newest_user_turn, anchor=b"", block=BLOCK)
    found: dict[str, Any] = orjson.loads(insert_blocks(request, [standing], mark=MARK)[0])
    return found


def system_of(
    tree: dict[str, Any], kind: RequestKind, position: BlockPosition, modelfile: Modelfile | None = None
) -> dict[str, Any]:
    request = request_of(tree, kind)
    body, placed = insert_blocks(request, mark=MARK, system=BLOCK, position=position, modelfile=modelfile)
    assert placed == 1
    found: dict[str, Any] = orjson.loads(body)
    return found


CHATS = (RequestKind.CHAT, RequestKind.COMPLETIONS)

TURNS: list[tuple[RequestKind, dict[str, Any], dict[str, Any]]] = [
    *(
        (
            kind,
            {"messages": [system("s"), user("a"), assistant("b"), user("hello")]},
            {"messages": [system("s"), user("a"), assistant("b"), user(f"{B}\n\nhello")]},
        )
        for kind in CHATS
    ),
    (RequestKind.COMPLETIONS, {"messages": [user([PICTURE, HELLO])]}, {"messages": [user([TEXT, PICTURE, HELLO])]}),
    (RequestKind.COMPLETIONS, {"messages": [user([HELLO])]}, {"messages": [user([TEXT, HELLO])]}),
    (
        RequestKind.COMPLETIONS,
        {"messages": [user("hello"), assistant("Well,")]},
        {"messages": [user(f"{B}\n\nhello"), assistant("Well,")]},
    ),
    (RequestKind.GENERATE, {"prompt": "hello"}, {"prompt": f"{B}\n\nhello"}),
    (RequestKind.GENERATE, {"prompt": FLAT}, {"prompt": FLAT.replace("go on", f"{B}\n\ngo on")}),
    (RequestKind.MESSAGES, {"messages": [user("hello")]}, {"messages": [user(f"{B}\n\nhello")]}),
    (RequestKind.MESSAGES, {"messages": [user([HELLO])]}, {"messages": [user([TEXT, HELLO])]}),
    (
        RequestKind.MESSAGES,
        {"messages": [user([RESULT, RESULT, PICTURE, HELLO])]},
        {"messages": [user([RESULT, RESULT, TEXT, PICTURE, HELLO])]},
    ),
    (
        RequestKind.MESSAGES,
        {"messages": [user("hello"), assistant("b"), user([RESULT])]},
        {"messages": [user(f"{B}\n\nhello"), assistant("b"), user([RESULT])]},
    ),
    (RequestKind.RESPONSES, {"input": "hello"}, {"input": f"{B}\n\nhello"}),
    (
        RequestKind.RESPONSES,
        {"input": [user("a"), user([{"type": "input_text", "text": "hello"}])]},
        {"input": [user("a"), user([{"type": "input_text", "text": B}, {"type": "input_text", "text": "hello"}])]},
    ),
    (RequestKind.RESPONSES, {"input": [user("hello")]}, {"input": [user(f"{B}\n\nhello")]}),
]


@pytest.mark.requirement("P-34")
@pytest.mark.parametrize(("kind", "tree", "wanted"), TURNS)
def test_in_the_turn_the_block_stands_before_the_newest_words_of_the_user(
    kind: RequestKind, tree: dict[str, Any], wanted: dict[str, Any]
):
    assert turn_of({"model": "m", **tree}, kind) == {"model": "m", **wanted}


SYSTEMS: list[tuple[RequestKind, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    *(
        (
            kind,
            {"messages": [system("Be brief."), user("a")]},
            {"messages": [system(f"{B}\n\nBe brief."), user("a")]},
            {"messages": [system(f"Be brief.\n\n{B}"), user("a")]},
        )
        for kind in CHATS
    ),
    (
        RequestKind.COMPLETIONS,
        {"messages": [{"role": "developer", "content": [HELLO]}, user("a")]},
        {"messages": [{"role": "developer", "content": [TEXT, HELLO]}, user("a")]},
        {"messages": [{"role": "developer", "content": [HELLO, TEXT]}, user("a")]},
    ),
    (
        RequestKind.CHAT,
        {"messages": [user("a")]},
        {"messages": [system(f"{B}\n\nYou are Mario."), user("a")]},
        {"messages": [system(f"{B}\n\nYou are Mario."), user("a")]},
    ),
    (
        RequestKind.GENERATE,
        {"prompt": FLAT},
        {"prompt": FLAT.replace("Be brief.", f"{B}\n\nBe brief.")},
        {"prompt": FLAT.replace("Be brief.", f"Be brief.\n\n{B}")},
    ),
    (
        RequestKind.GENERATE,
        {"prompt": "a", "system": "Be brief."},
        {"prompt": "a", "system": f"{B}\n\nBe brief."},
        {"prompt": "a", "system": f"Be brief.\n\n{B}"},
    ),
    (
        RequestKind.GENERATE,
        {"prompt": "a"},
        {"prompt": "a", "system": f"You are Mario.\n\n{B}"},
        {"prompt": "a", "system": f"You are Mario.\n\n{B}"},
    ),
    (
        RequestKind.MESSAGES,
        {"system": "Be brief.", "messages": [user("a")]},
        {"system": f"{B}\n\nBe brief.", "messages": [user("a")]},
        {"system": f"Be brief.\n\n{B}", "messages": [user("a")]},
    ),
    (
        RequestKind.MESSAGES,
        {"system": [HELLO], "messages": [user("a")]},
        {"system": [TEXT, HELLO], "messages": [user("a")]},
        {"system": [HELLO, TEXT], "messages": [user("a")]},
    ),
    (
        RequestKind.RESPONSES,
        {"instructions": "Be brief.", "input": "a"},
        {"instructions": f"{B}\n\nBe brief.", "input": "a"},
        {"instructions": f"Be brief.\n\n{B}", "input": "a"},
    ),
]


@pytest.mark.requirement("P-32", "P-34")
@pytest.mark.parametrize(("kind", "tree", "at_start", "at_end"), SYSTEMS)
def test_in_the_system_text_the_block_stands_at_its_start_or_its_end(
    kind: RequestKind, tree: dict[str, Any], at_start: dict[str, Any], at_end: dict[str, Any]
):
    tree = {"model": "m", **tree}

    assert system_of(tree, kind, BlockPosition.SYSTEM_START, OWN) == {"model": "m", **at_start}
    assert system_of(tree, kind, BlockPosition.SYSTEM_END, OWN) == {"model": "m", **at_end}


@pytest.mark.parametrize("modelfile", [None, Modelfile(system="s", has_messages=True)])
@pytest.mark.parametrize("kind", [RequestKind.CHAT, RequestKind.COMPLETIONS, RequestKind.GENERATE])
def test_a_system_text_of_the_model_that_is_not_known_is_never_hidden(kind: RequestKind, modelfile: Modelfile | None):
    tree = {"prompt": "a"} if kind is RequestKind.GENERATE else {"messages": [user("a")]}
    request = request_of(tree, kind)

    assert build_system_edit(request, B, position=BlockPosition.SYSTEM_START, modelfile=modelfile) is None
    assert insert_blocks(request, mark=MARK, system=BLOCK, position=BlockPosition.SYSTEM_START) == (request.body, 0)


def test_there_is_never_a_second_system_message():
    tree = {"messages": [user("a"), system("in the middle"), user("b")]}

    found = system_of(tree, RequestKind.CHAT, BlockPosition.SYSTEM_START, OWN)

    assert [message["role"] for message in found["messages"]] == ["user", "system", "user"]
    assert found["messages"][1]["content"] == f"{B}\n\nin the middle"


def test_a_message_without_content_has_no_place():
    request = request_of({"messages": [{"role": "user", "images": ["AA"]}]}, RequestKind.CHAT)

    assert build_turn_edit(request, request.turns[0], B) is None


@pytest.mark.parametrize(
    ("kind", "tree", "wanted"),
    [
        (RequestKind.CHAT, {"messages": [tool("42")]}, {"messages": [tool(f"{B}\n\n42")]}),
        (RequestKind.MESSAGES, {"messages": [user([RESULT])]}, {"messages": [user([RESULT, TEXT])]}),
        (
            RequestKind.RESPONSES,
            {"input": [{"type": "function_call_output", "call_id": "c", "output": "42"}]},
            {"input": [{"type": "function_call_output", "call_id": "c", "output": f"{B}\n\n42"}]},
        ),
    ],
)
def test_the_result_of_a_tool_can_carry_a_block_where_that_is_wanted(
    kind: RequestKind, tree: dict[str, Any], wanted: dict[str, Any]
):
    request = request_of(tree, kind)
    standing = PlacedBlock(turn=request.turns[-1], anchor=b"", block=BLOCK)

    assert orjson.loads(insert_blocks(request, [standing], mark=MARK)[0]) == wanted


@pytest.mark.requirement("P-34")
def test_a_header_in_what_a_user_wrote_shifts_the_split_and_never_the_text():
    prompt = FLAT + "### User:\nI wrote\n\n### System:\nin my text\n\n"
    result = turn_of({"prompt": prompt}, RequestKind.GENERATE)

    assert result["prompt"].replace(f"{B}\n\n", "") == prompt
