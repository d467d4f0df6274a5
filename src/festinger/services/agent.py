"""Opens an agent's mind on the app: its memory, its models, and what it knows about itself."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import aiohttp

from festinger.agent.mind import Agent, AgentDeps, ChooseModel, Notes, open_agent
from festinger.ids import Origin, Scope, SessionId
from festinger.llm.ledger import ModelCaller
from festinger.llm.model import Model, ModelPurpose
from festinger.memory.episodes.store import page_episodes
from festinger.outcomes.capture import ReplyInput, observe_reply
from festinger.outcomes.model import Reporter, ReportSource
from festinger.runtime.app import App
from festinger.services.recollect import recollect
from festinger.store.repositories.models import session_costs
from festinger.store.repositories.spaces import load_run_summary
from festinger.text.addresses import is_private_url

DOOR = "chat"
SESSIONS = "chat:"
"""How the sessions of chats begin."""
LOOK_SECONDS = 2.0
LOOKED_BACK = 20
"""Episodes among which the last chat is looked for."""


async def find_local_model(app: App) -> None:
    """Let the agent talk with the model at the proxy's upstream, if that is local and nothing else is named.

    Ollama tells which model is in use and what it can do; of other servers the first model is taken.
    """
    upstreams = app.settings.now.proxy
    native, openai = (
        str(each or upstreams.upstream) for each in (upstreams.upstreams.ollama, upstreams.upstreams.openai)
    )
    timeout = aiohttp.ClientTimeout(total=LOOK_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout) as http:
        if is_private_url(native):
            for path in ("ps", "tags"):
                for each in await _list_models(http, f"{native}/api/{path}", "models"):
                    if await _can_chat(http, native, name := str(each.get("name", ""))):
                        app.own_model.note(provider="ollama", model=name, address=native)
                        return
        if is_private_url(openai) and (listed := await _list_models(http, f"{openai}/v1/models", "data")):
            app.own_model.note(provider="openai", model=str(listed[0].get("id", "")), address=f"{openai}/v1")


async def _list_models(http: aiohttp.ClientSession, url: str, field: str) -> list[dict[str, Any]]:
    try:
        async with http.get(url) as answer:
            found = await answer.json(content_type=None) if answer.ok else None
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return []
    listed = found.get(field) if isinstance(found, dict) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


async def _can_chat(http: aiohttp.ClientSession, base: str, name: str) -> bool:
    try:
        async with http.post(f"{base}/api/show", json={"model": name}) as answer:
            return answer.ok and "completion" in (await answer.json(content_type=None)).get(
                "capabilities", ["completion"]
            )
    except (aiohttp.ClientError, TimeoutError, ValueError, AttributeError):
        return False


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
