"""Whatever of ours fails, hangs or talks rubbish, the conversation goes on as if we were not there."""

import asyncio
import json
import random
from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.contexts import request_context
from tests.proxy.memory_scene import ANSWER, Knowing, block_of, known, scene, told
from tests.proxy.protocols.wire import TREES, user
from tests.proxy.proxy_server import exchange, request
from tests.runtime.server import Hands

from festinger.ids import Scope, id_maker
from festinger.observability.metrics import PROXY_MEMORY
from festinger.proxy.context.build import ContextBuilder
from festinger.proxy.pipeline import RequestPipeline
from festinger.proxy.protocols.messages import RequestKind, SkipReason
from festinger.settings.tree import ProxySettings
from festinger.world.recall import SourceText
from festinger.world.recollection import Recollection


def raises(*_given: Any, **_more: Any) -> Any:
    raise RuntimeError("broken")


async def hangs(*_given: Any, **_more: Any) -> Any:
    await asyncio.Event().wait()


def gives(value: Any) -> Any:
    async def give(*_given: Any, **_more: Any) -> Any:
        return value

    return give


def says(value: Any) -> Any:
    return lambda *_given, **_more: value


class Faulty(Knowing):
    def __init__(self, recollect: Any) -> None:
        super().__init__()
        self.recollect = recollect  # type: ignore[method-assign]


UNEVEN = Recollection(lines=("a: [type] b", "c: [type] d"), notes=())
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "the mind raises": ({"mind": Faulty(raises)}, "failed; reason=RuntimeError"),
    "the mind hangs": ({"mind": Faulty(hangs), "memory_deadline_ms": 1, "first_memory_deadline_ms": 1}, "late"),
    "the mind gives a number": ({"mind": Faulty(gives(42))}, "failed; reason=AttributeError"),
    "the mind gives a text": ({"mind": Faulty(gives("rubbish"))}, "failed; reason=AttributeError"),
    "the mind gives lines without notes": ({"mind": Faulty(gives(UNEVEN))}, "failed; reason=ValueError"),
    "the mind is not ready": ({"mind": Faulty(gives(None))}, "not-ready"),
    "the mind waits for nobody": ({"mind": Faulty(says(None))}, "failed; reason=TypeError"),
    "ids cannot be had": ({"new_id": raises}, "failed; reason=RuntimeError"),
    "the clock raises": ({"clock": raises}, "failed; reason=RuntimeError"),
    "the model cannot be looked up": (
        {"modelfile": raises, "injection_position": "system_end"},
        "failed; reason=RuntimeError",
    ),
    "the model is rubbish": (
        {"modelfile": says("rubbish"), "injection_position": "system_end"},
        "failed; reason=AttributeError",
    ),
}


@pytest.mark.requirement("P-52", "P-51")
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_of_ours_changes_no_byte_of_the_conversation(fault: str):
    broken, wanted = FAULTS[fault]
    body = orjson.dumps({"model": "m", "messages": [user("open ramanujan")]})
    result, _, reason = wanted.partition("; reason=")
    async with scene(**broken) as at:
        before = PROXY_MEMORY.labels(result, reason)._value.get()
        sent = request("POST", RequestKind.CHAT, body=body)
        direct = await exchange(at.upstream.port, sent)
        through = await exchange(at.door.port, sent)

    assert (through.line, through.body) == (direct.line, direct.body)
    assert [got.body for got in at.upstream.received] == [body, body]
    assert told(through) == wanted
    assert PROXY_MEMORY.labels(result, reason)._value.get() == before + 1


@pytest.mark.requirement("P-52")
@pytest.mark.parametrize(
    "restate", [raises, says("rubbish"), says({"ramanujan": 42})], ids=["raises", "text", "number"]
)
async def test_a_fault_in_looking_again_at_what_was_shown_leaves_the_request_as_it_came(restate: Any):
    body = orjson.dumps(
        {"messages": [user("open ramanujan"), {"role": "assistant", "content": "Certainly."}, user("go")]}
    )
    async with scene(restate=restate) as at:
        await at.chat("open ramanujan")
        got = await at.send(RequestKind.CHAT, body)

    assert (at.upstream.received[-1].body, got.body) == (body, ANSWER)
    assert told(got).startswith("failed; reason=")


@pytest.mark.requirement("P-52")
@pytest.mark.parametrize("answer", [b"{broken", b'{"message":42,"done":true}', b"[1,2]", b"\xff\xfe"])
async def test_an_answer_that_nobody_understands_reaches_the_client(answer: bytes):
    async with scene(answer=answer) as at:
        got = await at.chat("open ramanujan")
        after = await at.chat("open ramanujan", "thanks")

    assert (got.body, after.body) == (answer, answer)


@pytest.mark.requirement("P-51")
async def test_an_answer_says_what_was_put_in():
    async with scene() as at:
        got = await at.chat("open ramanujan")

    said = dict(part.split("=") for part in (got.value("x-festinger-memory") or "").split("; ")[1:])
    assert said.keys() == {"notes", "tokens", "recollection"}
    assert (said["notes"], len(said["recollection"])) == ("1", 36)
    assert int(said["tokens"]) > 0


@pytest.mark.requirement("P-51")
async def test_what_does_not_fit_any_more_is_told_apart_from_nothing_to_say():
    async with scene(Knowing(words={"ramanujan": "server"}), recollection_max_tokens=0) as at:
        full = await at.chat("open ramanujan")
        empty = await at.chat("open the door")

    assert (told(full), told(empty)) == ("empty; reason=full", "empty")


FIELDS = (
    "messages",
    "prompt",
    "input",
    "system",
    "instructions",
    "model",
    "role",
    "content",
    "type",
    "text",
    "options",
    "images",
    "tool_calls",
    "function",
    "output",
    "context",
    "metadata",
    "user_id",
    "conversation",
)
HI = {"role": "user", "content": "open ramanujan"}
DEEP = b'{"messages":[{"role":"user","content":"x"}],"x":' + b"[" * 250 + b"]" * 250 + b"}"
UNTOUCHED: dict[str, tuple[str, Any, SkipReason]] = {
    "no messages": (RequestKind.CHAT, {"model": "m", "messages": []}, SkipReason.EMPTY),
    "no prompt": (RequestKind.GENERATE, {"model": "m", "keep_alive": 0}, SkipReason.EMPTY),
    "raw": (RequestKind.GENERATE, {"prompt": "open ramanujan", "raw": True}, SkipReason.RAW),
    "suffix": (RequestKind.GENERATE, {"prompt": "open ramanujan", "suffix": "x"}, SkipReason.SUFFIX),
    "template": (RequestKind.GENERATE, {"prompt": "open ramanujan", "template": "x"}, SkipReason.TEMPLATE),
    "context": (RequestKind.GENERATE, {"prompt": "open ramanujan", "context": [1]}, SkipReason.CONTEXT),
    "debug": (RequestKind.CHAT, {"messages": [HI], "_debug_render_only": True}, SkipReason.DEBUG),
    "no user": (RequestKind.CHAT, {"messages": [{"role": "system", "content": "ramanujan"}]}, SkipReason.NO_USER),
    "a title": (
        RequestKind.COMPLETIONS,
        {"messages": [user("You are a chat naming assistant: ramanujan")]},
        SkipReason.SIDE,
    ),
    "a relayed model": (RequestKind.CHAT, {"model": "big:120b-cloud", "messages": [HI]}, SkipReason.CLOUD),
    "a cloud tag": (RequestKind.CHAT, {"model": "big:cloud", "messages": [HI]}, SkipReason.CLOUD),
    "too large": (RequestKind.CHAT, {"messages": [user("ramanujan " * 200)]}, SkipReason.TOO_LARGE),
    "not JSON": (RequestKind.CHAT, b"{broken", SkipReason.UNREADABLE),
    "not an object": (RequestKind.CHAT, [HI], SkipReason.SHAPE),
    "other letters": (RequestKind.CHAT, {"Messages": [HI]}, SkipReason.KEY_CASE),
    "twice": (RequestKind.CHAT, b'{"messages":[],"messages":[]}', SkipReason.DUPLICATE_KEY),
    "too deep": (RequestKind.CHAT, DEEP, SkipReason.TOO_DEEP),
    "plain completions": (RequestKind.TEXT, {"prompt": "open ramanujan"}, SkipReason.ROUTE),
    "embeddings": ("/v1/embeddings", {"input": "open ramanujan"}, SkipReason.ROUTE),
}


@pytest.mark.requirement("P-39", "P-08")
@pytest.mark.parametrize("what", UNTOUCHED)
async def test_what_is_never_noted_goes_on_as_it_came_and_says_why(what: str):
    kind, tree, why = UNTOUCHED[what]
    body = tree if isinstance(tree, bytes) else orjson.dumps(tree)
    mind = Knowing()
    async with scene(mind, edit_max_bytes=1024) as at:
        got = await at.send(kind, body)

    assert at.upstream.received[0].body == body
    assert told(got) == f"off; reason={why}"
    assert mind.asked == []


@pytest.mark.requirement("P-39")
async def test_a_relayed_model_gets_notes_where_that_is_wanted():
    async with scene(inject_cloud_models=True) as at:
        got = await at.chat("open ramanujan", model="big:cloud")

    assert told(got) == "injected"


@pytest.mark.requirement("P-55")
@pytest.mark.parametrize(
    ("query", "result", "is_learnt"),
    [
        ("on", "injected", True),
        ("read", "injected", False),
        ("write", "off; reason=asked", True),
        ("off", "off; reason=asked", False),
        ("sometimes", "injected", True),
    ],
)
async def test_a_client_may_say_what_memory_does_for_it(query: str, result: str, is_learnt: bool):
    async with scene() as at:
        got = await at.send(RequestKind.CHAT, {"messages": [user("open ramanujan")]}, f"X-Festinger-Memory: {query}")

    noted = f"{block_of('ramanujan: [type] server')}\n\nopen ramanujan"
    assert told(got) == result
    assert at.said == [noted if result == "injected" else "open ramanujan"]
    assert at.learnt == ([["open ramanujan"]] if is_learnt else [])
    assert at.upstream.received[0].values(b"x-festinger-memory") == []
    assert ("ignored=memory" in (got.value("x-festinger-memory") or "")) is (query == "sometimes")


@pytest.mark.requirement("P-55")
async def test_notes_of_one_space_are_asked_for_in_that_space():
    places: list[Scope] = []

    class Placed(Knowing):
        async def recollect(self, scope: Scope, texts: Sequence[SourceText]) -> Recollection | None:
            places.append(scope)
            return Recollection()

    wished = ("X-Festinger-Space: team", "X-Festinger-Agent: dobby", "X-Festinger-Session: s1")
    async with scene(Placed()) as at:
        await at.send(RequestKind.CHAT, {"messages": [user("hi")]}, *wished)

    assert [(scope.space, scope.agent, scope.session) for scope in places] == [("team", "dobby", "s1")]


BODIES = st.one_of(
    st.binary(max_size=300),
    *(trees.map(orjson.dumps) for trees in TREES.values()),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6)
        ),
        max_leaves=20,
    ).map(lambda tree: json.dumps(tree).encode()),
)


@pytest.mark.requirement("P-08", "P-10")
@given(body=BODIES, path=st.sampled_from([*TREES]))
def test_any_bytes_on_any_route_go_on_as_they_came_or_with_one_block(body: bytes, path: RequestKind):
    sent = asyncio.run(_attended(body, path))

    assert sent == body or sent.count(b"<recollection>") == body.count(b"<recollection>") + 1


async def _attended(body: bytes, path: RequestKind) -> bytes:
    settings = ProxySettings(memory_deadline_ms=10_000)
    hands = Hands()
    ids = id_maker(hands.clock, random.Random(1))
    builder = ContextBuilder(Knowing(always=known("ramanujan")), new_id=ids)
    pipeline = RequestPipeline(clock=hands.clock, new_id=ids, settings=settings, context_builder=builder)
    ctx = request_context(path, body, settings=settings)
    await pipeline.process(ctx)
    assert isinstance(ctx.body, bytes)
    return ctx.body
