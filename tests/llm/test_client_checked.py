import pytest
from pydantic import BaseModel
from tests.llm.bench import GOOD, QUESTION, Bench, Verdict

from festinger.errors import ProviderDown, ProviderRefused
from festinger.llm.client import CheckedModel, require_reasoning_first
from festinger.llm.model import AnswerSchema, FinishReason, MessageRole, PromptMessage, Usage
from festinger.llm.prompts import load_prompt
from festinger.llm.providers.scripted import FailStep, SayStep, ScriptedProvider, build_scripted_model

CUT = SayStep(text=GOOD.model_dump_json(), finish=FinishReason.LENGTH)


@pytest.mark.requirement("X-80", "X-82")
async def test_a_good_answer_comes_with_what_must_be_kept_beside_it() -> None:
    model, script = build_scripted_model(GOOD)

    answer = await model.answer(QUESTION, Verdict)

    assert answer.value == GOOD
    assert answer.model == "scripted:script"
    assert answer.prompt_hash == QUESTION[0].prompt_hash
    assert answer.calls == 1
    assert script.asked[0].messages == QUESTION
    assert script.asked[0].shape is Verdict


@pytest.mark.requirement("X-82")
@pytest.mark.parametrize("flawed", [CUT, "", "not json", '{"reasoning": "r"}'])
async def test_a_flawed_answer_gets_one_repair_call(flawed: SayStep | str) -> None:
    model, script = build_scripted_model(flawed, GOOD)

    answer = await model.answer(QUESTION, Verdict)

    assert answer.value == GOOD
    assert answer.calls == 2
    assert answer.usage == Usage(tokens_in=20, tokens_out=10)
    assert answer.prompt_hash == QUESTION[0].prompt_hash
    assert len(script.asked) == 2
    assert script.asked[1].messages[0] == QUESTION[0]


@pytest.mark.requirement("X-82")
@pytest.mark.parametrize("flawed", [CUT, "", "not json", '{"reasoning": "r"}'])
async def test_a_second_flawed_answer_is_refused_and_there_is_no_third_call(flawed: SayStep | str) -> None:
    model, script = build_scripted_model(flawed, flawed, GOOD)

    with pytest.raises(ProviderRefused, match="no usable answer"):
        await model.answer(QUESTION, Verdict)
    assert len(script.asked) == 2


async def test_an_answer_beyond_all_measure_is_refused_at_once() -> None:
    model, script = build_scripted_model("x" * 10_000_000, GOOD)

    with pytest.raises(ProviderRefused, match="too long"):
        await model.answer(QUESTION, Verdict)
    assert len(script.asked) == 1


async def test_an_error_of_the_provider_is_passed_on_and_not_repaired() -> None:
    model, script = build_scripted_model(FailStep(error=ProviderDown()), GOOD)

    with pytest.raises(ProviderDown):
        await model.answer(QUESTION, Verdict)
    assert len(script.asked) == 1


@pytest.mark.requirement("X-83")
async def test_nothing_of_one_question_is_in_the_next() -> None:
    model, script = build_scripted_model("garbled", GOOD, GOOD)
    other = (PromptMessage(role=MessageRole.USER, text="A second, unrelated question."),)

    await model.answer(QUESTION, Verdict)
    await model.answer(other, Verdict)

    assert script.asked[-1].messages == other


@pytest.mark.requirement("X-82")
async def test_a_shape_whose_verdict_comes_before_its_reasons_is_refused() -> None:
    class Hasty(BaseModel):
        verdict: str
        reasoning: str

    model, script = build_scripted_model(GOOD)

    with pytest.raises(TypeError, match="first field of `Hasty`"):
        await model.answer(QUESTION, Hasty)  # type: ignore[type-var]
    assert script.asked == []
    require_reasoning_first(Verdict)
    assert next(iter(AnswerSchema.model_fields)) == "reasoning"


@pytest.mark.requirement("X-87", "X-82")
async def test_both_calls_of_a_repaired_answer_are_in_the_ledger_and_only_the_second_is_ok() -> None:
    bench = Bench()

    await CheckedModel(bench.line(ScriptedProvider("garbled", GOOD))).answer(QUESTION, Verdict)

    assert [call.ok for call in bench.ledger.calls] == [False, True]
    assert {call.prompt_hash for call in bench.ledger.calls} == {QUESTION[0].prompt_hash}


async def test_the_words_of_the_repair_are_a_prompt_file() -> None:
    assert load_prompt("festinger.llm", "repair").slots == {"flaw", "schema"}
