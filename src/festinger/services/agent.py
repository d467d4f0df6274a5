"""Opens an agent's mind on the app: its memory, its models, and what it knows about itself."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from uuid import UUID

from festinger.agent.mind import Agent, AgentDeps, ChooseModel, Notes, open_agent
from festinger.ids import Origin, Scope, SessionId
from festinger.llm.ledger import ModelCaller
from festinger.llm.local import find_local_model
from festinger.llm.model import Model, ModelPurpose
from festinger.memory.episodes.store import page_episodes
from festinger.outcomes.capture import ReplyInput, observe_reply
from festinger.outcomes.model import Reporter, ReportSource
from festinger.runtime.app import App
from festinger.services.recollect import recollect
from festinger.store.repositories.models import session_costs
from festinger.store.repositories.spaces import load_run_summary

DOOR = "chat"
SESSIONS = "chat:"
"""How the sessions of chats begin."""
LOOKED_BACK = 20
"""Episodes among which the last chat is looked for."""


async def use_local_model(app: App) -> None:
    """Let the agent talk with the model at the proxy's upstream, if that is local."""
    chosen = app.settings.now.proxy
    native, openai = (str(each or chosen.upstream) for each in (chosen.upstreams.ollama, chosen.upstreams.openai))
    if found := await find_local_model(ollama=native, openai=openai):
        provider, model, address = found
        app.own_model.note(provider=provider, model=model, address=address)


async def last_session(app: App, scope: Scope) -> SessionId | None:
    """The session of the last chat with an agent."""
    episodes = await page_episodes(app.memory.deps, scope.space, agent=scope.agent, limit=LOOKED_BACK)
    return next((SessionId(each.session_id) for each in episodes if each.session_id.startswith(SESSIONS)), None)


@asynccontextmanager
async def open_mind(app: App, scope: Scope, *, choose: ChooseModel | None = None) -> AsyncIterator[Agent]:
    """Open the mind of an agent in a session, with the models of the settings or of `choose`.

    Raises `AlreadyRunning`, `StoreDown`.
    """

    async def model(purpose: ModelPurpose, here: Scope) -> Model | None:
        return await app.model(purpose, ModelCaller(space=here.space, agent=here.agent, session=here.session))

    async def notes(scope: Scope, text: str, *, exclude: Collection[UUID]) -> Notes:
        found = await recollect(app, scope, text, exclude=exclude, door=DOOR)
        return Notes(text=found.text, ids=found.ids, recall=found.recall, evidence=found.evidence)

    async def observe(scope: Scope, recall: UUID, *, request: str, reply: str) -> None:
        reporter = Reporter(scope=scope, name=DOOR, door=DOOR, how=ReportSource.INFERRED, origin=Origin.MODEL)
        await app.afterwards.written()
        await observe_reply(app.outcomes.deps, reporter, recall, ReplyInput(text=reply, request=request))

    async def about(here: Scope) -> Sequence[str]:
        spent = (await session_costs(app.store, space=here.space, session=here.session)).total
        lived = await load_run_summary(app.store, now=app.tools.clock())
        cost = f"${spent.cost_usd:.2f}" if spent.cost_usd else "nothing"
        ended = f", {lived.crashes} of them after a crash" if lived.crashes else ""
        return (f"This conversation has cost {cost} so far. You were started {lived.restarts} times{ended}.",)

    deps = AgentDeps(
        memory=app.memory.deps,
        retrieval=app.recall.deps,
        chance=app.tools.chance,
        model=choose or model,
        recollect=notes,
        observe_reply=observe,
        about=about,
        window=lambda: app.settings.for_space(scope.space).agent.window_tokens,
    )
    async with open_agent(deps, scope) as agent:
        yield agent
