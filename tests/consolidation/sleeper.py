"""A whole app whose clock tests move, and models that answer by the shape of what they are asked."""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.jobs.deps import rows
from tests.runtime.server import MONDAY, Hands, fixed_tools, opened

from festinger.consolidation.night import Night, NightDeps, begin_night, load_night_report
from festinger.consolidation.reflect import (
    InsightDraft,
    InsightsAnswer,
    NarrativeAnswer,
    QuestionsAnswer,
    ShortFormAnswer,
)
from festinger.consolidation.run import run_night
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, Origin, Scope, SessionId
from festinger.llm.model import AnswerSchema, Model, ModelAnswer, PromptMessage, ToolOffer, prompt_hash
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Memory, memory_from_row
from festinger.runtime.app import App, StartOptions

DAY = timedelta(days=1)

STORY = "I saw the garden grow, and so what it gives was shared"

Say = Callable[[str], AnswerSchema]


class TalkingModel:
    """Answers each shape with a function of the prompt, and remembers what it was asked."""

    name = "scripted:talking"

    def __init__(self, answers: Mapping[type[AnswerSchema], Say]) -> None:
        self.answers = dict(answers)
        self.asked: list[type[AnswerSchema]] = []

    async def answer(self, messages: Sequence[PromptMessage], shape: type[Any]) -> ModelAnswer[Any]:
        self.asked.append(shape)
        value = self.answers[shape](messages[0].text)
        hash_ = prompt_hash(messages)
        return ModelAnswer(value=value, model=self.name, prompt_hash=hash_, usage=None, cost_usd=Decimal(0), calls=1)

    def chat(self, messages: Sequence[PromptMessage], tools: Sequence[ToolOffer] = ()) -> Any:
        raise NotImplementedError


def insights(*drafts: tuple[str, Sequence[int]], confidence: float = 0.9) -> InsightsAnswer:
    return InsightsAnswer(
        reasoning="r",
        insights=[
            InsightDraft(reasoning="r", statement=text, cites=list(cites), confidence=confidence)
            for text, cites in drafts
        ],
    )


def numbers_in(prompt: str) -> list[int]:
    """The numbers of the notes that a prompt shows."""
    return [int(number) for number in re.findall(r"^\[(\d+)\]", prompt, re.MULTILINE)]


def thinking(
    statement: Callable[[str], str], *, question: str = "What is known of the garden?", **more: Say
) -> TalkingModel:
    """A model that asks one question, draws one insight from all notes and tells one story."""
    return TalkingModel(
        {
            QuestionsAnswer: lambda _prompt: QuestionsAnswer(reasoning="r", questions=[question]),
            InsightsAnswer: lambda prompt: insights((statement(prompt), numbers_in(prompt))),
            NarrativeAnswer: lambda _prompt: NarrativeAnswer(reasoning="r", narrative=STORY),
            ShortFormAnswer: lambda _prompt: ShortFormAnswer(reasoning="r", short="the garden"),
        }
    )


@dataclass
class Sleeper:
    app: App
    hands: Hands

    @property
    def deps(self) -> NightDeps:
        return self.app.nights

    async def tell(
        self, text: str, *, session: str = "s1", agent: str = DEFAULT_AGENT, origin: str = "person", **more: Any
    ) -> Learned:
        scope = Scope(space=MAIN_SPACE, agent=AgentId(agent), session=SessionId(session))
        return await learn(self.app.memory.deps, scope, LearnRequest(text=text, origin=Origin(origin), **more))

    async def night(self, model: Model | None = None, *, agent: str = "", **more: Any) -> Night:
        deps = with_model(self.deps, model)
        night = await self.begin(agent=agent, **more)
        await run_night(deps, MAIN_SPACE, night)
        return await load_night_report(deps, MAIN_SPACE, night)

    async def begin(self, *, agent: str = "", **more: Any) -> UUID:
        async with self.app.store.transaction() as transaction:
            return await begin_night(self.deps, transaction, MAIN_SPACE, agent=agent, **more)

    async def memories(self, *kinds: str, status: str = "active") -> list[Memory]:
        found = await rows(
            self.app.store,
            "select * from memory where status = %(status)s and (%(kinds)s::text[] = '{}' or kind = any(%(kinds)s)) order by seq",
            status=status,
            kinds=list(kinds),
        )
        return [memory_from_row(row) for row in found]

    async def state(self) -> list[dict[str, Any]]:
        """What stands and how deeply, for comparing before and after."""
        return await rows(
            self.app.store,
            "select id, content, compressed, weight_alpha, weight_beta, confidence, tags, metadata from memory"
            " where status = 'active' order by id",
        )

    def forward(self, by: timedelta = DAY) -> None:
        self.hands.forward(by)


def with_model(deps: NightDeps, model: Model | None) -> NightDeps:
    async def writer(_space: Any) -> Model | None:
        return model

    return replace(deps, writer=writer)


@asynccontextmanager
async def sleeping(
    url: str, folder: Path, *, now: datetime = MONDAY, seed: int = 1, **flags: Any
) -> AsyncIterator[Sleeper]:
    """An app on a database of its own, with an embedder that needs no weights."""
    hands = Hands(now)
    tools, start = fixed_tools(hands, seed=seed), StartOptions(providers=True)
    chosen = {"embedding__model": "hashed:64", "llm__write": "", "llm__judge": "", **flags}
    async with opened(url, folder, tools=tools, start=start, **chosen) as app:
        yield Sleeper(app=app, hands=hands)
