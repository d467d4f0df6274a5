"""Opens an agent's mind on the app: its memory, its models, and what it knows about itself.

The terminal and the console share this: they talk in the same conversations, and read the same mind.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from festinger.agent.confidence import describe_confidence
from festinger.agent.context import HEAVIEST
from festinger.agent.cycle import AgentCycle, AgentDeps, ChooseModel, HearResult, RecollectedNotes, load_cycles
from festinger.agent.goals import list_open, list_settled
from festinger.agent.idle import load_thoughts
from festinger.agent.mind import IDENTITY_SECTIONS, Agent, open_agent
from festinger.agent.readiness import is_ready
from festinger.agent.reminders import list_reminders
from festinger.agent.tools import OnText
from festinger.errors import BadInput, FestingerError
from festinger.ids import AgentId, Origin, Scope, SessionId, SpaceId
from festinger.llm.ledger import ModelCaller
from festinger.llm.local import find_local_model
from festinger.llm.model import Model, ModelPurpose
from festinger.memory.censors.censor import CensorTextKind
from festinger.memory.censors.check import run_censors
from festinger.memory.changes import load_existing_memories
from festinger.memory.episodes.store import list_turns, load_page_of_episodes
from festinger.memory.extract.turns import load_last_stated
from festinger.memory.model import Memory
from festinger.memory.query import load_brief_sections
from festinger.outcomes.capture import ReplyInput, observe_reply
from festinger.outcomes.model import Reporter, ReportSource
from festinger.records import field_values
from festinger.retrieval.notes import asks_about_self
from festinger.runtime.app import App
from festinger.services.block import NoteRef, build_block, fit_block, note_line
from festinger.services.recollect import MEMORY, recollect
from festinger.store.repositories.models import last_day_costs, lifetime_costs, session_costs
from festinger.store.repositories.spaces import load_run_summary

DOOR = "chat"
SESSIONS = "chat:"
"""How the sessions of chats begin."""
LOOKED_BACK = 20
"""Episodes among which the last chat is looked for."""
LONGEST_MESSAGE = 32_000
MOST_TURNS = 12
"""Turns of the last conversation that the view of a mind has."""
MOST_CYCLES = 10
MOST_SETTLED = 5
MOST_THOUGHTS = 5
OVERVIEW_TOKENS = 1000
"""What a question about everything brings; a memory grows, and a prompt does not."""
OWN_PURPOSES = (ModelPurpose.CHAT, ModelPurpose.SYSTEM2)


async def use_local_model(app: App, space: SpaceId | None = None) -> None:
    """Let the agent talk with the model at the proxy's upstream, if that is local and the space names no other."""
    if space is not None and (app.settings.for_space(space).llm.chat or app.own_model.setting):
        return
    chosen = app.settings.now.proxy
    native, openai = (str(each or chosen.upstream) for each in (chosen.upstreams.ollama, chosen.upstreams.openai))
    if found := await find_local_model(ollama=native, openai=openai):
        provider, model, address = found
        app.own_model.note(provider=provider, model=model, address=address)


async def last_chat_session(app: App, scope: Scope) -> SessionId | None:
    """The session of the last chat with an agent."""
    episodes = await load_page_of_episodes(app.memory.deps, scope.space, agent=scope.agent, limit=LOOKED_BACK)
    return next((SessionId(each.session_id) for each in episodes if each.session_id.startswith(SESSIONS)), None)


async def choose_chat_scope(app: App, space: SpaceId, agent: AgentId, *, new: bool = False) -> Scope:
    """Choose where to talk with an agent: in the last chat, or in a new one. Without a named model a local one is sought."""
    await use_local_model(app, space)
    scope = Scope(space=space, agent=agent, session=SessionId(f"{SESSIONS}{app.tools.new_id()}"))
    before = None if new else await last_chat_session(app, scope)
    return scope if before is None else Scope(space=space, agent=agent, session=before)


async def say(app: App, scope: Scope, text: str, *, on_text: OnText = lambda _text: None) -> dict[str, Any]:
    """Say something to an agent and get its answer; the conversation stays open.

    Raises `BadInput`, `AlreadyRunning`, `StoreDown`, and what the model raises.
    """
    if not 0 < len(text.strip()) <= LONGEST_MESSAGE:
        raise BadInput(f"A message has 1 to {LONGEST_MESSAGE} characters.", hint="Write something to answer.")
    async with open_mind(app, scope, closes=False) as mind:
        heard = await mind.hear(text)
        cycle = await mind.step(on_text)
        assert cycle is not None
    return reply_json(text, cycle, heard)


def reply_json(text: str, cycle: AgentCycle, heard: HearResult) -> dict[str, Any]:
    """What became of a message, for programs."""
    return {
        "said": text,
        "reply": cycle.reply,
        "action": cycle.action,
        "notes": cycle.injected,
        "confidence": cycle.confidence,
        "learned": [str(each.memory.id) for each in heard.learned if each.memory is not None],
        "goals": [{"id": str(each.memory.id), "state": each.state.value} for each in heard.goals],
        "due": [str(each) for each in heard.due],
        "reminders": [str(each) for each in heard.reminders],
        "tools": [each for each in cycle.tools if " " not in each],
        "asks": cycle.asks,
        "cycle": str(cycle.id),
        "session": cycle.session_id,
        "degraded": cycle.degraded,
    }


async def describe_mind(app: App, space: SpaceId, agent: AgentId) -> dict[str, Any]:
    """What a mind holds: boundaries, what weighs, goals, the last conversation and cycles, its models and their cost."""
    deps, scope = app.memory.deps, Scope(space=space, agent=agent)
    heaviest = await load_brief_sections(deps, scope, limit=HEAVIEST, known=False)
    caller = ModelCaller(space=space, agent=agent)
    spans = {
        "24 hours": await last_day_costs(app.store, space=space, now=app.tools.clock()),
        "ever": await lifetime_costs(app.store, space=space),
    }
    weighty = [each for name in IDENTITY_SECTIONS for each in heaviest.get(name, ())]
    return {
        "agent": agent,
        "models": {purpose.value: await _find_model_name(app, purpose, caller) for purpose in OWN_PURPOSES},
        "boundaries": [{"id": each.id, "text": each.content} for each in heaviest.get("boundary", ())],
        "identity": [
            {"id": each.id, "text": each.content, "kind": each.kind, "weight": round(each.weight.center, 3)}
            for each in sorted(weighty, key=lambda each: -each.weight.center)
        ],
        "goals": [
            {"id": each.id, "text": each.content, "since": each.created_at} for each in await list_open(deps, scope)
        ],
        "settled": await list_settled(deps, scope, limit=MOST_SETTLED),
        "reminders": [field_values(each) for each in await list_reminders(deps, scope)],
        "thoughts": await load_thoughts(deps, scope, limit=MOST_THOUGHTS),
        "turns": await load_last_turns(app, scope, limit=MOST_TURNS),
        "cycles": await list_cycles(app, scope, limit=MOST_CYCLES),
        "cost": {
            span: {
                purpose.value: {"calls": spent.calls, "usd": float(spent.cost_usd), "unpriced": spent.unpriced}
                for purpose, spent in costs.by_purpose.items()
                if purpose in OWN_PURPOSES
            }
            for span, costs in spans.items()
        },
    }


async def _find_model_name(app: App, purpose: ModelPurpose, caller: ModelCaller) -> str | None:
    try:
        model = await app.model(purpose, caller)
    except FestingerError:
        return None  # why it cannot be used is told when it is asked
    return model.name if model else None


async def load_last_turns(app: App, scope: Scope, *, limit: int) -> list[dict[str, Any]]:
    """The end of the last conversation with an agent, oldest first."""
    session = await last_chat_session(app, scope)
    if session is None:
        return []
    episodes = await load_page_of_episodes(app.memory.deps, scope.space, agent=scope.agent, session=session, limit=1)
    async with app.store.transaction() as transaction:
        turns = [turn for each in episodes for turn in await list_turns(transaction, scope.space, each.id)]
    return [turn.as_json() for turn in turns[-limit:]]


async def list_cycles(app: App, scope: Scope, *, before: int | None = None, limit: int) -> list[dict[str, Any]]:
    """The last turns of thought, newest first, each with what it attended to, what it used, and how sure it was."""
    rows = await load_cycles(app.store, scope, before=before, limit=limit)
    used = {each for row in rows for each in (*row["corrections"], *row["goals"])}
    used |= {UUID(each) for row in rows for each in row["injected"] if " " not in each}
    async with app.store.transaction() as transaction:
        known = await load_existing_memories(transaction, scope.space, used)
    texts = {str(id_): memory.content for id_, memory in known.items()}

    def shown(ids: Sequence[Any]) -> list[dict[str, Any]]:
        return [{"id": str(id_), "text": texts.get(str(id_))} for id_ in ids]

    return [
        row
        | {
            "notes": shown(row["injected"]),
            "lessons": shown(row["corrections"]),
            "goals": shown(row["goals"]),
            "sureness": describe_confidence(row["confidence"]),
            "tools": [each for each in row["tools"] if " " not in each],
        }
        for row in rows
    ]


def _format_notes(app: App, scope: Scope, memories: Sequence[Memory]) -> RecollectedNotes:
    """Memories as notes beside a message, as far as the budget goes."""
    settings = app.settings.for_space(scope.space).proxy
    lines = [
        note_line(each.content, NoteRef(kind=MEMORY, id=str(each.id)), ending=f" (noted {each.created_at:%Y-%m-%d})")
        for each in memories
    ]
    block = build_block(settings.label, notes=lines)
    block = block and fit_block(block, OVERVIEW_TOKENS)
    if block is None:
        return RecollectedNotes()
    return RecollectedNotes(text=block.text, ids=tuple(note.id for note in block.notes), evidence=1.0)


@asynccontextmanager
async def open_mind(
    app: App, scope: Scope, *, choose: ChooseModel | None = None, closes: bool = True
) -> AsyncIterator[Agent]:
    """Open the mind of an agent in a session, with the models of the settings or of `choose`.

    Raises `AlreadyRunning`, `StoreDown`.
    """

    async def model(purpose: ModelPurpose, here: Scope) -> Model | None:
        return await app.model(purpose, ModelCaller(space=here.space, agent=here.agent, session=here.session))

    async def notes(scope: Scope, text: str, exclude: Collection[UUID]) -> RecollectedNotes:
        if not text:
            return _format_notes(app, scope, await load_last_stated(app.memory.deps, scope))
        if asks_about_self(text):
            sections = await load_brief_sections(app.memory.deps, scope, limit=HEAVIEST)
            return _format_notes(app, scope, [each for found in sections.values() for each in found])
        found = await recollect(app, scope, text, exclude=exclude, door=DOOR)
        return RecollectedNotes(text=found.text, ids=found.ids, recall=found.recall, evidence=found.evidence)

    async def observe(scope: Scope, recall: UUID, request: str, reply: str) -> None:
        reporter = Reporter(scope=scope, name=DOOR, door=DOOR, how=ReportSource.INFERRED, origin=Origin.MODEL)
        await app.afterwards.written()
        await observe_reply(app.outcomes.deps, reporter, recall, ReplyInput(text=reply, request=request))

    lived = await load_run_summary(app.store, now=app.tools.clock())  # stays while this process runs

    async def about(here: Scope) -> Sequence[str]:
        spent = (await session_costs(app.store, space=here.space, session=here.session)).total
        cost = f"${spent.cost_usd:.2f}" if spent.cost_usd else "nothing"
        ended = f", {lived.crashes} of them after a crash" if lived.crashes else ""
        return (f"This conversation has cost {cost} so far. You were started {lived.restarts} times{ended}.",)

    async def check_tool(here: Scope, text: str) -> str:
        found = await run_censors(app.memory.watch, here, text, on=CensorTextKind.TOOL)
        return found.guidance if found.blocked else ""

    async def trust() -> int:
        chosen = app.settings.for_space(scope.space)
        is_held_back = chosen.agent.require_readiness and not await is_ready(app.store, scope)
        return 0 if is_held_back else chosen.consolidation.trust_in(scope.agent)

    deps = AgentDeps(
        memory=app.memory.deps,
        chance=app.tools.chance,
        model=choose or model,
        recollect=notes,
        observe_reply=observe,
        about=about,
        trust=trust,
        check_tool=check_tool,
        usual=app.usual_matters,
        window=lambda: app.settings.for_space(scope.space).agent.window_tokens,
        tools=app.agent_tools(app, scope) if app.settings.for_space(scope.space).agent.tools else None,
    )
    async with open_agent(deps, scope, closes=closes) as agent:
        yield agent
