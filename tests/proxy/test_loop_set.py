"""The loop test set through the real door: what must be caught is caught, and what must pass leaves no trace."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from tests.proxy.loop_scene import Model, Watched, watching
from tests.proxy.loops.test_stream import MUST_PASS
from tests.proxy.proxy_server import exchange, request

Messages = list[dict[str, Any]]
SYSTEM = {"role": "system", "content": "You are an agent with tools."}
ASKED = {"role": "user", "content": "Please mend the build."}
WARNED = {"role": "user", "content": json.dumps({"system_warning": "That was no step."})}


def step(name: str, arguments: Any, result: str) -> Messages:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": written}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": result},
    ]


def said(text: str) -> Messages:
    return [{"role": "assistant", "content": text}, WARNED]


def spoken(thought: str) -> Messages:
    """A step of an agent that speaks JSON in text."""
    call = {"thoughts": [thought], "tool_name": "look", "tool_args": {"at": 1}}
    result = {"tool_name": "look", "tool_result": "nothing"}
    return [{"role": "assistant", "content": json.dumps(call)}, {"role": "user", "content": json.dumps(result)}]


def growing(*rounds: Messages, start: Messages | None = None) -> Iterator[Messages]:
    """The histories of the requests of an agent that takes these rounds one after the other."""
    history = [SYSTEM, ASKED] if start is None else start
    for one in rounds:
        history = [*history, *one]
        yield history


class Agent:
    def __init__(self, at: Watched, session: str = "s-12345678") -> None:
        self._at = at
        self._session = session

    async def asks(self, messages: Messages) -> str:
        body = json.dumps({"model": "m", "messages": messages}).encode()
        sent = request("POST", "/v1/chat/completions", f"X-Session-ID: {self._session}", body=body)
        told = (await exchange(self._at.door.port, sent)).value("x-festinger-loop")
        return (told or "").partition("; did=")[0]


async def told(histories: Iterator[Messages]) -> list[str]:
    """What is told of each request."""
    async with watching(loop={"breaker_seconds": 86_400}) as at:
        agent = Agent(at)
        return [await agent.asks(messages) for messages in histories]


LOOK = step("look", {"at": 1}, "nothing")
CYCLE = [step("read", {"f": "a"}, "1"), step("edit", {"f": "a"}, "2"), step("test", {}, "3")]

LONG = "I looked at " + ", ".join(f"file {word}" for word in "abcdefghijklmnopqrstuvwxyzäöü") + " and all is well,"

MUST_CATCH: dict[str, tuple[list[Messages], str, list[int]]] = {
    "one call with one result": ([LOOK] * 6, "same_call", [0, 0, 1, 2, 3, 4]),
    "A B A B A B": ([step("a", {}, "1"), step("b", {}, "2")] * 3, "cycle", [0, 0, 0, 0, 0, 1]),
    "read, edit, test": (CYCLE * 5, "cycle", [0] * 6 + [1, 1, 2, 2, 2, 3, 3, 4, 4]),
    "keys in another order": (
        [step("look", '{"a":1,"b":2}', "x"), step("look", '{"b": 2, "a": 1}', "x"), step("look", '{"a":1,"b":2}', "x")],
        "same_call",
        [0, 0, 1],
    ),
    "a counter in the command": (
        [step("run", {"command": f"make # attempt {n}"}, "make: *** [all] Error 2") for n in range(6)],
        "near_call",
        [0, 0, 0, 0, 0, 1],
    ),
    "another error each time": (
        [step("run", {"command": "make"}, f"Error: no rule {word}") for word in ("a", "b", "c", "d", "e", "f")],
        "same_error",
        [0, 0, 0, 0, 0, 1],
    ),
    "equal answers": ([said("I am done with all of it.")] * 3, "same_answer", [0, 0, 1]),
    "nearly equal answers": ([said(f"{LONG} {n} times.") for n in ("two", "ten", "six", "few", "all", "no")], "near_answer", [0, 0, 0, 0, 0, 1]),
    "spoken calls with other thoughts": ([spoken(f"thought {n}") for n in range(3)], "same_call", [0, 0, 1]),
}  # fmt: skip


@pytest.mark.requirement("P-60", "P-61", "P-70")
@pytest.mark.parametrize("name", MUST_CATCH)
async def test_what_must_be_caught_is_caught_by_its_rule_at_its_level(name: str):
    rounds, rule, levels = MUST_CATCH[name]
    found = await told(growing(*rounds))

    assert [int(each.removeprefix("level=")[0]) for each in found] == levels
    assert f"rule={rule}" in found[-1]


async def test_an_error_each_time_is_caught_whatever_it_says():
    def failed(number: int) -> Messages:
        use = {"type": "tool_use", "id": f"t{number}", "name": "look", "input": {"at": 1}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"no {chr(97 + number)} of them", "is_error": True}  # fmt: skip
        return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]

    async with watching() as at:
        for messages in growing(*(failed(n) for n in range(6)), start=[ASKED]):
            body = json.dumps({"model": "m", "max_tokens": 9, "messages": messages}).encode()
            got = await exchange(at.door.port, request("POST", "/v1/messages", body=body))

    assert got.value("x-festinger-loop") == "level=1; rule=same_error; count=6; did=nudge"


@pytest.mark.requirement("P-60")
async def test_compaction_in_the_middle_changes_no_level():
    async with watching() as at:
        agent = Agent(at)
        for messages in growing(*[LOOK] * 4):
            await agent.asks(messages)
        shorter = [SYSTEM, {"role": "user", "content": "Summary: the build is looked at."}, *LOOK, *LOOK]
        compacted = await agent.asks(shorter)
        after = await agent.asks([*shorter, *LOOK])

    assert compacted == "level=3; rule=same_call; count=5"
    assert after == "level=4; rule=same_call; count=6"


@pytest.mark.requirement("P-63")
async def test_interleaved_sessions_reach_the_same_levels_as_alone():
    other = step("ask", {"who": "me"}, "no")

    async with watching() as at:
        one, two = Agent(at, "one-1234567"), Agent(at, "two-1234567")
        levels = [
            (await one.asks(mine), await two.asks(theirs))
            for mine, theirs in zip(growing(*[LOOK] * 3), growing(*[other] * 3), strict=True)
        ]

    assert [(mine[:7], theirs[:7]) for mine, theirs in levels] == [
        ("level=0", "level=0"), ("level=0", "level=0"), ("level=1", "level=1"),
    ]  # fmt: skip


def questions() -> Iterator[Messages]:
    history = [SYSTEM]
    for number in range(6):
        history = [*history, {"role": "user", "content": f"Is file {number} fine?"}]
        yield history
        history = [*history, {"role": "assistant", "content": "Yes."}]


def resent() -> Iterator[Messages]:
    for messages in growing(LOOK, LOOK):
        yield from [messages] * 4


MUST_PASS_TURNS: dict[str, Callable[[], Iterator[Messages]]] = {
    "same call with changing results": lambda: growing(*(step("look", {"at": 1}, f"row {n}") for n in range(30))),
    "one tool over twenty files": lambda: growing(*(step("read", {"file": f"f{n}"}, "fine") for n in range(20))),
    "edit and test with a new error each time": lambda: growing(
        *(one for n in range(8) for one in (step("edit", {"line": n}, "ok"), step("test", {}, f"line {n} fails")))
    ),
    "key presses": lambda: growing(*[step("press", {"key": "Down"}, "ok")] * 20),
    "rows by id": lambda: growing(*(step("delete_row", {"id": 7_000_000 + n}, "1 row deleted") for n in range(20))),
    "sent again": resent,
    "short answers to different questions": questions,
}  # fmt: skip


@pytest.mark.requirement("P-61", "P-62", "P-63")
@pytest.mark.parametrize("name", MUST_PASS_TURNS)
async def test_honest_work_passes_with_its_bytes_unchanged(name: str):
    async with watching() as at:
        agent = Agent(at)
        histories = [*MUST_PASS_TURNS[name]()]
        levels = {await agent.asks(messages) for messages in histories}

    assert levels == {"level=0"}
    assert at.model.raw == [json.dumps({"model": "m", "messages": messages}).encode() for messages in histories]


@pytest.mark.requirement("P-61")
async def test_polling_passes_as_long_as_time_does():
    poll = step("get_status", {}, "The build is still running.")

    async with watching() as at:
        agent = Agent(at)
        levels = set()
        for messages in growing(*[poll] * 40):
            at.hands.forward(timedelta(seconds=30))
            levels.add(await agent.asks(messages))

    assert levels == {"level=0"}


@pytest.mark.requirement("P-66", "P-67")
@pytest.mark.parametrize("name", MUST_PASS)
async def test_honest_repetition_streams_to_its_end(name: str):
    text = MUST_PASS[name]
    pieces = [text[start : start + 40] for start in range(0, len(text), 40)]

    async with watching(Model(says=pieces)) as at:
        body = json.dumps({"model": "m", "messages": [ASKED]}).encode()
        got = await exchange(at.door.port, request("POST", "/api/chat", body=body))
    lines = [json.loads(line) for line in got.body.splitlines()]

    assert "".join(line["message"]["content"] for line in lines) == text
    assert lines[-1]["done_reason"] == "stop"
    assert "loop_cut" not in at.names
