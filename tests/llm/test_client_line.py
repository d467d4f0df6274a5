import asyncio
from decimal import Decimal

import pytest
from tests.conftest import MONDAY
from tests.llm.bench import GOOD, QUESTION, Bench, Verdict

from festinger.errors import Overloaded, ProviderDown, ProviderRefused
from festinger.ids import AgentId, SessionId, SpaceId
from festinger.llm.client import CallPolicy, CheckedModel
from festinger.llm.endpoint import ProviderName, build_endpoint
from festinger.llm.ledger import ModelCaller, UsageLimits
from festinger.llm.model import FinishReason, ModelPurpose, ReplyChunk, Usage
from festinger.llm.providers.scripted import FailStep, HangStep, SayStep, ScriptedProvider, Step
from festinger.observability.metrics import DEGRADED

DOWN = FailStep(error=ProviderDown("down"))
QUICK = CallPolicy(timeout_s=0.01)


async def ask(
    bench: Bench, *steps: Step, purpose: ModelPurpose = ModelPurpose.JUDGE, terms: CallPolicy | None = None
) -> None:
    script = ScriptedProvider(*(steps or (SayStep(text=GOOD.model_dump_json()),)))
    await CheckedModel(bench.line(script, purpose=purpose, terms=terms)).answer(QUESTION, Verdict)


async def down(bench: Bench, times: int) -> None:
    for _ in range(times):
        with pytest.raises(ProviderDown, match="down"):
            await ask(bench, DOWN)


@pytest.mark.requirement("X-87")
async def test_a_call_is_written_down_with_who_asked_what_it_used_and_what_it_cost() -> None:
    bench = Bench()
    asked = build_endpoint(ProviderName.OPENAI, "gpt-4o-mini")
    caller = ModelCaller(space=SpaceId("lab"), agent=AgentId("ada"), session=SessionId("s1"), job=9)
    script = ScriptedProvider(
        SayStep(text=GOOD.model_dump_json(), usage=Usage(tokens_in=1000, tokens_out=500, tokens_cached=100)),
        endpoint=asked,
    )

    answer = await CheckedModel(bench.line(script, caller=caller)).answer(QUESTION, Verdict)

    (call,) = bench.ledger.calls
    assert call.caller == caller
    assert (call.purpose, call.provider, call.model) == (ModelPurpose.JUDGE, "openai", "gpt-4o-mini")
    assert call.usage == Usage(tokens_in=1000, tokens_out=500, tokens_cached=100)
    assert call.cost_usd == answer.cost_usd == Decimal("0.0004425")
    assert (call.at, call.ok, call.prompt_hash) == (MONDAY, True, QUESTION[0].prompt_hash)


@pytest.mark.requirement("X-87")
async def test_the_latency_is_what_the_stopwatch_showed() -> None:
    bench = Bench()

    class Slow(ScriptedProvider):
        async def complete(self, messages, shape):
            bench.hands.seconds += 1.5
            return await super().complete(messages, shape)

    await CheckedModel(bench.line(Slow(GOOD))).answer(QUESTION, Verdict)

    assert bench.ledger.calls[0].latency_ms == 1500


@pytest.mark.requirement("X-87")
@pytest.mark.parametrize(
    ("step", "error"),
    [(DOWN, ProviderDown), (FailStep(error=ProviderRefused()), ProviderRefused), (HangStep(), ProviderDown)],
)
async def test_a_failed_call_is_written_down_too(step: Step, error: type[Exception]) -> None:
    bench = Bench()

    with pytest.raises(error):
        await ask(bench, step, terms=QUICK)

    (call,) = bench.ledger.calls
    assert (call.ok, call.usage, call.cost_usd) == (False, None, None)


@pytest.mark.requirement("X-87")
async def test_a_call_that_the_caller_gave_up_is_written_down_with_the_next_one() -> None:
    bench = Bench()
    script = ScriptedProvider(HangStep())
    task = asyncio.create_task(CheckedModel(bench.line(script)).answer(QUESTION, Verdict))
    await script.reached.wait()

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await ask(bench)

    assert [call.ok for call in bench.ledger.calls] == [False, True]
    assert bench.deps.guards.under_way[ModelPurpose.JUDGE] == 0


@pytest.mark.requirement("X-84")
async def test_a_call_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(ProviderDown, match=r"longer than 0\.01 seconds"):
        await ask(Bench(), HangStep(), terms=QUICK)


@pytest.mark.requirement("X-84")
async def test_a_stream_that_stalls_is_given_up() -> None:
    bench = Bench()

    with pytest.raises(ProviderDown, match="longer"):
        _ = [chunk async for chunk in bench.line(ScriptedProvider(HangStep()), terms=QUICK).stream(QUESTION)]
    assert [call.ok for call in bench.ledger.calls] == [False]


@pytest.mark.requirement("X-84")
async def test_no_more_calls_than_allowed_are_under_way_at_one_provider() -> None:
    bench = Bench()
    script = ScriptedProvider(*[HangStep() for _ in range(10)])
    tasks = [asyncio.create_task(CheckedModel(bench.line(script)).answer(QUESTION, Verdict)) for _ in range(10)]
    for _ in range(50):
        await asyncio.sleep(0)

    under_way = len(script.asked)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert under_way == 4


@pytest.mark.requirement("X-84")
async def test_another_provider_has_slots_of_its_own() -> None:
    bench = Bench()
    busy = ScriptedProvider(*[HangStep() for _ in range(4)])
    tasks = [asyncio.create_task(CheckedModel(bench.line(busy)).answer(QUESTION, Verdict)) for _ in range(4)]
    free = ScriptedProvider(GOOD, endpoint=build_endpoint(ProviderName.OLLAMA, "m"))

    answer = await CheckedModel(bench.line(free)).answer(QUESTION, Verdict)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert answer.value == GOOD


@pytest.mark.requirement("X-84")
async def test_the_breaker_opens_after_five_failures_lets_one_probe_through_and_closes() -> None:
    bench = Bench()
    await down(bench, 5)

    with pytest.raises(ProviderDown, match="not asked now"):
        await ask(bench)
    bench.hands.seconds += 30
    await ask(bench)
    await ask(bench)

    assert [call.ok for call in bench.ledger.calls] == [False] * 5 + [True] * 2


@pytest.mark.requirement("X-84")
async def test_while_the_probe_is_under_way_nobody_else_is_let_through() -> None:
    bench = Bench()
    await down(bench, 5)
    bench.hands.seconds += 30
    probe = ScriptedProvider(HangStep())
    task = asyncio.create_task(CheckedModel(bench.line(probe)).answer(QUESTION, Verdict))
    await probe.reached.wait()

    with pytest.raises(ProviderDown, match="not asked now"):
        await ask(bench)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await ask(bench)

    assert bench.ledger.calls[-1].ok


@pytest.mark.requirement("X-84")
async def test_refusals_do_not_open_the_breaker() -> None:
    bench = Bench()
    for _ in range(8):
        with pytest.raises(ProviderRefused):
            await ask(bench, FailStep(error=ProviderRefused()))

    await ask(bench)

    assert bench.ledger.calls[-1].ok


@pytest.mark.requirement("X-84")
async def test_calls_beyond_the_hours_limit_wait_and_go_on_when_the_hour_has_passed() -> None:
    bench = Bench()
    terms = CallPolicy(limits=UsageLimits(calls_per_hour=2))
    await ask(bench, terms=terms)
    bench.hands.seconds += 10
    await ask(bench, terms=terms)

    with pytest.raises(Overloaded, match="calls an hour"):
        await ask(bench, terms=terms)
    await ask(bench, purpose=ModelPurpose.WRITE, terms=terms)
    bench.hands.seconds = 3601
    await ask(bench, terms=terms)

    assert len(bench.ledger.calls) == 4


@pytest.mark.requirement("X-84")
async def test_many_at_once_do_not_slip_past_the_hours_limit() -> None:
    bench = Bench()
    script = ScriptedProvider(*[GOOD for _ in range(10)])
    line = CheckedModel(bench.line(script, terms=CallPolicy(at_once=10, limits=UsageLimits(calls_per_hour=3))))

    ended = await asyncio.gather(*(line.answer(QUESTION, Verdict) for _ in range(10)), return_exceptions=True)

    assert sum(isinstance(end, Overloaded) for end in ended) == 7
    assert len(script.asked) == 3


@pytest.mark.requirement("X-87")
async def test_the_days_money_stops_calls_of_every_purpose_until_the_day_has_passed() -> None:
    bench = Bench()
    terms = CallPolicy(limits=UsageLimits(daily_usd=Decimal("0.0004")))
    priced = build_endpoint(ProviderName.OPENAI, "gpt-4o-mini")
    usage = Usage(tokens_in=1000, tokens_out=500)

    async def spend(purpose: ModelPurpose) -> None:
        script = ScriptedProvider(SayStep(text=GOOD.model_dump_json(), usage=usage), endpoint=priced)
        await CheckedModel(bench.line(script, purpose=purpose, terms=terms)).answer(QUESTION, Verdict)

    await spend(ModelPurpose.JUDGE)
    bench.hands.seconds = 24 * 3600 - 1
    for purpose in ModelPurpose:
        with pytest.raises(Overloaded, match="USD"):
            await spend(purpose)
    bench.hands.seconds = 24 * 3600 + 1
    await spend(ModelPurpose.JUDGE)

    assert len(bench.ledger.calls) == 2


@pytest.mark.requirement("X-80")
async def test_a_stream_gives_its_pieces_then_how_it_ended_and_is_written_down() -> None:
    bench = Bench()
    usage = Usage(tokens_in=3, tokens_out=4)

    chunks = [
        chunk async for chunk in bench.line(ScriptedProvider(SayStep(text="one two", usage=usage))).stream(QUESTION)
    ]

    assert "".join(chunk.text for chunk in chunks) == "one two"
    assert len(chunks) == 3
    assert chunks[-1] == ReplyChunk(finish=FinishReason.DONE, usage=usage)
    assert [(call.ok, call.usage) for call in bench.ledger.calls] == [(True, usage)]


async def test_a_stream_that_breaks_off_raises_after_its_pieces_and_is_written_down_as_failed() -> None:
    bench = Bench()
    broken = ScriptedProvider(FailStep(error=ProviderDown("gone"), text="half an"))
    seen: list[str] = []

    async def listen() -> None:
        async for chunk in bench.line(broken).stream(QUESTION):
            seen.append(chunk.text)  # noqa: PERF401 a comprehension would lose the pieces before the error

    with pytest.raises(ProviderDown, match="gone"):
        await listen()

    assert "".join(seen) == "half an"
    assert [call.ok for call in bench.ledger.calls] == [False]


async def test_an_empty_stream_is_an_error_and_not_an_empty_answer() -> None:
    with pytest.raises(ProviderRefused, match="empty"):
        _ = [chunk async for chunk in Bench().line(ScriptedProvider("")).stream(QUESTION)]


async def test_a_stream_that_does_not_end_is_stopped() -> None:
    endless = ScriptedProvider("x" * 3_000_000)

    with pytest.raises(ProviderRefused, match="does not stop"):
        _ = [chunk async for chunk in Bench().line(endless).stream(QUESTION)]


async def test_a_listener_who_leaves_early_frees_the_slot_and_leaves_a_row() -> None:
    bench = Bench()
    stream = bench.line(ScriptedProvider("one two three"), terms=CallPolicy(at_once=1)).stream(QUESTION)
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]

    await ask(bench, terms=CallPolicy(at_once=1))

    assert [call.ok for call in bench.ledger.calls] == [False, True]


@pytest.mark.requirement("X-87", "X-07")
async def test_an_answer_is_kept_when_the_ledger_is_away_and_its_row_is_written_later() -> None:
    bench = Bench()
    counted = DEGRADED.labels("ledger")
    before = counted._value.get()
    bench.ledger.away = True

    await ask(bench)
    assert bench.ledger.calls == []
    assert counted._value.get() == before + 1
    bench.ledger.away = False
    await ask(bench)

    assert [call.ok for call in bench.ledger.calls] == [True, True]
