"""What was read before is read the same, and only so much of it is kept."""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.protocols.wire import LABEL, LIMIT, MARK, TREES, assistant, user

from festinger.proxy.protocols.messages import ChatRequest, RequestKind, TurnCache, build_cleaning_rules
from festinger.proxy.protocols.parse import parse_request
from festinger.text.blocks import CLOSE, OPEN

OURS = f"{OPEN}\n{LABEL}\na: [type] b\n{CLOSE}"


def turns(tree: dict[str, Any], kind: RequestKind, memo: TurnCache | None) -> Any:
    found = parse_request(
        orjson.dumps(tree), kind, rules=build_cleaning_rules(MARK, ["[EXTRAS]"], memo=memo), limit=LIMIT
    )
    return found.turns if isinstance(found, ChatRequest) else found


@given(data=st.data(), kinds=st.lists(st.sampled_from([*TREES]), min_size=1, max_size=4))
def test_with_a_memory_every_request_reads_as_without(data: st.DataObject, kinds: list[RequestKind]):
    memo = TurnCache(most_chars=4096)
    for kind in kinds:
        tree = data.draw(TREES[kind])

        for _ in range(2):
            assert turns(tree, kind, memo) == turns(tree, kind, None)


def test_a_message_that_comes_again_at_its_place_is_the_same_turn():
    memo = TurnCache()
    history = [user("hi"), {**assistant(""), "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}]

    first = turns({"messages": history}, RequestKind.CHAT, memo)
    second = turns({"messages": [*history, user("go on")]}, RequestKind.CHAT, memo)
    moved = turns({"messages": [user("so"), *history]}, RequestKind.CHAT, memo)

    assert all(one is other for one, other in zip(first, second, strict=False))
    assert moved[1] is not first[0]
    assert moved[1].path == ("messages", 1)


def test_what_may_carry_a_block_of_ours_is_read_anew():
    memo = TurnCache()
    turns({"messages": [user(f"{OURS}\n\nhi"), user([{"type": "text", "text": OURS}])]}, RequestKind.CHAT, memo)

    assert len(memo) == 0


def test_what_was_not_used_for_the_longest_time_goes_first():
    memo = TurnCache(most_chars=3 * 1000)
    first, *_ = turns({"messages": [user("a" * 100), user("b" * 100)]}, RequestKind.CHAT, memo)
    turns({"messages": [user("a" * 100)]}, RequestKind.CHAT, memo)
    turns({"messages": [user("c" * 300), user("d" * 100)]}, RequestKind.CHAT, memo)
    again, *_ = turns({"messages": [user("a" * 100)]}, RequestKind.CHAT, memo)

    assert len(memo) <= 3
    assert again == first
    assert turns({"messages": [user("e" * 5000)]}, RequestKind.CHAT, memo)[0].text == "e" * 5000
