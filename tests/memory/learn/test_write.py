"""Whatever two deeds hold at once, they took it in one order: whoever is met half-way finishes, and so does the other.

One side is a transaction by hand that takes one lock, waits until a real deed on a connection of its own stands in a
queue or is done, and then takes a lock that comes later in the order. A deed that had taken that one already, and waits
for the first, would wait in a ring; the server ends such a wait with an error.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.deps import rows
from tests.memory.oblivion import eraser_of, ledger_in
from tests.memory.remembering import Mind, known, says
from tests.memory.test_conflicts import wired
from tests.outcomes.watching import Watched

from festinger.ids import MAIN_SPACE, MemoryId, SpaceId
from festinger.memory.changes import lock_memories, lock_owners
from festinger.memory.deps import GiveBack
from festinger.memory.erasure.erase import ErasureDeps, forget
from festinger.memory.erasure.repair import RepairReport, SourceWithdrawalResult, repair
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.undo import undo
from festinger.observability.metrics import STORE_ERRORS
from festinger.settings.tree import StoreSettings
from festinger.store import connection
from festinger.store.pool import Store, Transaction, open_store
from festinger.world.conflicts import open_memory_conflict
from festinger.world.decisions import ConflictJudge, ConflictVerdict, decide_conflict
from festinger.world.repair import SourceFilter, reinstate_source, withdraw_source
from festinger.world.write import lock_world

PATIENT_MS = 600_000
"""On a busy machine whoever holds a lock may hold it for long."""
WAITING = "select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
BY = "person:owner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """A statement of somebody, and one from a page that contradicts it."""

    mind: Mind
    eraser: ErasureDeps
    old: MemoryId
    new: MemoryId
    conflict: Any
    page: str

    async def take(self, transaction: Transaction, name: str) -> None:
        """Take one of the locks, as every deed takes it."""
        match name:
            case "world":
                await lock_world(transaction, MAIN_SPACE)
            case "owner":
                await lock_owners(transaction, MAIN_SPACE, [None])
            case "memories":
                await lock_memories(transaction, MAIN_SPACE, [self.old, self.new])
            case "conflict":
                await open_memory_conflict(
                    self.mind.world, transaction, MAIN_SPACE, old=self.old, new=self.new, judgement=None
                )


ORDER = ("world", "owner", "memories", "conflict")

Operation = Callable[[Dispute], Awaitable[object]]


async def _repair(at: Dispute) -> RepairReport:
    async def from_world(transaction: Transaction, *_: object) -> SourceWithdrawalResult:
        taken = await withdraw_source(at.mind.world, transaction, MAIN_SPACE, SourceFilter(messages=(at.page,)))
        return SourceWithdrawalResult(rows=1, kept=taken.as_json())

    others = {"world": from_world}
    return await repair(at.eraser, MAIN_SPACE, ErasureSelector(source=at.page), by=BY, others=others)


async def _forget(at: Dispute) -> object:
    return await forget(at.eraser, MAIN_SPACE, ErasureSelector(ids=(at.new,)), reason="asked", by=BY)


async def _update(at: Dispute) -> object:
    verdict = ConflictVerdict(decision="update", judge=ConflictJudge.PERSON, by="ada")
    return await decide_conflict(at.mind.world, MAIN_SPACE, at.conflict, verdict)


async def _split(at: Dispute) -> object:
    texts = (f"{at.page} was right in May", f"{at.page} was wrong in June")
    verdict = ConflictVerdict(decision="split", judge=ConflictJudge.PERSON, by="ada", texts=texts)
    return await decide_conflict(at.mind.world, MAIN_SPACE, at.conflict, verdict)


async def _say_again(at: Dispute) -> object:
    return await at.mind.learn(_lie(at.page), session="s2", origin="document")


async def _report(at: Dispute) -> object:
    told = {str(at.old): "contradicted", "winky [species] elf": "contradicted"}
    hooks = Watched(at.mind.store, mind=at.mind).hooks()
    return await hooks.on_context_used(list(told), told, superseded_by={str(at.old): str(at.new)})


def to_world(at: Dispute) -> GiveBack:
    async def give(transaction: Transaction, space: SpaceId, kept: Mapping[str, Any]) -> None:
        await reinstate_source(at.mind.world, transaction, space, kept["world"])

    return give


DEEDS: dict[str, Operation] = {
    "repair": _repair,
    "forget": _forget,
    "decide": _update,
    "split": _split,
    "say again": _say_again,
    "report": _report,
}


@pytest.fixture
async def patient(database_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    monkeypatch.setattr(connection, "LOCK_TIMEOUT_MS", PATIENT_MS)
    async with open_store(database_url, StoreSettings(statement_timeout_ms=PATIENT_MS), door="test") as opened:
        yield opened


def _lie(page: str) -> str:
    return f"The account of {page} is 99"


async def disputed(mind: Mind, folder: Path, page: str) -> Dispute:
    truth = f"The account of {page} is 11"
    mind.near.near |= {truth: 1.0, _lie(page): 0.9}
    mind.judges.told = None
    old = await mind.learn(truth)
    mind.judges.told = says("contradicts", 0.7)
    new = await mind.learn(_lie(page), origin="document", source=page)
    mind.judges.told = None
    assert new.conflict is not None
    return Dispute(
        mind=mind,
        eraser=eraser_of(mind, ledger_in(folder)),
        old=known(old),
        new=known(new),
        conflict=new.conflict,
        page=page,
    )


async def crossed(at: Dispute, operation: Operation, first: str, later: str) -> object:
    """Let a deed begin while somebody holds the first lock, who then takes a later one."""
    store, rings = at.mind.store, STORE_ERRORS.labels("busy")._value
    before = rings.get()
    async with store.transaction(patient=True) as transaction:
        await at.take(transaction, first)
        doing = asyncio.ensure_future(operation(at))
        while not doing.done() and (await rows(store, WAITING))[0]["n"] == 0:
            pass
        await at.take(transaction, later)
    done = await doing
    # Whoever was thrown out of a ring may have tried again since.
    assert rings.get() == before, (first, later)
    return done


@pytest.mark.parametrize("name", DEEDS)
async def test_a_deed_takes_no_lock_before_one_that_comes_earlier(patient: Store, tmp_path: Path, name: str):
    mind = wired(Mind(patient, burst_limit=10_000))

    for number, (first, later) in enumerate(combinations(ORDER, 2)):
        at = await disputed(mind, tmp_path, f"page {number}")
        assert await crossed(at, DEEDS[name], first, later) is not None, (first, later)


async def test_undoing_a_repair_takes_no_lock_before_one_that_comes_earlier(patient: Store, tmp_path: Path):
    mind = wired(Mind(patient, burst_limit=10_000))

    for number, (first, later) in enumerate(combinations(("world", "owner", "memories"), 2)):
        at = await disputed(mind, tmp_path, f"page {number}")
        change = (await _repair(at)).change

        async def taken_back(each: Dispute, change: Any = change) -> object:
            deps = replace(each.mind.deps, give_back=to_world(each))
            return await undo(deps, MAIN_SPACE, change, by=BY)

        assert await crossed(at, taken_back, first, later) is not None, (first, later)


@pytest.mark.parametrize(
    "operations",
    [("repair", "decide"), ("decide", "repair"), ("forget", "split")],
    ids=["repair and decide", "decide and repair", "forget and split"],
)
async def test_two_deeds_about_the_same_memories_at_once_both_come_to_an_end(
    patient: Store, tmp_path: Path, operations: tuple[str, str]
):
    mind = wired(Mind(patient, burst_limit=10_000))
    at = await disputed(mind, tmp_path, "page")

    ends = await asyncio.gather(*(DEEDS[name](at) for name in operations), return_exceptions=True)

    # Whoever comes second finds that the other has been there, and says so; nobody is thrown out of a ring.
    assert not [end for end in ends if getattr(end, "details", {}).get("kind") == "busy"]
    assert [end for end in ends if not isinstance(end, BaseException)]
