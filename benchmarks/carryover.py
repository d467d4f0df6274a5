"""The suite `carryover`: how often what was said in one session stands in the context of the next when it is asked for.

Conversations of a person with an assistant (BEAM) are said to the real agent, with a scripted model. Then each question
that rests on words of the person is asked in a session of its own, and counts if something that was learned from those
words is in what the model reads. The same is done without the identity, and with a memory that keeps every sentence
instead of what the reader takes for lasting. Where the model hedges and slow thought corrects it, the question is asked
once more: with lessons from mistakes in the context, and without them.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any
from unittest.mock import patch

from benchmarks.conversations import ASSISTANT, Rows, by_group, opened
from benchmarks.recall import BEAM, FEW, answerable
from benchmarks.result import BenchMetric, GoalOp, Sample, System, SystemKind
from benchmarks.suite import PRODUCT, Bench, Suite, SuiteResult
from benchmarks.tally import MetricTally, counted
from festinger.agent.cycle import MistakeCorrection, System2Answer
from festinger.agent.mind import Agent
from festinger.errors import BadInput
from festinger.ids import DEFAULT_AGENT, Origin, Scope, SessionId, SpaceId
from festinger.jobs.worker import WorkerPool
from festinger.llm.model import ModelPurpose
from festinger.llm.providers.scripted import ScriptedProvider, build_scripted_model
from festinger.memory.deps import MemoryDeps
from festinger.memory.extract.turns import PersonTurn
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import LearnRequest
from festinger.retrieval.index.terms import count_words_of_changed_texts
from festinger.runtime.app import App
from festinger.services.access import add_space
from festinger.services.agent import open_mind
from festinger.text.words import split_into_sentences

HEDGED = "Maybe. I think it might be so, perhaps, but I am not sure."
LESSON_CHARS = 200
NO_IDENTITY, NO_LESSONS, EVERYTHING = "without identity", "without lessons", "keeping everything"

METRICS = (
    BenchMetric(
        name="carryover.known", unit="share", about="what was said stands in the next context", better=GoalOp.AT_LEAST
    ),
    BenchMetric(
        name="carryover.corrected", unit="share", about="the same of what was corrected", better=GoalOp.AT_LEAST
    ),
    BenchMetric(name="carryover.tokens", unit="tokens", about="the context of a question", better=GoalOp.AT_MOST),
)


@dataclass(slots=True, kw_only=True)
class Talks:
    """Talks with the agent of one space, what each message of the set taught, and what the model read last."""

    app: App
    space: SpaceId
    script: ScriptedProvider
    model: Any
    slow: Any = None
    taught: dict[str, list[str]] = field(default_factory=dict)
    sessions: int = 0
    tokens: int = 0

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Agent]:
        self.sessions += 1
        scope = Scope(space=self.space, agent=DEFAULT_AGENT, session=SessionId(f"chat:{self.sessions}"))
        async with open_mind(self.app, scope, choose=self.choose) as agent:
            yield agent

    async def choose(self, purpose: ModelPurpose, _scope: Scope) -> Any:
        return self.model if purpose is ModelPurpose.CHAT else self.slow if purpose is ModelPurpose.SYSTEM2 else None

    async def ask(self, text: str, *, reply: str = "All right.") -> str:
        """Ask in a session of its own; return what the model read."""
        self.script.queue.clear()
        self.script.add(reply, reply)
        seen = len(self.script.asked)
        async with self.session() as agent:
            await agent.hear(text)
            cycle = await agent.step()
        self.tokens = cycle.tokens if cycle is not None else 0
        return "\n".join(message.text for message in self.script.asked[seen].messages)


async def say_all(app: App, turns: Rows, *, name: str) -> Talks:
    """Say what the person of a conversation says, session by session, and do what a server does meanwhile."""
    model, script = build_scripted_model()
    talks = Talks(app=app, space=(await add_space(app, name)).id, model=model, script=script)
    for number in dict.fromkeys(turn["session"] for turn in turns):
        async with talks.session() as agent:
            for turn in (each for each in turns if each["session"] == number and each["role"] != ASSISTANT):
                script.add("All right.", "All right.")
                with suppress(BadInput):  # a message that has nothing but a copy of notes in it
                    heard = await agent.hear(turn["text"])
                    talks.taught[turn["id"]] = [each.memory.content for each in heard.learned if each.memory]
                    await agent.step()
    await WorkerPool(app.jobs, shutdown_seconds=1).drain()
    await count_words_of_changed_texts(app.recall.deps, talks.space)
    return talks


async def learn_everything(memory: MemoryDeps, scope: Scope, turn: PersonTurn) -> Sequence[Learned]:
    """Keep every sentence of a person, whatever the reader takes for lasting."""
    kept = []
    for sentence in split_into_sentences(turn.text):
        with suppress(BadInput):
            kept.append(await learn(memory, scope, LearnRequest(text=sentence, origin=Origin.PERSON)))
    return kept


async def no_lessons(*_: Any) -> list[str]:
    return []


@contextmanager
def without(system: str) -> Iterator[None]:
    """The agent as it is in one system."""
    changed: Mapping[str, tuple[str, Any]] = {
        NO_IDENTITY: ("festinger.agent.mind.sample_identity_memories", lambda *_: []),
        NO_LESSONS: ("festinger.agent.mind.load_corrections", no_lessons),
        EVERYTHING: ("festinger.agent.mind.learn_turn", learn_everything),
    }
    with ExitStack() as stack:
        if system in changed:
            stack.enter_context(patch(*changed[system]))
        yield


async def measure(bench: Bench) -> SuiteResult:
    turns = by_group(bench.data.rows(BEAM, "corpus", needs=("group", "id", "session", "text", "role")))
    asked = by_group(answerable(bench.data.rows(BEAM, "queries", needs=("group", "id", "text"))))
    found: dict[tuple[str, str], list[Any]] = {}
    tokens: dict[str, list[int]] = {}
    async with opened(bench) as app:
        for group in list(turns)[: 1 if bench.partial else FEW]:
            said = {turn["id"] for turn in turns[group] if turn["role"] != ASSISTANT}
            rows = [row for row in asked[group] if said & set(map(str, row["gold"]))]
            for kept in (PRODUCT, EVERYTHING):
                bench.say(f"Saying {group} to the agent, {kept}.")
                with without(kept):
                    talks = await say_all(app, turns[group], name=f"beam-{group}-{kept}".lower().replace(" ", "-"))
                for system in (PRODUCT, NO_IDENTITY) if kept == PRODUCT else (EVERYTHING,):
                    with without(system):
                        for row in rows[: bench.data.limit]:  # a third of so few would be one
                            known = is_in(talks, await talks.ask(row["text"]), row)
                            found.setdefault(("carryover.known", system), []).append(counted(row["id"], known))
                            tokens.setdefault(system, []).append(talks.tokens)
                if kept == PRODUCT:
                    for row in rows:
                        await _correct(talks, row, found)
    tallies = [MetricTally(metric=metric, system=system, items=items) for (metric, system), items in found.items()]
    samples = [
        Sample(metric="carryover.tokens", system=system, value=fmean(each), n=len(each))
        for system, each in tokens.items()
    ]
    systems = [System(name=name, kind=SystemKind.BASELINE) for name in (NO_IDENTITY, NO_LESSONS, EVERYTHING)]
    return SuiteResult(tallies=tallies, samples=samples, systems=systems)


def is_in(talks: Talks, context: str, row: Mapping[str, Any]) -> bool:
    """Whether something that the words behind an answer taught stands in a context."""
    return any(text in context for turn in row["gold"] for text in talks.taught.get(str(turn), ()))


async def _correct(talks: Talks, row: Mapping[str, Any], found: dict[tuple[str, str], list[Any]]) -> None:
    """Let slow thought correct a hedged answer, and ask again with lessons and without them."""
    answer = str(row["answer"])[:LESSON_CHARS].strip()
    lesson = MistakeCorrection(trigger=row["text"], error_type="doubt", original_reasoning=HEDGED, correction=answer)
    talks.slow, thinking = build_scripted_model(
        System2Answer(reasoning="The person said so.", answer=answer, explanation="They said so.", correction=lesson)
    )
    await talks.ask(f"{row['text']} Are you sure?", reply=HEDGED)
    talks.slow = None
    if not thinking.asked:
        return
    for system in (PRODUCT, NO_LESSONS):
        with without(system):
            is_there = answer in await talks.ask(row["text"])
        found.setdefault(("carryover.corrected", system), []).append(counted(row["id"], is_there))


CARRYOVER = Suite(
    name="carryover",
    about="How often what was said in one session stands in the context of the next.",
    metrics=METRICS,
    measure=measure,
    needs=(BEAM,),
    timed=False,
)
