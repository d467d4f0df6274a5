"""What the tests of this room put around a line: a ledger in memory, a clock and a stopwatch that stand."""

import asyncio
import random
from datetime import datetime, timedelta
from decimal import Decimal

from tests.conftest import MONDAY

from festinger.errors import StoreDown
from festinger.ids import id_maker
from festinger.llm.client import BufferedLedger, CallPolicy, GuardedConnection, ModelDeps
from festinger.llm.ledger import CallTotals, ModelCall, ModelCaller, ServerGuards
from festinger.llm.model import AnswerSchema, MessageRole, ModelPurpose, PromptMessage, Provider


class Verdict(AnswerSchema):
    verdict: str


GOOD = Verdict(reasoning="They say one thing.", verdict="same")
QUESTION = (PromptMessage(role=MessageRole.USER, text="Are these the same?", prompt_hash="0123456789ab"),)


class Hands:
    """The hands of a clock and a stopwatch; they move when a test moves them."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def clock(self) -> datetime:
        return MONDAY + timedelta(seconds=self.seconds)

    def stopwatch(self) -> float:
        return self.seconds


class MemoryLedger:
    def __init__(self) -> None:
        self.calls: list[ModelCall] = []
        self.away = False

    async def record(self, call: ModelCall) -> None:
        if self.away:
            raise StoreDown
        self.calls.append(call)

    async def tally(self, since: datetime, purpose: ModelPurpose | None = None) -> CallTotals:
        await asyncio.sleep(0)  # Others run meanwhile, as they do while a database answers.
        counted = [call for call in self.calls if call.at > since and purpose in (None, call.purpose)]
        priced = [call.cost_usd for call in counted if call.cost_usd is not None]
        return CallTotals(
            calls=len(counted),
            failed=sum(not call.ok for call in counted),
            cost_usd=sum(priced, start=Decimal(0)),
            unpriced=len(counted) - len(priced),
        )


class Bench:
    def __init__(self) -> None:
        self.hands = Hands()
        self.ledger = MemoryLedger()
        self.deps = ModelDeps(
            book=BufferedLedger(self.ledger),
            guards=ServerGuards(self.hands.stopwatch),
            clock=self.hands.clock,
            stopwatch=self.hands.stopwatch,
            new_id=id_maker(self.hands.clock, random.Random(7)),
        )

    def line(
        self,
        provider: Provider,
        *,
        purpose: ModelPurpose = ModelPurpose.JUDGE,
        caller: ModelCaller | None = None,
        terms: CallPolicy | None = None,
    ) -> GuardedConnection:
        return GuardedConnection(
            provider, self.deps, purpose=purpose, caller=caller or ModelCaller(), terms=terms or CallPolicy()
        )
