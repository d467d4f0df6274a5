"""Lets agents live on inside `serve`: reminders are told when they are due, and after a conversation an agent thinks.

Whoever talks with an agent holds its mind, so that nothing is thought meanwhile. Thoughts ask only a model of the
person's own, unless `agent.resident` is `on`, and never the one for slow thought.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from festinger.agent.cycle import AgentCycle, list_active_agents
from festinger.agent.idle import is_time_to_think, load_idle_timing, thoughts_scope
from festinger.agent.reminders import announce_due_reminders
from festinger.errors import AlreadyRunning, FestingerError
from festinger.ids import Scope, SessionId
from festinger.llm.endpoint import ProviderName
from festinger.llm.ledger import ModelCaller
from festinger.llm.model import Model, ModelPurpose
from festinger.memory.episodes.store import open_episode
from festinger.runtime.app import App
from festinger.runtime.providers import is_local_model
from festinger.services.agent import SESSIONS, last_chat_session, open_mind, use_local_model

log = structlog.get_logger(room="services")

TICK_SECONDS = 20.0


async def run_resident_agents(app: App, *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
    """Let the agents of every space live on, until canceled."""
    while True:
        await pause(TICK_SECONDS)
        try:
            await tick(app)
        except FestingerError as error:
            log.warning("agents do not live on now", why=error.message)


async def tick(app: App) -> list[AgentCycle]:
    """Announce what is due, and let each agent think that may; return what was thought. Raises `StoreDown`."""
    thought = []
    for space in app.directory.ids():
        if app.settings.for_space(space).agent.resident == "off":
            continue
        for agent in await list_active_agents(app.store, space):
            scope = Scope(space=space, agent=agent, session=SessionId(f"{SESSIONS}{agent}"))
            session = await last_chat_session(app, scope)
            await announce_due_reminders(
                app.memory.deps, Scope(space=space, agent=agent, session=session or scope.session)
            )
            if (cycle := await _think(app, scope)) is not None:
                thought.append(cycle)
    return thought


async def _think(app: App, scope: Scope) -> AgentCycle | None:
    """Let an agent think once, if it is time and it may ask its model; none while it talks."""
    deps, here = app.memory.deps, thoughts_scope(scope)
    if not is_time_to_think(await load_idle_timing(deps, scope), now=deps.clock()):
        return None
    await use_local_model(app, scope.space)
    caller = ModelCaller(space=here.space, agent=here.agent, session=here.session)

    async def choose(purpose: ModelPurpose, _scope: Scope) -> Model | None:
        return await app.model(purpose, caller) if purpose is ModelPurpose.CHAT else None

    try:
        if not await _may_ask(app, caller):
            return None
        async with open_mind(app, here, choose=choose, closes=False) as mind:
            if await mind.idle() is None:
                return None
            await open_episode(deps, here, evaluation=True)
            return await mind.step()
    except AlreadyRunning:
        return None
    except FestingerError as error:
        log.warning("no thought", agent=scope.agent, why=error.message)
        return None


async def _may_ask(app: App, caller: ModelCaller) -> bool:
    """Whether there is a model that may be asked for thoughts that nobody asked for."""
    there = await app.endpoint(ModelPurpose.CHAT, caller)
    if there is None:
        return False
    is_own = there.provider is ProviderName.SCRIPTED or is_local_model(there.model, there.address)
    return is_own or app.settings.for_space(caller.space).agent.resident == "on"
