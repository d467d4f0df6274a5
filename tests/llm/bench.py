"""What the tests of this room put around a line: a ledger in memory, a clock and a stopwatch that stand."""

import asyncio
import random
from datetime import datetime, timedelta
from decimal import Decimal

from tests.conftest import MONDAY

from festinger.errors import StoreDown
from festinger.ids import id_maker
from festinger.llm.client import Book, Desk, Line, Terms
from festinger.llm.guards import Guards
from festinger.llm.ledger import Call, Caller, Tally
from festinger.llm.model import Message, Provider, Purpose, Role, Shape


class Verdict(Shape):
    verdict: str


GOOD = Verdict(reasoning="They say one thing.", verdict="same")
QUESTION = (Message(role=Role.USER, text="Are these the same?", prompt_hash="0123456789ab"),)


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
        self.calls: list[Call] = []
        self.away = False

    async def record(self, call: Call) -> None:
        if self.away:
            raise StoreDown
        self.calls.append(call)

    async def tally(self, since: datetime, purpose: Purpose | None = None) -> Tally:
        await asyncio.sleep(0)  # Others run meanwhile, as they do while a database answers.
        counted = [call for call in self.calls if call.at > since and purpose in (None, call.purpose)]
        priced = [call.cost_usd for call in counted if call.cost_usd is not None]
        return Tally(
            calls=len(counted),
            failed=sum(not call.ok for call in counted),
            cost_usd=sum(priced, start=Decimal(0)),
            unpriced=len(counted) - len(priced),
        )


class Bench:
    def __init__(self) -> None:
        self.hands = Hands()
        self.ledger = MemoryLedger()
        self.desk = Desk(
            book=Book(self.ledger),
            guards=Guards(self.hands.stopwatch),
            clock=self.hands.clock,
            stopwatch=self.hands.stopwatch,
            new_id=id_maker(self.hands.clock, random.Random(7)),
        )

    def line(
        self,
        provider: Provider,
        *,
        purpose: Purpose = Purpose.JUDGE,
        caller: Caller | None = None,
        terms: Terms | None = None,
    ) -> Line:
        return Line(provider, self.desk, purpose=purpose, caller=caller or Caller(), terms=terms or Terms())
