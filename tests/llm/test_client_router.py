import random
import subprocess
import sys
from uuid import UUID

import pytest
from pydantic import SecretStr
from tests.llm.bench import GOOD, QUESTION, Hands, MemoryLedger, Verdict

from festinger.errors import ProviderRefused
from festinger.ids import id_maker
from festinger.llm.client import ModelRouter, ModelRouterDeps, build_call_policy
from festinger.llm.endpoint import Endpoint, ProviderName, build_endpoint
from festinger.llm.ledger import ModelCaller
from festinger.llm.model import ModelPurpose, Provider
from festinger.llm.providers.scripted import ScriptedProvider
from festinger.settings.tree import LlmSettings

ROW = UUID("018f3a5e-0000-7000-8000-000000000001")


async def resolve(_: UUID) -> Endpoint:
    return build_endpoint(ProviderName.OPENAI, "stored", address="http://127.0.0.1:9/v1", api_key=SecretStr("sk-1"))


class Room:
    """A switchboard whose providers are scripts."""

    def __init__(self, *, offline: bool = False) -> None:
        self.hands = Hands()
        self.ledger = MemoryLedger()
        self.scripts: list[ScriptedProvider] = []
        self.board = ModelRouter(
            ModelRouterDeps(
                ledger=self.ledger,
                clock=self.hands.clock,
                stopwatch=self.hands.stopwatch,
                new_id=id_maker(self.hands.clock, random.Random(7)),
                environment={},
                offline=offline,
                open=self.open,
            )
        )

    def open(self, asked: Endpoint) -> Provider:
        self.scripts.append(ScriptedProvider(*[GOOD] * 10, endpoint=asked))
        return self.scripts[-1]


@pytest.mark.requirement("X-80", "X-85")
@pytest.mark.parametrize("purpose", list(ModelPurpose))
async def test_without_a_setting_there_is_no_model_and_the_caller_sees_it(purpose: ModelPurpose) -> None:
    board = Room().board

    assert await board.model(purpose, ModelCaller(), settings=LlmSettings(), resolve=resolve) is None


@pytest.mark.requirement("X-80")
@pytest.mark.parametrize("purpose", list(ModelPurpose))
async def test_each_purpose_has_a_model_of_its_own(purpose: ModelPurpose) -> None:
    room = Room()
    settings = LlmSettings.model_validate({other.value: f"ollama:for-{other}" for other in ModelPurpose})

    model = await room.board.model(purpose, ModelCaller(), settings=settings, resolve=resolve)

    assert model is not None
    assert model.name == f"ollama:for-{purpose}"
    await model.answer(QUESTION, Verdict)
    assert [call.purpose for call in room.ledger.calls] == [purpose]


@pytest.mark.requirement("X-80", "W-61")
async def test_a_setting_may_be_the_id_of_a_row() -> None:
    settings = LlmSettings(write=str(ROW))

    model = await Room().board.model(ModelPurpose.WRITE, ModelCaller(), settings=settings, resolve=resolve)

    assert model is not None
    assert model.name == "openai:stored"


@pytest.mark.requirement("X-86")
async def test_offline_a_model_beyond_this_machine_is_not_even_opened() -> None:
    room = Room(offline=True)
    settings = LlmSettings(judge="openai:gpt-5", write="ollama:here")

    with pytest.raises(ProviderRefused, match="offline"):
        await room.board.model(ModelPurpose.JUDGE, ModelCaller(), settings=settings, resolve=resolve)
    assert room.scripts == []
    assert await room.board.model(ModelPurpose.WRITE, ModelCaller(), settings=settings, resolve=resolve) is not None


async def test_one_server_is_opened_once_and_closed_at_the_end() -> None:
    room = Room()
    settings = LlmSettings(judge="ollama:m", write="ollama:m", chat="ollama:other")
    for purpose in (ModelPurpose.JUDGE, ModelPurpose.WRITE, ModelPurpose.CHAT, ModelPurpose.JUDGE):
        await room.board.model(purpose, ModelCaller(), settings=settings, resolve=resolve)

    await room.board.close()

    assert [script.endpoint.model for script in room.scripts] == ["m", "other"]
    assert all(script.closed for script in room.scripts)


@pytest.mark.requirement("X-84")
async def test_models_of_one_server_share_its_breaker() -> None:
    from festinger.errors import ProviderDown
    from festinger.llm.providers.scripted import FailStep

    room = Room()
    settings = LlmSettings(judge="ollama:one", write="ollama:two")
    one = await room.board.model(ModelPurpose.JUDGE, ModelCaller(), settings=settings, resolve=resolve)
    two = await room.board.model(ModelPurpose.WRITE, ModelCaller(), settings=settings, resolve=resolve)
    assert one is not None
    assert two is not None
    room.scripts[0].queue.clear()
    room.scripts[0].add(*[FailStep(error=ProviderDown("down"))] * 5)

    for _ in range(5):
        with pytest.raises(ProviderDown):
            await one.answer(QUESTION, Verdict)

    with pytest.raises(ProviderDown, match="not asked now"):
        await two.answer(QUESTION, Verdict)


@pytest.mark.requirement("X-84", "X-87")
def test_the_limits_come_from_the_settings_with_the_required_defaults() -> None:
    usual = build_call_policy(LlmSettings())
    changed = build_call_policy(LlmSettings(timeout_s=7, max_parallel=2, max_calls_per_hour=9, daily_limit_usd=0.1))

    assert (usual.timeout_s, usual.at_once, usual.limits.calls_per_hour, usual.limits.daily_usd) == (120, 4, 1000, None)
    assert (changed.timeout_s, changed.at_once, changed.limits.calls_per_hour) == (7, 2, 9)
    assert str(changed.limits.daily_usd) == "0.1"


def test_the_client_libraries_are_not_loaded_before_a_model_is_asked() -> None:
    look = "import sys, festinger.llm.client; print([m for m in ('pydantic_ai', 'openai', 'anthropic', 'google.genai', 'genai_prices') if m in sys.modules])"

    seen = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)

    assert seen.stdout.strip() == "[]"
