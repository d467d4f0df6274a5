"""Which small judge a process thinks with: none, one of a folder, or none although one was chosen."""

from pathlib import Path
from typing import Any

import pytest
from tests.embedding.test_pair_classifier import folder_of
from tests.runtime.server import opened
from tests.runtime.test_retrieval_outcomes import handle

from festinger.errors import BadSetting
from festinger.ids import MAIN_SPACE
from festinger.judge.cascade import Cascade
from festinger.memory.model import Action
from festinger.runtime.app import StartOptions

PROVIDERS = StartOptions(providers=True)


async def judge_of(judges: Cascade) -> str:
    return await judges.last_judge(MAIN_SPACE)


@pytest.mark.requirement("J-07")
async def test_a_chosen_model_judges_what_the_rules_cannot_tell(database_url: str, tmp_path: Path):
    folder = folder_of(tmp_path / "tiny")
    flags: dict[str, Any] = {"judge__model": f"onnx:{folder}", "embedding__model": "hashed:64"}
    async with opened(database_url, tmp_path, start=PROVIDERS, **flags) as app:
        memory = handle(app)
        await memory.learn("Anna tends bees", subject="Anna")
        learned = await memory.learn("Anna tends ants", subject="Anna")

        assert (await judge_of(app.memory.judges)).startswith("onnx:tiny@")
        assert app.degraded == ()
        assert learned.action is Action.REFINED
        assert learned.memory is not None
        [said] = (await memory.why(learned.memory.id)).judgements
        assert (said.judgement.relation, said.judgement.judge[:10]) == ("refines", "onnx:tiny@")


@pytest.mark.requirement("J-07")
async def test_a_model_that_cannot_be_had_is_gone_without_and_told(database_url: str, tmp_path: Path):
    flags: dict[str, Any] = {"judge__model": f"onnx:{tmp_path}/gone", "embedding__model": "none:"}
    async with opened(database_url, tmp_path, start=PROVIDERS, **flags) as app:
        assert app.degraded == ("judge",)
        assert (await judge_of(app.memory.judges)).startswith("rules@")


async def test_a_choice_that_names_no_model_is_refused(database_url: str, tmp_path: Path):
    with pytest.raises(BadSetting, match="judges"):
        async with opened(database_url, tmp_path, start=PROVIDERS, judge__model="tiny", embedding__model="none:"):
            pass
