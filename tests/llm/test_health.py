import pytest
from tests.llm.bench import Hands

from festinger.errors import Overloaded, ProviderDown
from festinger.llm.health import check_models, probe_model
from festinger.llm.model import ModelPurpose
from festinger.llm.providers.scripted import FailStep, build_scripted_model
from festinger.observability.checks import CheckSeverity


async def test_a_model_that_answers_is_ok_with_its_latency() -> None:
    model, _ = build_scripted_model("ready")

    (check,) = await check_models({ModelPurpose.CHAT: model}, Hands().stopwatch)

    assert (check.name, check.severity) == ("llm.chat", CheckSeverity.OK)
    assert check.details == {"model": "scripted:script", "latency_ms": 0}


@pytest.mark.requirement("X-85")
async def test_no_model_is_no_fault() -> None:
    (check,) = await check_models({ModelPurpose.JUDGE: None}, Hands().stopwatch)

    assert check.severity is CheckSeverity.OK
    assert "No model is configured" in check.message


async def test_a_model_that_does_not_answer_fails_with_what_to_do() -> None:
    model, _ = build_scripted_model(FailStep(error=ProviderDown("away", hint="Start it.")))

    (check,) = await check_models({ModelPurpose.CHAT: model}, Hands().stopwatch)

    assert (check.severity, check.message, check.remedy) == (CheckSeverity.FAIL, "away", "Start it.")


async def test_a_reached_limit_is_a_warning() -> None:
    model, _ = build_scripted_model(FailStep(error=Overloaded("spent")))

    (check,) = await check_models({ModelPurpose.CHAT: model}, Hands().stopwatch)

    assert check.severity is CheckSeverity.WARN


async def test_a_model_that_could_not_be_chosen_comes_as_its_error() -> None:
    (check,) = await check_models({ModelPurpose.WRITE: ProviderDown("no such row")}, Hands().stopwatch)

    assert (check.severity, check.message) == (CheckSeverity.FAIL, "no such row")


async def test_a_model_of_several_purposes_is_asked_once() -> None:
    model, script = build_scripted_model("ready")

    checks = await check_models(dict.fromkeys(ModelPurpose, model), Hands().stopwatch)

    assert [check.severity for check in checks] == [CheckSeverity.OK] * len(ModelPurpose)
    assert len(script.asked) == 1


@pytest.mark.requirement("W-61", "X-81")
async def test_trying_a_model_out_gives_its_latency_or_its_error() -> None:
    good, _ = build_scripted_model("ready")
    bad, _ = build_scripted_model(FailStep(error=ProviderDown("away")))

    assert (await probe_model(good, Hands().stopwatch)).latency_ms == 0
    failed = await probe_model(bad, Hands().stopwatch)
    assert failed.latency_ms is None
    assert failed.error is not None
    assert failed.error.message == "away"
