"""An agent that repeats itself, seen by real clients through the real door."""

import gzip
import json
from datetime import timedelta
from itertools import pairwise
from typing import Any

import ollama
import openai
import pytest
from anthropic import AsyncAnthropic
from tests.proxy.loop_scene import Model, Watched, watching
from tests.proxy.proxy_server import exchange, request

from festinger.ids import MAIN_SPACE
from festinger.observability.metrics import REGISTRY

TASK = [
    {"role": "system", "content": "You are an agent with tools."},
    {"role": "user", "content": "Please mend the build."},
]
RESULT = "error: no such file"


def step(at: int, *, path: str = "build.py", result: str = RESULT) -> list[dict[str, Any]]:
    """One call with its result, as OpenAI's clients write it."""
    function = {"name": "read_file", "arguments": json.dumps({"path": path})}
    call = {"id": f"call_{at}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{at}", "content": result},
    ]


def looping(count: int) -> list[dict[str, Any]]:
    return [*TASK, *(message for at in range(count) for message in step(at))]


class Agent:
    """Asks with OpenAI's library."""

    def __init__(self, at: Watched, **headers: str) -> None:
        self._client = openai.AsyncOpenAI(base_url=f"{at.door.url}/v1", api_key="x", max_retries=0)
        self._headers = {"X-Session-ID": "agent-12345", **headers}

    async def asks(self, messages: list[dict[str, Any]], **more: Any) -> Any:
        options = {"model": "m", "extra_headers": self._headers, **more}
        return await self._client.chat.completions.with_raw_response.create(messages=messages, **options)  # type: ignore[arg-type]

    async def loop(self, messages: list[dict[str, Any]], **more: Any) -> str:
        """What the answer says of the loop."""
        got = await self.asks(messages, **more)
        return str(got.headers["x-festinger-loop"])

    async def __aenter__(self) -> "Agent":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()


@pytest.mark.requirement("P-70", "P-71", "P-72", "P-73", "P-75", "P-54")
async def test_a_looping_agent_meets_notice_temperature_pruning_and_then_the_breaker():
    async with watching() as at, Agent(at) as agent:
        told = [await agent.loop(looping(count)) for count in range(1, 6)]
        stopped = await agent.asks(looping(6))
    sent = at.model.bodies

    assert told == [
        "level=0",
        "level=0",
        "level=1; rule=same_call; count=3; did=nudge",
        "level=2; rule=same_call; count=4; did=nudge,temperature",
        "level=3; rule=same_call; count=5; did=nudge,temperature,prune",
    ]
    assert [body["messages"] == looping(count) for count, body in enumerate(sent, 1)] == [
        True, True, False, False, False,
    ]  # fmt: skip
    assert "read_file" in sent[2]["messages"][-1]["content"]
    assert sent[2]["messages"][:-1] == looping(3)[:-1]
    assert "temperature" not in sent[2]
    assert (sent[3]["temperature"], sent[3]["frequency_penalty"]) == (1.2, 0.3)
    assert len(sent[4]["messages"]) == len(looping(2))
    assert sent[4]["messages"][-1]["content"].startswith(RESULT)
    assert len(sent) == 5
    assert stopped.headers["x-festinger-loop"] == "level=4; rule=same_call; count=6; did=breaker"
    assert stopped.headers["x-festinger-memory"] == "off; reason=breaker"
    said = stopped.parse().choices[0].message.content
    assert "read_file" in said
    assert "6 times" in said


@pytest.mark.requirement("P-63", "P-75")
@pytest.mark.parametrize("words", ["Try another file.", "Please mend the build."])
async def test_after_a_word_of_a_person_all_is_normal(words: str):
    async with watching() as at, Agent(at) as agent:
        for count in range(1, 7):
            await agent.asks(looping(count))
        history = [*looping(6), {"role": "assistant", "content": "Stopped."}, {"role": "user", "content": words}]
        told = await agent.loop(history, temperature=0.5)
        next_step = await agent.loop([*history, *step(9)])

    assert (told, next_step) == ("level=0", "level=0")
    assert at.model.bodies[5]["messages"] == history
    assert at.model.bodies[5]["temperature"] == 0.5
    assert at.names[-2:] == ["loop_recovered", "breaker_closed"]
    assert at.happened[-1].payload["by"] == "person"


@pytest.mark.requirement("P-63")
async def test_another_step_recovers_at_once_and_the_notice_is_gone():
    async with watching() as at, Agent(at) as agent:
        for count in range(1, 6):
            await agent.asks(looping(count))
        history = [*looping(5), *step(9, path="other.py", result="fine")]
        told = await agent.loop(history)

    assert told == "level=0"
    assert at.model.bodies[-1] == {"model": "m", "messages": history}
    assert at.names == ["loop_detected", "loop_detected", "loop_detected", "loop_recovered"]


@pytest.mark.requirement("P-71", "P-35")
async def test_up_to_the_second_level_the_prefix_holds():
    async with watching() as at, Agent(at) as agent:
        for count in range(1, 5):
            await agent.asks(looping(count))
    sent = [body["messages"] for body in at.model.bodies]

    for before, after in pairwise(sent):
        assert after[: len(before) - 1] == before[:-1]
        assert before[-1]["content"].startswith(after[len(before) - 1]["content"])


@pytest.mark.requirement("P-73")
async def test_a_loop_that_goes_on_after_pruning_only_grows_at_its_end():
    async with watching(loop={"thresholds": (3, 4, 5, 20)}) as at, Agent(at) as agent:
        for count in range(1, 9):
            await agent.asks(looping(count))
    pruned = [body["messages"] for body in at.model.bodies[4:]]

    assert [len(messages) for messages in pruned] == [6, 8, 10, 12]
    for before, after in pairwise(pruned):
        assert after[: len(before) - 1] == before[:-1]


@pytest.mark.requirement("P-75")
async def test_an_open_breaker_stays_open_whatever_the_agent_does_and_is_tried_again_later():
    async with watching() as at, Agent(at) as agent:
        for count in range(1, 7):
            await agent.asks(looping(count))
        other = [*looping(6), *step(9, path="other.py", result="fine")]
        still = await agent.loop(other)
        at.hands.forward(timedelta(seconds=61))
        tried = await agent.loop([*other, *step(10, path="third.py", result="fine")])
        after = await agent.loop([*other, *step(10, path="third.py", result="fine"), *step(11, path="fourth.py")])

    assert still == "level=4; rule=same_call; count=6; did=breaker"
    assert (tried, after) == ("level=0", "level=0")
    assert len(at.model.bodies) == 5 + 2
    assert at.happened[-1].name == "breaker_closed"
    assert at.happened[-1].payload["by"] == "probe"


@pytest.mark.requirement("P-75")
async def test_a_loop_that_goes_on_after_the_trial_is_stopped_again():
    async with watching() as at, Agent(at) as agent:
        for count in range(1, 7):
            await agent.asks(looping(count))
        at.hands.forward(timedelta(seconds=61))
        tried = await agent.loop(looping(7))
        again = await agent.loop(looping(8))

    assert tried == "level=4; rule=same_call; count=7; did=nudge,temperature,prune"
    assert again == "level=4; rule=same_call; count=8; did=breaker"
    assert at.names.count("breaker_opened") == 1


@pytest.mark.requirement("P-75")
async def test_a_breaker_that_says_error_tells_clients_not_to_retry():
    async with watching(loop={"breaker": "error"}) as at, Agent(at) as agent:
        for count in range(1, 6):
            await agent.asks(looping(count))
        with pytest.raises(openai.RateLimitError) as refused:
            await agent.asks(looping(6))

    assert refused.value.response.headers["x-should-retry"] == "false"
    assert refused.value.response.headers["retry-after"] == "60"
    assert "6 times" in refused.value.message
    assert len(at.model.bodies) == 5


@pytest.mark.requirement("P-75", "P-63")
async def test_sessions_are_stopped_apart():
    async with watching() as at, Agent(at) as one, Agent(at, **{"X-Session-ID": "agent-67890"}) as other:
        for count in range(1, 7):
            await one.asks(looping(count))
        told = await other.loop(looping(2))

    assert told == "level=0"


@pytest.mark.requirement("P-55")
async def test_a_client_may_ask_not_to_be_watched():
    async with watching() as at, Agent(at, **{"X-Festinger-Loop": "off"}) as agent:
        told = [await agent.loop(looping(count)) for count in range(4, 8)]

    assert set(told) == {"off; reason=asked"}
    assert [body["messages"] for body in at.model.bodies] == [looping(count) for count in range(4, 8)]
    assert at.happened == []


@pytest.mark.requirement("P-55")
async def test_without_memory_loops_are_still_watched():
    async with watching() as at, Agent(at, **{"X-Festinger-Memory": "off"}) as agent:
        got = [await agent.asks(looping(count)) for count in range(1, 7)]

    assert len(at.model.bodies) == 5
    assert got[3].headers["x-festinger-memory"] == "off; reason=asked"
    assert got[3].headers["x-festinger-loop"].startswith("level=2;")


@pytest.mark.requirement("P-70")
async def test_a_guard_that_is_off_sees_and_does_nothing():
    async with watching(loop={"enabled": False}) as at, Agent(at) as agent:
        told = [await agent.loop(looping(count)) for count in range(1, 8)]

    assert told[-1] == "level=4; rule=same_call; count=7"
    assert [body["messages"] for body in at.model.bodies] == [looping(count) for count in range(1, 8)]
    assert at.names == ["loop_detected"] * 4


@pytest.mark.requirement("P-70")
async def test_the_ladder_can_be_put_in_another_order():
    async with watching(loop={"ladder": ["temperature", "breaker"]}) as at, Agent(at) as agent:
        told = [await agent.loop(looping(count)) for count in range(2, 5)]

    assert [each.rpartition("did=")[2] for each in told] == ["level=0", "temperature", "breaker"]
    assert at.model.bodies[1]["messages"] == looping(3)


@pytest.mark.requirement("P-72")
@pytest.mark.parametrize("status", [400, 422])
async def test_a_refused_boost_is_taken_back_and_not_tried_again_for_that_model(status: int):
    model = Model(refuses=lambda body: status if "temperature" in body else 0)

    async with watching(model) as at, Agent(at) as agent:
        for count in range(1, 4):
            await agent.asks(looping(count))
        refused = await agent.loop(looping(4))
        later = await agent.loop(looping(5))
    sent = at.model.bodies

    assert refused == "level=2; rule=same_call; count=4"
    assert ["temperature" in body for body in sent[3:]] == [True, False, False]
    assert sent[4]["messages"] == looping(4)
    assert later == "level=3; rule=same_call; count=5; did=nudge,prune"


@pytest.mark.requirement("P-72")
async def test_a_compressed_request_whose_boost_was_refused_goes_on_as_it_came():
    model = Model(refuses=lambda body: 400 if "temperature" in body else 0)
    headers = ("Content-Type: application/json", "Content-Encoding: gzip", "X-Session-ID: agent-12345")

    async with watching(model, loop={"ladder": ["temperature"]}) as at:
        for count in range(1, 4):
            body = gzip.compress(json.dumps({"model": "m", "messages": looping(count)}).encode())
            got = await exchange(at.door.port, request("POST", "/v1/chat/completions", *headers, body=body))

    assert got.status == 200
    assert ["temperature" in body for body in at.model.bodies] == [False, False, True, False]
    assert at.model.bodies[-1]["messages"] == looping(3)


@pytest.mark.requirement("P-72")
async def test_a_refusal_of_the_original_is_passed_on():
    model = Model(refuses=lambda body: 400 if len(body["messages"]) > 7 else 0)

    async with watching(model) as at, Agent(at) as agent:
        for count in range(1, 3):
            await agent.asks(looping(count))
        with pytest.raises(openai.BadRequestError):
            await agent.asks(looping(3))

    assert [len(body["messages"]) for body in at.model.bodies] == [4, 6, 8, 8]
    assert at.names == ["loop_detected"]


@pytest.mark.requirement("P-62")
async def test_retries_and_resent_requests_do_not_count():
    async with watching() as at, Agent(at) as agent, Agent(at, **{"x-stainless-retry-count": "2"}) as retrying:
        await agent.asks(looping(2))
        resent = [await agent.loop(looping(2)) for _ in range(3)]
        retried = [await retrying.loop(looping(2)) for _ in range(3)]
        told = await agent.loop(looping(3))

    assert resent + retried == ["level=0"] * 6
    assert told.startswith("level=1;")
    assert at.names == ["loop_detected"]


@pytest.mark.requirement("P-62")
async def test_what_is_sent_again_after_a_failure_does_not_count():
    failing = [500, 0]
    model = Model(refuses=lambda body: failing.pop(0) if len(body["messages"]) == 8 and failing else 0)

    async with watching(model) as at, Agent(at) as agent:
        await agent.asks(looping(2))
        with pytest.raises(openai.InternalServerError):
            await agent.asks(looping(3))
        again = await agent.loop(looping(3))

    assert again.startswith("level=1;")
    assert at.names == ["loop_detected"]


@pytest.mark.requirement("P-61")
async def test_a_call_whose_results_change_is_left_alone():
    def polled(count: int) -> list[dict[str, Any]]:
        return [*TASK, *(message for at in range(count) for message in step(at, result=f"at {at} percent"))]

    async with watching() as at, Agent(at) as agent:
        told = {await agent.loop(polled(count)) for count in range(1, 13)}

    assert told == {"level=0"}
    assert at.model.bodies[-1]["messages"] == polled(12)
    assert at.happened == []


async def test_events_name_the_session_the_request_and_what_was_done():
    async with watching() as at, Agent(at) as agent:
        for count in range(1, 7):
            await agent.asks(looping(count), extra_headers={"X-Session-ID": "s-1", "X-Request-Id": f"r{count}"})
    third, *_, opened = at.happened

    assert third.payload["did"] == "nudge"
    assert (third.session, third.trace, third.subject) == ("s-1", "r3", "session:s-1")
    assert len(third.payload["key"]) == 32
    assert {key: opened.payload[key] for key in ("session", "rule", "count", "by")} == {
        "session": "s-1", "rule": "same_call", "count": 6, "by": "loop",
    }  # fmt: skip


@pytest.mark.requirement("P-54")
@pytest.mark.parametrize(
    ("given", "said"), [("plain-session-1", "plain-session-1"), ("a;b-12345678", "a%3Bb-12345678")]
)
async def test_an_answer_names_its_session_and_how_it_was_known(given: str, said: str):
    async with watching() as at, Agent(at, **{"X-Session-ID": given}) as agent:
        got = await agent.asks(TASK)

    assert got.headers["x-festinger-session"] == f"{said}; how=header"


@pytest.mark.requirement("P-54", "P-23")
async def test_a_session_without_a_name_is_known_by_its_chain():
    async with watching() as at, ollama.AsyncClient(host=at.door.url) as client:
        heads = []
        for messages in (
            TASK,
            [*TASK, {"role": "assistant", "content": "Certainly."}, {"role": "user", "content": "And?"}],
        ):
            body = json.dumps({"model": "m", "messages": messages, "stream": False}).encode()
            got = await exchange(at.door.port, request("POST", "/api/chat", body=body))
            heads.append((got.value("x-festinger-session") or "").split("; how="))
        await client.chat(model="m", messages=TASK)

    assert [how for _, how in heads] == ["new", "chain"]
    assert heads[0][0] == heads[1][0]


@pytest.mark.requirement("P-60", "P-71", "P-72", "P-75")
async def test_ollama_agents_are_watched_too():
    def history(count: int) -> list[dict[str, Any]]:
        call = {"function": {"name": "look", "arguments": {"at": 1}}}
        rounds: list[dict[str, Any]] = [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": "nothing"},
        ]
        return [*TASK, *rounds * count]

    async with watching() as at, ollama.AsyncClient(host=at.door.url) as client:
        for count in range(1, 6):
            await client.chat(model="m", messages=history(count), options={"num_ctx": 4096})
        whole = await client.chat(model="m", messages=history(6))
        parts = [part async for part in await client.chat(model="m", messages=history(6), stream=True)]
    fourth = at.model.bodies[3]

    assert fourth["options"] == {"num_ctx": 4096, "temperature": 1.0, "repeat_penalty": 1.15, "repeat_last_n": 256}
    assert "ruled out" in fourth["messages"][-1]["content"]
    assert len(at.model.bodies) == 5
    assert '"look"' in str(whole.message.content)
    assert "".join(str(part.message.content) for part in parts) == whole.message.content
    assert (parts[-1].done, parts[-1].done_reason) == (True, "stop")


@pytest.mark.requirement("P-60", "P-71", "P-73", "P-75")
async def test_anthropic_agents_are_watched_too():
    def history(count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [{"role": "user", "content": "Please mend the build."}]
        for at in range(count):
            use = {"type": "tool_use", "id": f"t{at}", "name": "look", "input": {"at": 1}}
            result = {"type": "tool_result", "tool_use_id": f"t{at}", "content": "nothing"}
            found += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        return found

    async with watching() as at, AsyncAnthropic(base_url=at.door.url, api_key="x", max_retries=0) as client:
        for count in range(1, 6):
            await client.messages.create(model="m", max_tokens=9, messages=history(count))  # type: ignore[arg-type]
        stopped = await client.messages.create(model="m", max_tokens=9, messages=history(6))  # type: ignore[arg-type]
    third, fourth, fifth = at.model.bodies[2:5]

    assert [block["type"] for block in third["messages"][-1]["content"]] == ["tool_result", "text"]
    assert fourth["temperature"] == 1.0
    assert [message["role"] for message in fifth["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    assert [block["type"] for block in fifth["messages"][2]["content"]] == ["tool_result", "text"]
    assert "6 times" in stopped.content[0].text  # type: ignore[union-attr]
    assert stopped.stop_reason == "end_turn"


@pytest.mark.requirement("P-60", "P-73")
async def test_agents_on_responses_are_watched_too_and_lose_thoughts_with_what_they_led_to():
    def history(count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [{"role": "user", "content": "Please mend the build."}]
        for at in range(count):
            call = {"type": "function_call", "call_id": f"c{at}", "name": "look", "arguments": '{"at":1}'}
            found += [
                {"type": "reasoning", "id": f"r{at}", "summary": []},
                call,
                {"type": "function_call_output", "call_id": f"c{at}", "output": "nothing"},
            ]
        return found

    async with watching() as at, openai.AsyncOpenAI(base_url=f"{at.door.url}/v1", api_key="x") as client:
        for count in range(1, 6):
            await client.responses.create(model="m", input=history(count))  # type: ignore[arg-type]
        stopped = await client.responses.create(model="m", input=history(6))  # type: ignore[arg-type]
    fourth, fifth = at.model.bodies[3:5]

    assert (fourth["temperature"], "frequency_penalty" in fourth) == (1.2, False)
    assert [item.get("id") or item.get("call_id") for item in fifth["input"][1:]] == [
        "r0",
        "c0",
        "c0",
        "r4",
        "c4",
        "c4",
    ]
    assert "6 times" in stopped.output_text


def flattened(count: int) -> str:
    """The prompt of an agent that speaks JSON in text, flattened as its provider does it."""
    sections = ["### System:\nYou are an agent.\n\n", '### User:\n{"user_message": "Mend it."}\n\n']
    for at in range(count):
        said = {"thoughts": [f"thought {at}"], "tool_name": "look", "tool_args": {"at": 1}}
        sections.append(f"### Assistant:\n{json.dumps(said)}\n\n")
        sections.append(f"### User:\n{json.dumps({'tool_name': 'look', 'tool_result': 'nothing'})}\n\n")
    return "".join(sections)


@pytest.mark.requirement("P-60", "P-71", "P-73", "P-75")
async def test_an_agent_that_speaks_json_in_flattened_prompts_is_stopped_in_its_own_shape():
    async with watching() as at, ollama.AsyncClient(host=at.door.url) as client:
        for count in range(1, 6):
            await client.generate(model="m", prompt=flattened(count))
        stopped = await client.generate(model="m", prompt=flattened(6))
    third, fifth = at.model.bodies[2]["prompt"], at.model.bodies[4]["prompt"]
    said = json.loads(stopped.response)

    assert third.startswith(flattened(3).rstrip())
    assert "ruled out" in third
    assert third.endswith("\n\n")
    assert fifth.count("### Assistant:") == 2
    assert "thought 0" in fifth
    assert "thought 4" in fifth
    assert said["tool_name"] == "response"
    assert "6 times" in said["tool_args"]["text"]
    assert len(at.model.bodies) == 5


@pytest.mark.requirement("P-02")
async def test_plain_completions_are_watched_and_never_written_into():
    async with watching() as at, openai.AsyncOpenAI(base_url=f"{at.door.url}/v1", api_key="x") as client:
        prompts = [flattened(count) for count in range(1, 7)]
        got = [await client.completions.with_raw_response.create(model="m", prompt=prompt) for prompt in prompts]

    assert [body["prompt"] for body in at.model.bodies] == prompts[:5]
    assert all(body.keys() == {"model", "prompt"} for body in at.model.bodies)
    assert got[4].headers["x-festinger-loop"] == "level=3; rule=same_call; count=5"
    assert got[4].headers["x-festinger-memory"] == "off; reason=route"
    assert "6 times" in got[5].parse().choices[0].text


@pytest.mark.requirement("P-52", "P-76")
async def test_a_guard_that_breaks_lets_everything_through(monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("festinger.proxy.loops.guard.judge_request", broken)
    async with watching() as at, Agent(at) as agent:
        got = [await agent.asks(looping(count)) for count in range(1, 8)]

    assert [body["messages"] for body in at.model.bodies] == [looping(count) for count in range(1, 8)]
    assert all("x-festinger-loop" not in each.headers for each in got)
    assert got[-1].headers["x-festinger-memory"].startswith("empty")


@pytest.mark.requirement("P-52")
async def test_mitigations_that_break_leave_the_request_as_it_came(monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("festinger.proxy.loops.guard.mitigate_loop", broken)
    async with watching() as at, Agent(at) as agent:
        told = [await agent.loop(looping(count)) for count in range(1, 6)]

    assert at.model.bodies[-1]["messages"] == looping(5)
    assert told[-1] == "level=3; rule=same_call; count=5"


@pytest.mark.requirement("P-76", "P-75")
async def test_a_loop_can_be_seen_and_its_breaker_closed_by_hand():
    async with watching() as at, Agent(at) as agent:
        for count in range(1, 7):
            await agent.asks(looping(count))
        (seen,) = at.pipeline.guard.live(MAIN_SPACE)
        known = at.pipeline.guard.reset(MAIN_SPACE, "agent-12345", by="key:ops")
        left = at.pipeline.guard.live(MAIN_SPACE)
        told = [await agent.loop(looping(count)) for count in range(6, 11)]
        unknown = at.pipeline.guard.reset(MAIN_SPACE, "nobody", by="key:ops")

    assert (seen.session, seen.rule, seen.level, seen.count, seen.is_stopped) == (
        "agent-12345", "same_call", 4, 6, True,
    )  # fmt: skip
    assert seen.what == ('read_file {"path": "build.py"}',)
    assert (known, unknown, left) == (True, False, [])
    assert [each[:7] for each in told] == ["level=0", "level=0", "level=0", "level=1", "level=2"]
    closed = next(each for each in at.happened if each.name == "breaker_closed")
    assert closed.payload["by"] == "key:ops"


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.requirement("P-76")
async def test_each_step_up_and_each_open_breaker_is_counted():
    rises = [{"rule": "same_call", "level": str(level)} for level in range(1, 5)]
    before = [counted("festinger_proxy_loops_total", **rise) for rise in rises]

    async with watching() as at, Agent(at) as agent:
        for count in range(1, 8):
            await agent.asks(looping(count))
        stopped = counted("festinger_proxy_breakers_open")
        await agent.asks([*looping(7), {"role": "user", "content": "Well, then."}])
        after = counted("festinger_proxy_breakers_open")

    assert [counted("festinger_proxy_loops_total", **rise) for rise in rises] == [was + 1 for was in before]
    assert (stopped, after) == (1, 0)
