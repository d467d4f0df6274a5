"""The operations whose every statement fails once, each with what it needs beforehand."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tests.consolidation.sleeper import Sleeper, with_model
from tests.faults.wire import Fault
from tests.memory.remembering import changed, known
from tests.stories.test_nights import eventful, prepare_all_steps

from festinger.consolidation.apply import undo_night
from festinger.consolidation.run import run_night
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Origin, Scope, SessionId
from festinger.memory.edit import merge
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.learn.pipeline import learn_many
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import LearnAction
from festinger.memory.undo import undo
from festinger.runtime.erasure import build_erasure_service
from festinger.world.decisions import ConflictJudge, ConflictVerdict, decide_conflict, undo_conflict_decision

SMALL, LARGE = "The server has 16 GB", "The server has 32 GB"
OLD, NEW = "retry failed uploads", "do not retry failed uploads"
CLEARER = ("retry uploads that timed out", "do not retry uploads that were refused")
AGENT = "sleeper"

Act = Callable[[], Awaitable[object]]
Prepare = Callable[[Sleeper], Awaitable[Act]]


@dataclass(frozen=True, kw_only=True)
class Operation:
    prepare: Prepare
    fault: Fault | None
    """What the suite plants; exploring plants everything."""
    tries_again: bool = False
    """Whether what writes is repeated if others were at the same rows."""
    goes_on: bool = False
    """Whether it takes several transactions: one that failed is done once it is called again."""
    connects: bool = False
    """Whether it opens a connection of its own."""


async def learn_new(at: Sleeper) -> Act:
    await at.tell(OLD)
    return lambda: learn_as(at, SMALL, LearnAction.STORED)


async def learn_again(at: Sleeper) -> Act:
    await at.tell(SMALL)
    at.forward()
    return lambda: learn_as(at, SMALL, LearnAction.CONFIRMED)


async def learn_news(at: Sleeper) -> Act:
    await at.tell(SMALL)
    at.forward()
    return lambda: learn_as(at, LARGE, LearnAction.SUPERSEDED)


async def learn_contradiction(at: Sleeper) -> Act:
    await at.tell(OLD)
    at.forward()
    return lambda: learn_as(at, NEW, LearnAction.CONFLICTED)


async def learn_as(at: Sleeper, text: str, action: LearnAction) -> None:
    assert (await at.tell(text, session="later")).action is action


async def learn_with_key(at: Sleeper) -> Act:
    await at.tell(SMALL)
    return lambda: at.tell(LARGE, key="k", session="later")


async def learn_batch(at: Sleeper) -> Act:
    await at.tell(SMALL)
    return lambda: learn_three(at)


async def learn_three(at: Sleeper, *, keys: bool = False) -> None:
    requests = [
        LearnRequest(text=text, origin=Origin.PERSON, key=text if keys else None)
        for text in (LARGE, "Ann keeps bees", "The ferry leaves before noon")
    ]
    scope = Scope(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=SessionId("later"))
    done = await learn_many(at.app.memory.deps, scope, requests)
    assert [each.error for each in done] == [None] * len(requests)


async def learn_batch_with_keys(at: Sleeper) -> Act:
    await at.tell(SMALL)
    return lambda: learn_three(at, keys=True)


async def undo_supersession(at: Sleeper) -> Act:
    await at.tell(SMALL)
    made = changed(await at.tell(LARGE))
    at.forward()
    return lambda: undo(at.app.memory.deps, MAIN_SPACE, made, by="ada")


async def undo_merge(at: Sleeper) -> Act:
    told = [known(await at.tell(text)) for text in ("Ann keeps bees", "bees are what Ann keeps as a hobby")]
    made = (await merge(at.app.memory.deps, MAIN_SPACE, told, by="ada")).change
    assert made is not None
    at.forward()
    return lambda: undo(at.app.memory.deps, MAIN_SPACE, made, by="ada")


async def forget(at: Sleeper) -> Act:
    first, other = await at.tell(SMALL), await at.tell(OLD)
    await at.tell("So much memory is enough", origin="job", derived_from=(known(first), known(other)))
    selector, eraser = ErasureSelector(ids=(known(first),)), build_erasure_service(at.app)
    return lambda: eraser.forget(MAIN_SPACE, selector, reason="she asked", by="ada")


def decide(decision: str, **more: Any) -> Prepare:
    verdict = ConflictVerdict(decision=decision, judge=ConflictJudge.PERSON, by="ada", **more)

    async def prepare(at: Sleeper) -> Act:
        await at.tell(OLD)
        conflict = (await at.tell(NEW)).conflict
        assert conflict is not None
        at.forward()
        return lambda: decide_conflict(at.app.world.deps, MAIN_SPACE, conflict, verdict)

    return prepare


async def undo_decision(at: Sleeper) -> Act:
    await at.tell(OLD)
    conflict = (await at.tell(NEW)).conflict
    assert conflict is not None
    verdict = ConflictVerdict(decision="update", judge=ConflictJudge.PERSON, by="ada")
    await decide_conflict(at.app.world.deps, MAIN_SPACE, conflict, verdict)
    at.forward()
    return lambda: undo_conflict_decision(at.app.world.deps, MAIN_SPACE, conflict, by="ben")


async def sleep(at: Sleeper) -> Act:
    """A night as its job runs it, which is begun already."""
    await prepare_all_steps(at, (AGENT,))
    night = await at.begin(agent=AGENT)
    return lambda: run_night(with_model(at.deps, eventful()), MAIN_SPACE, night)


async def undo_sleep(at: Sleeper) -> Act:
    await prepare_all_steps(at, (AGENT,))
    night = await at.night(eventful(), agent=AGENT)
    at.forward()
    return lambda: undo_night(at.deps, MAIN_SPACE, night.id, by="ada")


OPERATIONS = {
    "learn something new": Operation(prepare=learn_new, fault=Fault.SERIALIZATION, tries_again=True),
    "learn something again": Operation(prepare=learn_again, fault=Fault.DEADLOCK, tries_again=True),
    "learn what supersedes": Operation(prepare=learn_news, fault=Fault.DEADLOCK, tries_again=True),
    "learn what contradicts": Operation(prepare=learn_contradiction, fault=Fault.ENDED, tries_again=True),
    "learn with a key": Operation(prepare=learn_with_key, fault=Fault.UNANSWERED, tries_again=True, goes_on=True),
    "learn a batch": Operation(prepare=learn_batch, fault=Fault.DEADLOCK, tries_again=True),
    "learn a batch with keys": Operation(prepare=learn_batch_with_keys, fault=None, goes_on=True),
    "undo a supersession": Operation(prepare=undo_supersession, fault=Fault.DISK_FULL),
    "undo a merge": Operation(prepare=undo_merge, fault=Fault.UNANSWERED, goes_on=True),
    "forget": Operation(prepare=forget, fault=Fault.DISK_FULL),
    "decide update": Operation(prepare=decide("update"), fault=Fault.ENDED),
    "decide dismiss": Operation(prepare=decide("dismiss"), fault=Fault.TOO_SLOW),
    "decide same": Operation(prepare=decide("same"), fault=Fault.DISK_FULL),
    "decide both": Operation(prepare=decide("both"), fault=Fault.SERIALIZATION),
    "decide neither": Operation(prepare=decide("neither"), fault=Fault.UNANSWERED),
    "decide split": Operation(prepare=decide("split", texts=CLEARER), fault=Fault.DEADLOCK),
    "undo a decision": Operation(prepare=undo_decision, fault=Fault.TOO_SLOW),
    "sleep": Operation(prepare=sleep, fault=None, goes_on=True, connects=True),
    "undo a night": Operation(prepare=undo_sleep, fault=None),
}
