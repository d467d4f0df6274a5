"""A model may take minutes; whoever asks one holds no database transaction meanwhile."""

import random

import pytest
from tests.llm.bench import GOOD, QUESTION, Hands, Verdict
from tests.llm.test_client_router import resolve

from festinger.errors import FestingerError
from festinger.ids import id_maker
from festinger.llm.client import ModelRouter, ModelRouterDeps
from festinger.llm.ledger import ModelCaller
from festinger.llm.model import ModelPurpose
from festinger.llm.providers.scripted import ScriptedProvider
from festinger.settings.tree import LlmSettings
from festinger.store.pool import Store, is_in_transaction
from festinger.store.repositories.models import StoredCallLedger


@pytest.mark.requirement("X-53")
async def test_a_model_asked_inside_a_transaction_is_a_fault_and_is_not_called(store: Store) -> None:
    hands, script = Hands(), ScriptedProvider(GOOD)
    board = ModelRouter(
        ModelRouterDeps(
            ledger=StoredCallLedger(store),
            clock=hands.clock,
            stopwatch=hands.stopwatch,
            new_id=id_maker(hands.clock, random.Random(7)),
            environment={},
            offline=True,
            open=lambda _: script,
            holds_transaction=is_in_transaction,
        )
    )
    settings = LlmSettings(judge="ollama:small")
    model = await board.model(ModelPurpose.JUDGE, ModelCaller(), settings=settings, resolve=resolve)
    assert model is not None

    async with store.transaction():
        with pytest.raises(FestingerError, match="inside a database transaction"):
            await model.answer(QUESTION, Verdict)
    inside = len(script.asked)
    await model.answer(QUESTION, Verdict)

    assert (inside, len(script.asked)) == (0, 1)
