import asyncio
from pathlib import Path

import pytest
from tests.llm.bench import GOOD, QUESTION, Verdict

from festinger.errors import BadSetting, ProviderDown, ProviderRefused
from festinger.llm.client import open_provider
from festinger.llm.endpoint import ProviderName, build_endpoint
from festinger.llm.model import ToolOffer
from festinger.llm.providers.scripted import FailStep, HangStep, SayStep, ScriptedProvider, build_scripted_model


@pytest.mark.requirement("X-80")
async def test_it_answers_from_its_queue_and_records_what_it_was_asked() -> None:
    model, script = build_scripted_model(GOOD)
    script.add("later")

    await model.answer(QUESTION, Verdict)
    said = "".join([chunk.text async for chunk in model.chat(QUESTION)])

    assert said == "later"
    assert [asked.shape for asked in script.asked] == [Verdict, None]
    assert all(asked.messages == QUESTION for asked in script.asked)


async def test_an_empty_queue_refuses_and_does_not_make_something_up() -> None:
    with pytest.raises(ProviderRefused, match="no more answers"):
        await ScriptedProvider().complete(QUESTION, None)


async def test_it_fails_and_hangs_on_demand() -> None:
    script = ScriptedProvider(FailStep(error=ProviderDown("on demand")), HangStep(), SayStep(text="after"))

    with pytest.raises(ProviderDown, match="on demand"):
        await script.complete(QUESTION, None)
    task = asyncio.create_task(script.complete(QUESTION, None))
    await asyncio.sleep(0)
    assert not task.done()
    task.cancel()
    assert (await script.complete(QUESTION, None)).text == "after"


async def test_by_name_it_reads_a_file_of_answers(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('"plain words"\n\n{"reasoning": "r", "verdict": "same"}\n')

    provider = open_provider(build_endpoint(ProviderName.SCRIPTED, str(file)))

    assert (await provider.complete(QUESTION, None)).text == "plain words"
    assert Verdict.model_validate_json((await provider.complete(QUESTION, Verdict)).text).verdict == "same"


@pytest.mark.parametrize("content", [None, "not json\n"])
async def test_a_file_that_is_no_script_is_refused(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "answers.jsonl"
    if content:
        file.write_text(content)

    with pytest.raises(BadSetting, match="script"):
        open_provider(build_endpoint(ProviderName.SCRIPTED, str(file)))


async def test_it_calls_tools_and_records_which_were_offered(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"call": "recall", "with": {"cue": "Ada"}}\n')
    provider = open_provider(build_endpoint(ProviderName.SCRIPTED, str(file)))
    offered = ToolOffer(name="recall", description="Search.", schema={"type": "object"})

    chunks = [chunk async for chunk in provider.stream(QUESTION, [offered])]

    assert isinstance(provider, ScriptedProvider)
    assert [(call.name, call.arguments) for call in chunks[-1].calls] == [("recall", {"cue": "Ada"})]
    assert provider.asked[0].tools == (offered,)
