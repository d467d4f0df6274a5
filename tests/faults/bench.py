"""An operation that is ready to be run again and again on the same rows, over a wire that can fail any statement."""

import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.consolidation.sleeper import Sleeper, sleeping
from tests.faults.operations import Act, Prepare
from tests.faults.tables import Tables, tables_of
from tests.faults.wire import Fault, FaultyRelay, IsDue, faulty_relay_to

from festinger.errors import FestingerError

NAMES = re.compile(r'"[^"]*"')


@dataclass(kw_only=True)
class Bench:
    at: Sleeper
    wire: FaultyRelay
    tables: Tables
    act: Act
    complete: list[str]
    """What a run in which nothing fails changes, without what is random in it."""
    statements: list[str]
    """What such a run executes."""

    def numbers(self) -> list[int]:
        """The numbers of the statements, without those that differ from an earlier one in names of columns only."""
        forms: dict[str, int] = {}
        for number, statement in enumerate(self.statements, 1):
            form = form_of(statement)
            forms.setdefault(form if form != statement else f"{number}", number)
        return list(forms.values())

    async def fail(self, is_due: IsDue, fault: Fault) -> FestingerError | None:
        """Run the operation with one statement failing; return what it raised. Errors of others pass through."""
        await self.at.app.store.pool.wait()  # a connection that was lost is replaced behind the scenes
        self.wire.arm(is_due, fault)
        try:
            await self.act()
        except FestingerError as error:
            return error
        finally:
            self.wire.disarm()
        return None

    def is_complete(self) -> bool:
        return self.tables.without_names(self.tables.changes()) == self.complete


def form_of(statement: str) -> str:
    return NAMES.sub('""', statement)


@asynccontextmanager
async def bench_for(prepare: Prepare, url: str, folder: Path) -> AsyncIterator[Bench]:
    async with faulty_relay_to(url) as wire, sleeping(wire.url, folder, consolidation__derived_share=0.9) as at:
        # What is looked up anew after some seconds or so many statements would shift the numbers of those behind it.
        at.app.memory.deps.sizing.due = sys.maxsize
        object.__setattr__(at.app.memory.deps, "stopwatch", lambda: 0.0)
        act = await prepare(at)
        with tables_of(url) as tables:
            await act()  # what a process does only the first time
            tables.put_back()
            wire.arm(lambda _number, _statement: False)
            await act()
            wire.disarm()
            complete = tables.without_names(tables.changes())
            tables.put_back()
            yield Bench(at=at, wire=wire, tables=tables, act=act, complete=complete, statements=wire.statements)
