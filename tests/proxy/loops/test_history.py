"""The turns half of the loop test set: what must be caught at which level, and what must stay at level 0."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.loops.histories import SETTINGS, did, framework, items, level, person, said, spoke, task, verdict

from festinger.proxy.loops.history import RepetitionRule, find_repetition
from festinger.proxy.loops.keys import ChatMessage, ChatRole, ToolCall
from festinger.settings.tree import LoopSettings

READ = did("read_file", {"path": "src/app.py", "lines": 40}, "def main(): ...")
EDIT = did("edit_file", {"path": "src/app.py", "old": "a", "new": "b"}, "done")
TEST = did("run_tests", {"path": "tests"}, "1 failed: test_main")
ANSWER = "I have looked into the matter and the build is broken because of a missing bracket."


# ---- must catch


@pytest.mark.requirement("P-61")
@pytest.mark.parametrize(("count", "wanted"), [(1, 0), (2, 0), (3, 1), (4, 2), (5, 3), (6, 4), (9, 4)])
def test_one_call_with_one_result_climbs_a_level_with_each_repeat_from_the_third(count: int, wanted: int):
    found = verdict(task(*[READ] * count))

    assert (found.level if found else 0) == wanted
    assert found is None or (found.rule is RepetitionRule.SAME_CALL and found.count == count)


@pytest.mark.requirement("P-61")
def test_one_call_that_fails_each_time_is_caught_though_the_words_differ():
    failing = [did("run", {"command": "make"}, f"error: no rule for {chr(97 + n)}", error=True) for n in range(6)]
    found = verdict(task(*failing))

    assert found is not None
    assert (found.rule, found.level) == (RepetitionRule.SAME_ERROR, 1)
    assert level(task(*failing[:5])) == 0


@pytest.mark.requirement("P-61")
@pytest.mark.parametrize("cycle", [[READ, EDIT], [READ, EDIT, TEST]], ids=["a b", "read edit test"])
def test_rounds_of_two_or_three_steps_are_a_cycle(cycle: list[list[ChatMessage]]):
    found = verdict(task(*cycle * 3))

    assert found is not None
    assert (found.rule, found.count, found.level) == (RepetitionRule.CYCLE, 3, len(cycle) - 1)
    assert len(found.block) == len(cycle)
    assert level(task(*cycle * 2)) == 0
    assert level(task(*cycle * 5)) >= 3


@pytest.mark.requirement("P-60")
def test_reordered_keys_are_the_same_call():
    here = [did("find", '{"a": 1, "b": [2]}', "none"), did("find", '{"b":[2],"a":1}', "none")]

    assert level(task(*here, here[0])) == 1


@pytest.mark.requirement("P-60")
@pytest.mark.parametrize(
    "changing",
    [
        lambda n: f"{7_700_101 + n}",
        lambda n: f"2026-03-0{n + 1}T10:1{n}:22.{n}31Z",
        lambda n: f"9f8b7a6c-1d2e-4f3a-8b9c-0d1e2f3a4b5{n}",
        lambda n: f"3f2a9c{n}d8e7b",
        lambda n: f"/tmp/tmpab{n}x/out.txt",
        lambda n: f"https://host/items/{n}18fb2",
        lambda n: f"{n}",
    ],
    ids=["row", "timestamp", "uuid", "hash", "temporary path", "address", "page"],
)
def test_another_id_number_or_time_in_the_arguments_is_another_call(changing):
    assert level(task(*(did("look", {"at": changing(n)}, "fine") for n in range(40)))) == 0


@pytest.mark.requirement("P-60")
@pytest.mark.parametrize(
    "changing",
    [lambda n: f"order {7_700_101 + n}", lambda n: f"job 9f8b7a6c-1d2e-4f3a-8b9c-0d1e2f3a4b5{n}"],
    ids=["number", "uuid"],
)
def test_another_id_in_the_result_is_news(changing):
    assert level(task(*(did("pop", {"queue": "orders"}, changing(n)) for n in range(9)))) == 0


@pytest.mark.requirement("P-60")
def test_another_time_in_the_result_says_little():
    timed = [did("build", {"target": "all"}, f"5 passed in 0.{n}1s at 12:{n + 10}:59") for n in range(13)]

    assert level(task(*timed[:11])) == 0
    assert level(task(*timed)) == 1


@pytest.mark.requirement("P-61")
def test_an_equal_answer_given_three_times_is_caught_whatever_its_case_and_punctuation():
    warned = framework('{"system_warning": "You have sent the same message again."}')
    history = task([said(ANSWER), warned, said(ANSWER.upper()), warned, said(ANSWER.replace(" ", "  ") + "!!")])
    found = verdict(history)

    assert found is not None
    assert (found.rule, found.count, found.level) == (RepetitionRule.SAME_ANSWER, 3, 1)


@pytest.mark.requirement("P-61")
def test_an_answer_with_a_few_words_changed_is_nearly_the_same():
    long = " ".join(f"word{n}" for n in range(100))
    versions = [long.replace("word50", f"other{chr(97 + n)}") for n in range(6)]
    found = verdict(task([said(one) for one in versions]))

    assert found is not None
    assert (found.rule, found.level) == (RepetitionRule.NEAR_ANSWER, 1)
    assert level(task([said(f"Yes, the {n} is right.") for n in ("cat", "dog", "cow")])) == 0


@pytest.mark.requirement("P-60")
def test_an_agent_that_speaks_json_is_judged_by_its_deeds_and_not_by_its_thoughts():
    steps = [spoke("code", {"runtime": "python", "code": "x"}, "None", thoughts=f"Idea {n}") for n in range(3)]
    found = verdict(task(*steps))

    assert found is not None
    assert (found.rule, found.level) == (RepetitionRule.SAME_CALL, 1)
    fenced = [said(f"```json\n{steps[0][0].text}\n```"), steps[0][1]]
    assert level(task(*steps[:2], fenced)) == 1


@pytest.mark.requirement("P-60")
def test_several_calls_of_one_turn_are_steps_of_their_own():
    calls = tuple(ToolCall(name="look", arguments='{"at": 1}', id=f"c{n}") for n in range(3))
    asked = ChatMessage(role=ChatRole.ASSISTANT, calls=calls)
    results = [ChatMessage(role=ChatRole.TOOL, text="nothing", answers=f"c{n}") for n in (2, 0, 1)]

    assert len(items(task([asked, *results]))) == 3
    assert level(task([asked, *results])) == 1


@pytest.mark.requirement("P-60")
def test_a_result_belongs_to_the_call_that_it_names():
    asked = ChatMessage(
        role=ChatRole.ASSISTANT,
        calls=(ToolCall(name="a", id="1"), ToolCall(name="b", id="2"), ToolCall(name="c", id="3")),
    )
    results = [ChatMessage(role=ChatRole.TOOL, text=f"of {name}", answers=name) for name in ("3", "1", "2")]
    found = {step.tool: step.said for step in items(task([asked, *results]))}  # type: ignore[union-attr]

    assert found == {"a": "of 1", "b": "of 2", "c": "of 3"}


@pytest.mark.requirement("P-60")
def test_a_call_without_a_result_is_no_step_yet():
    assert level(task(READ, READ, READ[:1])) == 0


@pytest.mark.requirement("P-66")
def test_a_reply_that_repeated_itself_counts_as_one_more_equal_answer():
    twice = items(task([said(ANSWER), said(ANSWER)]))

    assert find_repetition(twice, SETTINGS) is None
    noticed = find_repetition(twice, SETTINGS, noticed=True)
    assert noticed is not None
    assert noticed.level == 1


@pytest.mark.requirement("P-61")
@pytest.mark.parametrize("counted", ['"python run.py # attempt {}"', '"python run.py --try {}"', '"/* {} */ run()"'])
def test_a_counter_or_a_comment_does_not_make_a_failing_call_another_one(counted: str):
    steps = [did("sh", f'{{"command": {counted.format(n)}}}', f"Error: no rule {n}") for n in range(7)]
    found = verdict(task(*steps))

    assert found is not None
    assert (found.rule, found.level) == (RepetitionRule.NEAR_CALL, 1)


@pytest.mark.requirement("P-61")
def test_a_search_in_other_words_that_finds_nothing_each_time_is_caught():
    queries = [
        "refund policy for late orders", "late orders refund rules", "policy on refund of late orders",
        "refund rules late order policy", "rules for refund of orders", "late refund policy rules",
        "orders refund policy",
    ]  # fmt: skip
    found = verdict(task(*(did("search", {"query": each}, f"No results for '{each}'.") for each in queries)))

    assert found is not None
    assert (found.rule, found.level) == (RepetitionRule.NEAR_CALL, 1)


def test_looking_for_many_different_names_and_finding_none_passes():
    names = [f"{one}_{other}" for one in ("load", "save", "read", "send") for other in ("user", "row", "file")]

    assert level(task(*(did("grep", {"pattern": name, "path": "src"}, "No matches found") for name in names))) == 0


@pytest.mark.requirement("P-61")
def test_a_cycle_of_ten_steps_is_caught_in_any_order():
    calls = [did("read_file", {"path": f"src/{name}.py"}, f"def {name}(): ...") for name in "abcdefghij"]

    assert level(task(*calls * 3)) == 2
    assert level(task(*calls, *reversed(calls), *calls)) == 2
    assert level(task(*calls * 2)) == 0


# ---- must pass


@pytest.mark.requirement("P-61")
@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("press_key", {"key": "Down"}, "Pressed Down."),
        ("scroll", {"direction": "down", "amount": 500}, '{"status": "ok"}'),
        ("bash", {"command": "git add -A"}, ""),
    ],
    ids=["key press", "scroll", "silent command"],
)
def test_a_result_that_only_confirms_the_call_says_little(tool: str, arguments: object, result: str):
    assert level(task(*[did(tool, arguments, result)] * 25)) == 0
    assert level(task(*[did(tool, arguments, result)] * 31)) == 1


@pytest.mark.requirement("P-61")
def test_a_call_after_which_time_passes_waits_for_something():
    polled = items(task(*[did("check_build", {"id": 7}, "The build is running.")] * 100))

    assert find_repetition(polled, SETTINGS, waits=[30.0] * 100) is None
    found = find_repetition(polled, SETTINGS, waits=[0.0] * 100)
    assert found is not None
    assert found.level == 4


@pytest.mark.requirement("P-61")
def test_a_failure_may_be_waited_for_too_but_not_for_as_long():
    failing = items(task(*[did("curl", {"url": "http://127.0.0.1:8080"}, "curl: (7) connection refused")] * 40))

    assert find_repetition(failing[:5], SETTINGS, waits=[15.0] * 5) is None
    assert find_repetition(failing, SETTINGS, waits=[15.0] * 40) is not None


@pytest.mark.requirement("P-75")
def test_only_steps_that_were_seen_to_come_open_the_breaker():
    found = find_repetition(items(task(*[READ] * 50)), SETTINGS, witnessed=5)

    assert found is not None
    assert found.level == 3


@pytest.mark.requirement("P-61")
def test_a_call_with_changing_results_goes_on():
    assert level(task(*(did("build_log", {"id": 7}, f"{n} % done") for n in range(60)))) == 0


def test_one_tool_over_twenty_files_passes():
    assert level(task(*(did("read_file", {"path": f"src/{n}.py"}, "x = 1") for n in range(20)))) == 0


def test_edit_and_test_with_a_new_error_each_time_passes():
    rounds = [
        [*did("edit", {"path": "a.py", "line": n}, "done"), *did("test", {}, f"line {n} fails", error=True)]
        for n in range(8)
    ]

    assert level(task(*rounds)) == 0


@pytest.mark.requirement("P-63")
def test_a_person_who_says_something_else_each_time_starts_five_tasks():
    history = [message for n in range(5) for message in (person(f"Part {chr(97 + n)}, please."), *READ, said(ANSWER))]

    assert level(history) == 0


def test_equal_short_answers_to_different_questions_pass():
    history = [message for n in range(6) for message in (person(f"Is {n} even?"), said("Yes."))]

    assert level(history) == 0


@pytest.mark.requirement("P-63")
def test_one_other_step_or_a_new_word_of_a_person_recovers_at_once():
    looping = task(*[READ] * 6)

    assert level(looping) == 4
    assert level([*looping, *EDIT]) == 0
    assert level([*looping, *EDIT, *READ]) == 0
    assert level([*looping, person("Try something else.")]) == 0
    assert level([*looping, framework("A warning.")]) == 4


@pytest.mark.requirement("P-63")
def test_the_rules_are_armed_again_after_a_recovery():
    assert level(task(*[READ] * 6, EDIT, *[READ] * 3)) == 1


# ---- as decisions


@pytest.mark.requirement("P-61")
def test_an_answer_that_reports_another_number_is_another_answer():
    chapters = [said(f"I have finished chapter {n} of the long report and go on with the next.") for n in range(9)]

    assert level(task(chapters)) == 0


@pytest.mark.requirement("P-61")
def test_questions_of_one_form_about_other_things_are_other_answers():
    cards = [
        said(f"What is the capital of {name}?")
        for name in ("Peru", "Chad", "Laos", "Mali", "Cuba", "Iran", "Oman", "Togo")
    ]

    assert level(task(cards)) == 0


@pytest.mark.requirement("P-61")
def test_the_thresholds_are_settings():
    strict = LoopSettings(thresholds=(2, 3, 8, 9))

    assert [level(task(*[READ] * n), strict) for n in (1, 2, 3, 7, 8, 9)] == [0, 1, 2, 2, 3, 4]


@given(st.lists(st.sampled_from("abcd"), max_size=40))
def test_more_of_the_same_never_lowers_the_level(done: list[str]):
    history = task(*(did(tool, {}, "ok") for tool in done))
    last = did(done[-1] if done else "a", {}, "ok")
    if done[-2:-1] == done[-1:]:
        assert level([*history, *last]) >= level(history)
    assert 0 <= level(history) <= 4


@given(st.lists(st.integers(0, 9), min_size=7, max_size=40, unique_by=lambda n: n))
def test_steps_that_are_all_different_are_no_loop(numbers: list[int]):
    assert level(task(*(did("look", {"at": n}, json.dumps(n)) for n in numbers))) == 0
