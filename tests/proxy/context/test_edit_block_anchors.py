"""The same history gets the same blocks at the same places, and what was forwarded never changes."""

from dataclasses import replace
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.proxy.protocols.wire import LABEL, MARK, assistant, chat, request_of, system, tool, user

from festinger.proxy.context.edit import (
    PlacedBlock,
    choose_block_turn,
    choose_system_block,
    find_placed_blocks,
    insert_blocks,
    lines_by_subject,
)
from festinger.proxy.protocols.messages import ChatRequest, RequestKind, SkipReason
from festinger.proxy.sessions.session import build_hash_chain
from festinger.services.block import ContextBlock, ContextLine, NoteRef


def block(text: str, *notes: NoteRef) -> ContextBlock:
    return ContextBlock(label=LABEL, lines=(ContextLine(text=text, notes=notes),))


def forward(
    request: ChatRequest, blocks: dict[bytes, ContextBlock], seen: set[bytes], fresh: ContextBlock | None
) -> Any:
    """One request through the anchors, as the door will do it."""
    links = build_hash_chain(request.turns).links
    standing = list(find_placed_blocks(request, links, blocks))
    place = choose_block_turn(request, links, forwarded=seen)
    if fresh is not None and not isinstance(place, SkipReason):
        turn, anchor = place
        standing.append(PlacedBlock(turn=turn, anchor=anchor, block=fresh))
        blocks[anchor] = fresh
    seen.update(links)
    return orjson.loads(insert_blocks(request, standing, mark=MARK)[0])


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["yes", "continue", "and ramanujan?", "ü\n\n"]), min_size=2, max_size=8), st.data())
def test_over_a_conversation_what_was_forwarded_stays_the_beginning(words: list[str], data: Any):
    blocks: dict[bytes, ContextBlock] = {}
    seen: set[bytes] = set()
    history: list[dict[str, Any]] = [system("Be brief.")]
    before: list[Any] = []
    for step, word in enumerate(words):
        history.append(user(word))
        fresh = block(f"note {step}") if data.draw(st.booleans()) else None
        sent = forward(chat(*history), blocks, seen, fresh)["messages"]

        assert sent[: len(before)] == before
        assert (f"note {step}" in sent[-1]["content"]) is (fresh is not None)
        before = sent
        if data.draw(st.booleans()):
            history += [assistant("calling"), tool("42")]
            sent = forward(chat(*history), blocks, seen, block("never"))["messages"]
            assert sent[: len(before)] == before
            before = sent
        history.append(assistant(f"answer {step}"))


def test_a_message_that_went_out_without_a_block_never_gets_one():
    blocks: dict[bytes, ContextBlock] = {}
    seen: set[bytes] = set()
    request = chat(user("hi"))

    assert forward(request, blocks, seen, None)["messages"] == [user("hi")]
    assert forward(request, blocks, seen, block("late"))["messages"] == [user("hi")]
    assert choose_block_turn(request, build_hash_chain(request.turns).links, forwarded=seen) is SkipReason.FORWARDED


def test_a_block_stays_at_its_anchor_when_a_volatile_tail_is_left_out_later():
    blocks: dict[bytes, ContextBlock] = {}
    seen: set[bytes] = set()
    first = request_of({"prompt": "### User:\nstart\n\n[EXTRAS]\n12:00\n\n"}, RequestKind.GENERATE)
    later = request_of(
        {"prompt": "### User:\nstart\n\n### Assistant:\nok\n\n### User:\nmore\n\n"}, RequestKind.GENERATE
    )

    one = forward(first, blocks, seen, block("n1"))["prompt"]
    two = forward(later, blocks, seen, block("n2"))["prompt"]

    assert one.startswith("### User:\n<recollection>")
    head = one[: one.index("[EXTRAS]")]
    assert two.startswith(head)
    assert "n2" in two


def test_a_turn_that_ends_with_a_tool_carries_nothing_new_unless_it_may():
    request = chat(user("hi"), assistant("calling"), tool("42"))
    links = build_hash_chain(request.turns).links

    assert choose_block_turn(request, links, forwarded=()) is SkipReason.TOOL_TURN
    assert choose_block_turn(request, links, forwarded=(), tools_may_carry=True) == (request.turns[2], links[2])


def test_results_beside_words_of_the_user_are_no_turn_of_a_tool():
    result = {"type": "tool_result", "tool_use_id": "t", "content": "42"}
    only = request_of({"messages": [user("hi"), assistant("x"), user([result])]}, RequestKind.MESSAGES)
    both = request_of({"messages": [user([result, {"type": "text", "text": "now stop"}])]}, RequestKind.MESSAGES)

    assert choose_block_turn(only, build_hash_chain(only.turns).links, forwarded=()) is SkipReason.TOOL_TURN
    assert choose_block_turn(both, build_hash_chain(both.turns).links, forwarded=()) == (
        both.turns[0],
        build_hash_chain(both.turns).links[0],
    )


def test_a_user_message_that_carries_a_block_already_gets_no_other():
    request = chat(user(f"{block('from a proxy before us').text}\n\nhi"))
    links = build_hash_chain(request.turns).links

    assert choose_block_turn(request, links, forwarded=()) is SkipReason.ALREADY
    assert find_placed_blocks(request, links, {links[0]: block("ours")}) == ()


def test_a_block_of_the_system_text_waits_for_a_person_and_for_other_notes():
    n1, n2 = NoteRef(kind="edge", id="1"), NoteRef(kind="edge", id="2")
    old, same, new = block("a", n1), block("a", replace(n1, version=7)), block("b", n2)

    assert choose_system_block(None, new, new_person_turn=False) == (new, False)
    assert choose_system_block(old, new, new_person_turn=False) == (old, False)
    assert choose_system_block(old, same, new_person_turn=True) == (old, False)
    assert choose_system_block(old, None, new_person_turn=True) == (old, False)
    assert choose_system_block(old, new, new_person_turn=True) == (new, True)


def test_of_two_lines_about_the_same_the_later_one_counts():
    first, second = (block(f"gnommoweb: [type] {kind}", note) for kind, note in KINDS.items())

    assert lines_by_subject([first, second]) == {"gnommoweb": second.lines[0]}
    assert lines_by_subject([second, block("? xyzzy")]) == {"gnommoweb": second.lines[0]}


KINDS = {
    kind: NoteRef(kind="edge", id=f"gnommoweb [type] {kind}", version=at)
    for at, kind in enumerate(("repo", "container"))
}
