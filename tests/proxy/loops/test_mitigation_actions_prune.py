from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.loops.histories import SETTINGS, did, framework, items, person, said, spoke, task, verdict

from festinger.proxy.loops.keys import ChatMessage, ChatRole, ToolCall
from festinger.proxy.loops.mitigation import PruningPlan, plan_pruning, prune_threshold
from festinger.settings.tree import LoopSettings

LOOK = did("look", {"at": 1}, "nothing")
A, B = did("a", {}, "1"), did("b", {}, "2")


def pruned(history: list[ChatMessage], keep: int = 2) -> tuple[PruningPlan | None, list[ChatMessage]]:
    repeat = verdict(history)
    assert repeat is not None
    plan = plan_pruning(history, items(history), repeat, keep=keep)
    gone = set(plan.left_out) if plan else set()
    return plan, [message for at, message in enumerate(history) if at not in gone]


def has_orphans(history: Sequence[ChatMessage]) -> bool:
    waiting = 0
    for message in history:
        if message.role is ChatRole.ASSISTANT:
            waiting = len(message.calls)
        elif message.role is ChatRole.TOOL:
            waiting -= 1
            if waiting < 0:
                return True
    return waiting > 0


def test_of_six_equal_steps_the_first_and_the_last_stay():
    plan, left = pruned(task(A, *[LOOK] * 6))

    assert left == task(A, LOOK, LOOK)
    assert plan is not None
    assert "4 repeated rounds" in plan.line
    assert plan.after == 5


def test_of_a_cycle_whole_rounds_go():
    _, left = pruned(task(*[A, B] * 5))

    assert left == task(A, B, A, B)


def test_so_many_rounds_stay_as_are_to_be_kept():
    _, left = pruned(task(*[LOOK] * 6), keep=4)

    assert left == task(LOOK, LOOK, LOOK, LOOK)


def test_equal_answers_go_with_the_warnings_about_them():
    warned = framework("You repeat yourself.")
    _, left = pruned(task(*[[said("I am done with all of it."), warned]] * 5))

    assert left == task(*[[said("I am done with all of it."), warned]] * 2)


def test_spoken_calls_are_pruned_in_pairs():
    steps = [spoke("code", {"x": 1}, "None", thoughts=f"t{n}") for n in range(5)]
    _, left = pruned(task(*steps))

    assert left == task(steps[0], steps[-1])


def test_calls_made_in_one_turn_are_not_torn_apart():
    asked = ChatMessage(role=ChatRole.ASSISTANT, calls=tuple(ToolCall(name="look") for _ in range(5)))
    history = task([asked, *[ChatMessage(role=ChatRole.TOOL, text="nothing")] * 5])
    plan, left = pruned(history)

    assert plan is None
    assert left == history


def test_rounds_that_share_a_turn_are_not_torn_apart():
    asked = ChatMessage(role=ChatRole.ASSISTANT, calls=(ToolCall(name="look"), ToolCall(name="look")))
    history = task(*[[asked, *[ChatMessage(role=ChatRole.TOOL, text="nothing")] * 2]] * 3)
    plan, left = pruned(history)

    assert plan is None
    assert left == history


def test_where_the_system_spoke_in_between_nothing_is_left_out():
    history = task(LOOK, LOOK, [ChatMessage(role=ChatRole.SYSTEM, text="Mind the budget.")], LOOK, LOOK, LOOK)

    assert pruned(history) == (None, history)


def test_the_same_history_is_pruned_alike():
    assert pruned(task(*[LOOK] * 7)) == pruned(task(*[LOOK] * 7))


@given(
    before=st.lists(st.sampled_from([A, B, LOOK]), max_size=4),
    cycle=st.lists(st.sampled_from([A, B, LOOK]), min_size=1, max_size=3),
    count=st.integers(3, 8),
    keep=st.integers(2, 4),
)
def test_persons_system_and_whole_pairs_always_stay(before, cycle, count: int, keep: int):
    history = [person("First."), said("Yes?"), *task(*before, *cycle * count)]
    if verdict(history) is None:
        return
    plan, left = pruned(history, keep)

    kept = [message for message in history if message.by_person or message.role is ChatRole.SYSTEM]
    assert [message for message in left if message.by_person or message.role is ChatRole.SYSTEM] == kept
    assert not has_orphans(left)
    assert left[-2:] == history[-2:]
    assert plan is None or all(place > plan.after for place in plan.left_out)


@pytest.mark.parametrize("keep", [3, 4])
def test_where_nothing_is_to_go_nothing_changes(keep: int):
    plan, _ = pruned(task(*[LOOK] * 3), keep=keep)

    assert plan is None


def test_what_came_after_the_first_pruning_only_grows_at_its_end():
    shown = []
    for count in (5, 6, 7):
        history = task(*[LOOK] * count)
        repeat = verdict(history)
        assert repeat is not None
        plan = plan_pruning(history, items(history), repeat, keep=2, until=prune_threshold(repeat, SETTINGS))
        assert plan is not None
        shown.append(([message for at, message in enumerate(history) if at not in plan.left_out], plan.line))

    assert [len(left) for left, _ in shown] == [6, 8, 10]
    assert len({line for _, line in shown}) == 1


def test_a_cycle_is_cut_from_where_it_began_whatever_its_latest_step():
    whole = task(*[A, B] * 6)
    shown = []
    for end in (22, 24):
        history = whole[:end]
        repeat = verdict(history)
        assert repeat is not None
        plan = plan_pruning(history, items(history), repeat, keep=2, until=prune_threshold(repeat, SETTINGS))
        assert plan is not None
        shown.append((plan.left_out, plan.after))

    assert shown[0] == shown[1]


def test_steps_that_say_little_are_pruned_later():
    history = task(*[did("press", {"key": "Down"}, "pressed")] * 50)
    repeat = verdict(history)

    assert repeat is not None
    assert prune_threshold(repeat, SETTINGS) == 50
    assert prune_threshold(repeat, LoopSettings(ladder=("prune",), thresholds=(3, 4, 5, 6))) == 30


def test_steps_in_changing_order_stay():
    c = did("c", {}, "3")
    plan, _ = pruned(task(A, B, c, B, A, c, c, B, A, A, B, c))

    assert plan is None
